// Points that stay in host memory (Plan::host_points): an Index on a budget that their filter fits in and they do not
// gives the oracle's answers and the bits of the CPU, whoever owns and registers the memory.
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <thread>

#include "gpu/backend.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/memory/device_memory.h"
#include "gpu/runtime/memory/registered_memory.h"
#include "gpu_arrays.h"
#include "papers/plan.h"
#include "radius_cases.h"
#include "same_answer.h"

namespace {

using namespace kith;
using gpu::RegisteredMemory;
using search_cases::Case;

// The least budget at which points of that shape stay in host memory; 0: none does.
std::int64_t least_memory(const MatrixView& points, Options options) {
    const Shape shape{points.rows, 1, points.cols, 1, points.type, false, true};
    for (options.memory = 1 << 20; options.memory < std::int64_t{1} << 30; options.memory += options.memory / 16) {
        try {
            if (plan(shape, options).host_points != HostPoints::none) return options.memory;
        } catch (const Error& error) {
            if (error.code() != ErrorCode::out_of_memory) throw;
        }
    }
    return 0;
}

// Options by which the points of a case stay in host memory.
Options on_host(const Case& c, bool f64 = true, const std::string& path = "") {
    Options options = search_cases::options_of("cuda", c.variant, {path, "", 0, false}, f64);
    options.memory = least_memory(c.points.view, options);
    EXPECT_GT(options.memory, 0) << c.label;
    return options;
}
Options on_cpu(const Case& c) {
    return search_cases::options_of("cpu", c.variant, {}, true);
}

// Points enough that the filter of all is less than they are by more than a tile takes.
Case make_case(const std::string& metric, const std::string& data, ElementType type, arrays::Shape shape,
               std::uint64_t seed, std::int64_t k = 10) {
    const bool bytes = size_of(type) == 1, halves = size_of(type) == 2;
    // The oracle's logarithms take long.
    const std::int64_t q = metric == "jensenshannon" ? 2 : 12;
    const search_cases::Size size{bytes ? 120'000 : halves ? 80'000 : 40'000, q, 96, k};
    const auto all = variants(metric, size.d, type);
    return search_cases::make_case(all[seed % all.size()], data, size, type, type, shape, seed);
}

// An Index of points that stay, which its registered memory says.
Index make_index(const Case& c, const Options& options, bool copy) {
    Index index = copy ? Index(c.points.view, options) : Index::borrowing(c.points.view, options);
    EXPECT_EQ(1u, RegisteredMemory::count()) << c.label;
    return index;
}

class GpuHostPoints : public testing::TestWithParam<std::string> {};

TEST_P(GpuHostPoints, GiveTheOraclesAnswer) {
    std::uint64_t turn = GetParam().size();
    const char* const data[] = {"gaussian", "nan_rows", "duplicates", "clusters"};
    for (const auto type : {ElementType::f32, ElementType::u8, ElementType::f64, ElementType::f16}) {
        ++turn;
        Case c = make_case(GetParam(), data[turn % 4], type, arrays::shapes[turn % 3], turn);
        Options options = search_cases::options_of("cuda", c.variant, {}, turn % 2);
        options.memory = least_memory(c.points.view, options);
        if (options.memory == 0) {
            std::printf("stream on every budget: %s\n", c.label.c_str());
            continue;
        }
        const Truth truth = c.truth();
        const bool copy = turn / 2 % 2;
        const Index index = make_index(c, options, copy);
        if (copy) std::fill(c.points.bytes.begin(), c.points.bytes.end(), std::byte{0x55});
        const Neighbors got = index.search(c.queries.view, c.k, options);
        ASSERT_EQ("", truth.difference(got)) << c.label;
        EXPECT_EQ(got.queries, got.report.certified + got.report.retried + got.report.scanned) << c.label;
        EXPECT_TRUE(got.report.path == "gemm-f16" || got.report.path == "direct-f32") << got.report.path;
    }
    EXPECT_EQ(0u, RegisteredMemory::count());
}

INSTANTIATE_TEST_SUITE_P(Metric, GpuHostPoints,
                         testing::Values("sqeuclidean", "euclidean", "cosine", "correlation", "inner_product",
                                         "hellinger", "kl_divergence", "seuclidean", "cityblock", "chebyshev",
                                         "minkowski", "canberra", "jensenshannon"),
                         [](const auto& info) { return info.param; });

// No budget of the suite above may be missing for these.
TEST(GpuHostPointsCases, StayWithTheirFilters) {
    for (const char* metric : {"sqeuclidean", "cosine", "inner_product", "cityblock", "chebyshev"})
        for (const auto type : {ElementType::f32, ElementType::f64}) {
            const Case c = make_case(metric, "uniform", type, arrays::Shape::dense, 3);
            EXPECT_GT(least_memory(c.points.view, search_cases::options_of("cuda", c.variant, {}, false)), 0)
                << c.label;
        }
}

TEST(GpuHostPointsCases, EveryLayoutBorrowedAndCopied) {
    for (const auto shape : arrays::shapes)
        for (const auto type : arrays::element_types)
            for (const bool copy : {false, true}) {
                Case c = make_case("sqeuclidean", "integers", type, shape, 17);
                const Options options = on_host(c);
                const Neighbors want = search(c.points.view, c.queries.view, c.k, on_cpu(c));
                const Index index = make_index(c, options, copy);
                if (copy) std::fill(c.points.bytes.begin(), c.points.bytes.end(), std::byte{0xff});
                ASSERT_TRUE(same_answer(want, index.search(c.queries.view, c.k, options))) << c.label;
            }
}

// Ties beyond what lists hold, rows outside of the filter's range: retries, finer filters, equal rows and the full scan
// read points over the bus.
TEST(GpuHostPointsCases, RetriesAndScans) {
    Report all;
    for (const char* data :
         {"all_equal", "lattice", "infinities", "outlier", "norms", "offset", "shell", "ascending"}) {
        for (const char* metric : {"sqeuclidean", "cosine"}) {
            const Case c = make_case(metric, data, ElementType::f32, arrays::Shape::dense, 5, 33);
            const Options options = on_host(c);
            const Neighbors want = search(c.points.view, c.queries.view, c.k, on_cpu(c));
            const Index index = make_index(c, options, false);
            const Neighbors got = index.search(c.queries.view, c.k, options);
            ASSERT_TRUE(same_answer(want, got)) << c.label;
            ASSERT_TRUE(same_answer(want, index.search(c.queries.view, c.k, options))) << c.label << ", again";
            all.certified += got.report.certified;
            all.retried += got.report.retried;
            all.scanned += got.report.scanned;
        }
    }
    std::printf("certified %lld, retried %lld, scanned %lld\n", static_cast<long long>(all.certified),
                static_cast<long long>(all.retried), static_cast<long long>(all.scanned));
    EXPECT_GT(all.certified, 0);
    EXPECT_GT(all.retried + all.scanned, 0);
}

// One neighbour, many, more than the filter serves, and more than there are points; other paths of the same points.
TEST(GpuHostPointsCases, EveryKAndPath) {
    const Case c = make_case("sqeuclidean", "gaussian", ElementType::f32, arrays::Shape::dense, 9);
    Options options = on_host(c);
    const Index index = make_index(c, options, false);
    for (const std::int64_t k : {1, 100, 1000, 3000, 40'100}) {
        const Neighbors want = search(c.points.view, c.queries.view, k, on_cpu(c));
        Options own = options;
        own.memory *= 4;  // of the call: lists of so many
        ASSERT_TRUE(same_answer(want, index.search(c.queries.view, k, own))) << "k " << k;
    }
    const Neighbors want = search(c.points.view, c.queries.view, 10, on_cpu(c));
    for (const char* path : {"gemm-f16", "direct-f32", "exact", "projected", "register-tiled+bits"}) {
        if (kith::papers::is_path(path) && !kith::papers::built()) continue;
        Options own = options;
        own.path = path;
        own.memory *= 4;
        ASSERT_TRUE(same_answer(want, index.search(c.queries.view, 10, own))) << path;
    }
    for (const char* isa : {"sm_80", ""}) {
        Options own = options;
        own.isa = isa;
        ASSERT_TRUE(same_answer(want, index.search(c.queries.view, 10, own))) << isa;
    }
    // Queries by ones, which f32 units take, and in f64.
    for (const std::int64_t i : {0, 5, 11}) {
        MatrixView one = c.queries.view;
        one.data = static_cast<const float*>(one.data) + i * one.stride;
        one.rows = 1;
        const Neighbors alone = index.search(one, 10, options);
        EXPECT_TRUE(std::equal(alone.ids.begin(), alone.ids.end(), want.ids.begin() + i * 10));
    }
    EXPECT_EQ(1u, RegisteredMemory::count());
}

TEST(GpuHostPointsCases, GraphsReadTheirQueriesThere) {
    for (const bool copy : {false, true}) {
        for (const char* metric : {"sqeuclidean", "cosine"}) {
            for (const char* data : {"duplicates", "gaussian"}) {
                Case c = make_case(metric, data, ElementType::f32, copy ? arrays::Shape::strided : arrays::Shape::dense,
                                   4, 7);
                const Options options = on_host(c);
                const Neighbors want = graph(c.points.view, c.k, on_cpu(c));
                const Index index = make_index(c, options, copy);
                if (copy) std::fill(c.points.bytes.begin(), c.points.bytes.end(), std::byte{0x55});
                ASSERT_TRUE(same_answer(want, index.graph(c.k, options))) << c.label;
            }
        }
    }
}

TEST(GpuHostPointsCases, WithinARadius) {
    for (const char* metric : {"sqeuclidean", "inner_product", "cityblock"}) {
        for (const char* data : {"nan_rows", "lattice"}) {
            const Case c = make_case(metric, data, ElementType::f64, arrays::Shape::column_major, 6, 50);
            const Options options = on_host(c);
            const bool similarity = oracle::definition(metric).similarity;
            const std::vector<double> radii =
                radius_cases::radii_on(search(c.points.view, c.queries.view, c.k, on_cpu(c)), similarity, 3);
            const Radius r = radius_cases::radius_of(radii, false);
            const RadiusNeighbors want = radius(c.points.view, c.queries.view, r, on_cpu(c));
            const Index index = make_index(c, options, false);
            ASSERT_EQ("", radius_cases::difference(want, index.radius(c.queries.view, r, options))) << c.label;
            ASSERT_EQ(radius_cases::counts_of(want), index.radius_counts(c.queries.view, r, options).counts) << c.label;
        }
    }
}

// What the backend keeps is the caller's memory, or its own copy of it, on the host.
TEST(GpuHostPointsCases, ElementsAreOnTheHost) {
    const Case c = make_case("sqeuclidean", "gaussian", ElementType::f32, arrays::Shape::strided, 2);
    const Options options = on_host(c);
    Plan p = plan({c.points.view.rows, 1, 96, 1, ElementType::f32, false, true}, options);
    MetricSpec spec;
    spec.params.d = 96;
    for (const bool copy : {false, true}) {
        ProgressMeter progress(nullptr, 0);
        const auto points = gpu::prepare(c.points.view, spec, p, copy, nullptr, 2, progress);
        const MatrixView kept = gpu::elements(*points);
        EXPECT_EQ(host_memory, kept.device);
        EXPECT_EQ(copy, kept.data != c.points.view.data);
        for (std::int64_t i = 0; i < kept.rows; i += 997) {
            const auto* const row = static_cast<const float*>(kept.data) + i * kept.stride;
            EXPECT_TRUE(
                std::equal(row, row + 96, static_cast<const float*>(c.points.view.data) + i * c.points.view.stride));
        }
    }
}

// Several owners of one memory: each may go first.
TEST(GpuHostPointsCases, SeveralIndexesOfTheSameMemory) {
    const Case c = make_case("sqeuclidean", "gaussian", ElementType::f32, arrays::Shape::dense, 11);
    Case half = c;  // a view of a part of it
    half.points.view = c.points.view;
    half.points.view.data = static_cast<const float*>(c.points.view.data) + 500 * c.points.view.stride;
    half.points.view.rows -= 1000;
    const Options options = on_host(c), of_half = on_host(half);
    const Neighbors want = search(c.points.view, c.queries.view, c.k, on_cpu(c)),
                    want_half = search(half.points.view, c.queries.view, c.k, on_cpu(c));
    auto first = std::make_unique<Index>(make_index(c, options, false));
    auto second = std::make_unique<Index>(make_index(c, options, false));
    auto part = std::make_unique<Index>(make_index(half, of_half, false));
    ASSERT_TRUE(same_answer(want, first->search(c.queries.view, c.k, options)));
    first.reset();
    EXPECT_EQ(1u, RegisteredMemory::count());
    ASSERT_TRUE(same_answer(want, second->search(c.queries.view, c.k, options)));
    second.reset();
    ASSERT_TRUE(same_answer(want_half, part->search(c.queries.view, c.k, of_half)));
    // A copy of the same values is memory of its own.
    const Index own(c.points.view, options);
    EXPECT_EQ(2u, RegisteredMemory::count());
    part.reset();
    EXPECT_EQ(1u, RegisteredMemory::count());
    ASSERT_TRUE(same_answer(want, own.search(c.queries.view, c.k, options)));
}

// More than what is registered already, which cannot be: these points stream, and the report says why.
TEST(GpuHostPointsCases, StreamWhereTheyCannotBeRegistered) {
    const Case c = make_case("sqeuclidean", "gaussian", ElementType::f32, arrays::Shape::dense, 12);
    const Options options = on_host(c);
    const Neighbors want = search(c.points.view, c.queries.view, c.k, on_cpu(c));
    const RegisteredMemory some(static_cast<const float*>(c.points.view.data) + 96 * 4096, 96 * 4096 * 4);
    ASSERT_EQ(1u, RegisteredMemory::count());
    const Index index = Index::borrowing(c.points.view, options);
    EXPECT_EQ(1u, RegisteredMemory::count());
    const Neighbors got = index.search(c.queries.view, c.k, options);
    ASSERT_TRUE(same_answer(want, got));
    ASSERT_FALSE(got.report.fallbacks.empty());
    EXPECT_NE(std::string::npos, got.report.fallbacks.back().why.find("registered")) << got.report.fallbacks.back().why;
    EXPECT_EQ(got.report.fallbacks.back().why,
              index.radius_counts(c.queries.view, Radius(1.0), options).report.fallbacks.back().why);
    EXPECT_EQ(cudaSuccess, cudaGetLastError());
}

// Memory that the caller has pinned stays the caller's.
TEST(GpuHostPointsCases, PinnedByTheCaller) {
    const Case c = make_case("sqeuclidean", "gaussian", ElementType::f32, arrays::Shape::dense, 13);
    const Options options = on_host(c);
    const Neighbors want = search(c.points.view, c.queries.view, c.k, on_cpu(c));
    const auto serves = [&](const MatrixView& points) {
        const Index index = Index::borrowing(points, options);
        EXPECT_EQ(0u, RegisteredMemory::count());
        const Neighbors got = index.search(c.queries.view, c.k, options);
        EXPECT_TRUE(same_answer(want, got));
        EXPECT_TRUE(got.report.fallbacks.empty()) << got.report.fallbacks.front().why;
    };
    void* pinned = nullptr;
    gpu_arrays::check(cudaMallocHost(&pinned, c.points.bytes.size()));
    std::memcpy(pinned, c.points.bytes.data(), c.points.bytes.size());
    MatrixView own = c.points.view;
    own.data = pinned;
    for (int repeat = 0; repeat < 2; ++repeat) serves(own);
    gpu_arrays::check(cudaFreeHost(pinned));
    auto* const registered = const_cast<std::byte*>(c.points.bytes.data());
    gpu_arrays::check(cudaHostRegister(registered, c.points.bytes.size(), cudaHostRegisterDefault));
    serves(c.points.view);
    gpu_arrays::check(cudaHostUnregister(registered));
}

// A file that is mapped for reading, whose pages the process may not write.
TEST(GpuHostPointsCases, OfAFileMappedForReading) {
    const Case c = make_case("sqeuclidean", "gaussian", ElementType::f32, arrays::Shape::dense, 14);
    const Options options = on_host(c);
    const Neighbors want = search(c.points.view, c.queries.view, c.k, on_cpu(c));
    char name[] = "/tmp/kith-host-points-XXXXXX";
    const int file = mkstemp(name);
    ASSERT_GE(file, 0);
    unlink(name);
    const auto bytes = static_cast<ssize_t>(c.points.bytes.size());
    ASSERT_EQ(bytes, write(file, c.points.bytes.data(), c.points.bytes.size()));
    void* const mapped = mmap(nullptr, c.points.bytes.size(), PROT_READ, MAP_PRIVATE, file, 0);
    ASSERT_NE(MAP_FAILED, mapped);
    MatrixView points = c.points.view;
    points.data = mapped;
    {
        const Index index = Index::borrowing(points, options);
        EXPECT_EQ(0u, RegisteredMemory::count());
        const Neighbors got = index.search(c.queries.view, c.k, options);
        ASSERT_TRUE(same_answer(want, got));
        ASSERT_FALSE(got.report.fallbacks.empty());
        EXPECT_NE(std::string::npos, got.report.fallbacks.back().why.find("a file is mapped there"))
            << got.report.fallbacks.back().why;
    }
    munmap(mapped, c.points.bytes.size());
    close(file);
}

TEST(GpuHostPointsCases, SeveralThreadsAndDestructionMeanwhile) {
    const Case c = make_case("sqeuclidean", "gaussian", ElementType::f32, arrays::Shape::dense, 15),
               other = make_case("cosine", "clusters", ElementType::f32, arrays::Shape::strided, 16);
    const Options options = on_host(c), of_other = on_host(other);
    const Neighbors want = search(c.points.view, c.queries.view, c.k, on_cpu(c)),
                    want_other = search(other.points.view, other.queries.view, other.k, on_cpu(other));
    const Index index = make_index(c, options, true);
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 5; ++i) EXPECT_TRUE(same_answer(want, index.search(c.queries.view, c.k, options)));
        });
    for (int i = 0; i < 5; ++i) {
        const Index brief = Index::borrowing(other.points.view, of_other);
        EXPECT_TRUE(same_answer(want_other, brief.search(other.queries.view, other.k, of_other)));
    }
}

