// A call for the CPU does not start CUDA, which would cost it a third of a second and half a gigabyte: the driver's
// library is what CUDA's runtime opens first. No device is needed to see that.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <vector>

#include "kith/kith.h"

namespace {
std::atomic<int> opened = 0, asked = 0;
}

// Takes the place of the C library's for this program, the runtime's own calls included.
extern "C" void* dlopen(const char* name, int flags) noexcept {
    static const auto next = reinterpret_cast<void* (*)(const char*, int)>(dlsym(RTLD_NEXT, "dlopen"));
    if (name && std::strstr(name, "libcuda")) ++(flags & RTLD_NOLOAD ? asked : opened);
    return next(name, flags);
}

namespace {

constexpr std::int64_t n = 500, q = 7, d = 12, k = 3;

// The linker looks for an absent library in all folders, which takes as long as a small search.
TEST(CudaUntouched, TheLinkerIsAskedForTheDriverOncePerLoad) {
    const std::vector<float> values(n * d);
    const auto points = kith::view(values.data(), n, d), queries = kith::view(values.data(), q, d);
    kith::Options options;
    options.device = "cpu";
    const auto search = [&] {
        kith::search(points, queries, k, options);
        return asked.load();
    };
    const int first = search();
    EXPECT_LT(0, first);
    EXPECT_EQ(first, search());
    void* const other = dlopen("libanl.so.1", RTLD_LAZY);  // any that is there and was not loaded
    ASSERT_NE(nullptr, other) << dlerror();
    EXPECT_EQ(first + 1, search());
    EXPECT_EQ(first + 1, search());
    dlclose(other);
}

TEST(CudaUntouched, ByCallsForTheCpu) {
    std::vector<float> values(n * d);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 101);
    const auto points = kith::view(values.data(), n, d), queries = kith::view(values.data(), q, d);
    kith::Options options;
    options.device = "cpu";
    for (const auto metric : {kith::MetricId::sqeuclidean, kith::MetricId::hellinger, kith::MetricId::mahalanobis}) {
        options.metric = metric;
        EXPECT_EQ(0, kith::search(points, queries, k, options).ids.front());
        kith::graph(points, k, options);
        const kith::Index index(points, options);
        index.search(queries, k);
        index.graph(k);
        std::vector<std::int64_t> ids(q * k);
        kith::search_into(points, queries, k, options, {ids.data(), nullptr, kith::host_memory});
    }
    options.metric = kith::MetricId::formula;
    options.metric.formula = "a + fabs(q - x)";
    kith::search(points, queries, k, options);
    options.metric = kith::MetricId::sqeuclidean;
    kith::select(points, k, options);
    EXPECT_EQ(kith::host_memory, kith::plan({n, q, d, k, kith::ElementType::f32, false}, options).device);
    kith::plan_select(n, d, k, kith::ElementType::f32, options);
    EXPECT_EQ(0, opened);

    // What any device may serve looks for one.
    options.device = "auto";
    kith::plan({n, q, d, k, kith::ElementType::f32, false}, options);
    EXPECT_LT(0, opened);
}

}  // namespace