// Whatever fails, the answer is right or there is none, nothing stays registered and no memory of the device is kept.
TEST(GpuHostPointsCases, AtEveryFailureOfCuda) {
    using gpu::InjectedFault;
    const Case c = make_case("sqeuclidean", "clusters", ElementType::f32, arrays::Shape::dense, 18);
    const Options options = on_host(c);
    const Neighbors want = search(c.points.view, c.queries.view, c.k, on_cpu(c));
    const auto call = [&] {
        const Index index = Index::borrowing(c.points.view, options);
        return index.search(c.queries.view, c.k, options);
    };
    ASSERT_TRUE(same_answer(want, call()));
    gpu_arrays::check(cudaDeviceSynchronize());
    const std::int64_t used = gpu::pool_bytes(0).used;
    std::int64_t thrown = 0, streamed = 0;
    for (std::int64_t fault = 0;; ++fault) {
        InjectedFault::checks_left = fault;
        bool happened = false;
        try {
            const Neighbors got = call();
            happened = InjectedFault::checks_left < 0;
            InjectedFault::checks_left = InjectedFault::none;
            ASSERT_TRUE(same_answer(want, got)) << "fault " << fault;
            streamed += happened && !got.report.fallbacks.empty();
        } catch (const Error& error) {
            happened = true;
            InjectedFault::checks_left = InjectedFault::none;
            EXPECT_EQ(ErrorCode::out_of_memory, error.code()) << error.what();
            ++thrown;
        }
        ASSERT_EQ(0u, RegisteredMemory::count()) << "fault " << fault;
        cudaPointerAttributes attributes{};
        gpu_arrays::check(cudaPointerGetAttributes(&attributes, c.points.view.data));
        ASSERT_EQ(cudaMemoryTypeUnregistered, attributes.type) << "fault " << fault;
        gpu_arrays::check(cudaDeviceSynchronize());
        ASSERT_EQ(used, gpu::pool_bytes(0).used) << "fault " << fault;
        if (!happened) break;
    }
    EXPECT_GT(thrown, 20);
    EXPECT_GT(streamed, 0) << "where registering failed";
}

// A callback that cancels.
TEST(GpuHostPointsCases, Cancelled) {
    const Case c = make_case("sqeuclidean", "gaussian", ElementType::f32, arrays::Shape::dense, 19);
    Options options = on_host(c);
    options.progress = [](const Progress&) { return false; };
    ProgressMeter::milliseconds_between = 0;
    try {
        const Index index(c.points.view, options);
        ADD_FAILURE() << "prepared";
    } catch (const Error& error) {
        EXPECT_EQ(ErrorCode::cancelled, error.code()) << error.what();
    }
    ProgressMeter::milliseconds_between = 100;
    EXPECT_EQ(0u, RegisteredMemory::count());
}

}  // namespace
