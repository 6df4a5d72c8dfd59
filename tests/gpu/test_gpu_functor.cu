// A functor's device side (kith/functor_cuda.h): the distances of a plain loop over the coordinates, and no coordinates
// but the caller's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "gpu_arrays.h"
#include "kith/functor_cuda.h"
#include "kith/kith.h"
#include "kith/radius.h"

namespace {

// Set where a step sees a coordinate below 1.
__device__ int strange;

// What it gives depends on the order of the coordinates.
struct Fading {
    double weight;
    __host__ __device__ double operator()(double a, double q, double x) const {
#if defined(__CUDA_ARCH__)
        if (!(q >= 1) || !(x >= 1)) atomicExch(&strange, 1);
#endif
        return a / 4 + fabs(q - x) / weight;
    }
};

struct Size {
    std::int64_t n, q, d;
};
const Size sizes[] = {{1, 1, 1},   {257, 4, 17},   {64, 5, 16},    {65, 16, 3},   {63, 17, 31}, {130, 64, 1},
                      {64, 65, 2}, {129, 130, 33}, {300, 70, 100}, {1000, 3, 64}, {31, 15, 300}};

std::vector<double> values(std::int64_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<double> out(static_cast<std::size_t>(count));
    // Few values: many ties.
    for (double& v : out) v = 1 + static_cast<double>(random() % 8);
    return out;
}

double loop(const Fading& step, double start, const double* q, const double* x, std::int64_t d) {
    double a = start;
    for (std::int64_t j = 0; j < d; ++j) a = step(a, q[j], x[j]);
    return a;
}

void expect_nothing_strange() {
    int seen = 1;
    gpu_arrays::check(cudaMemcpyFromSymbol(&seen, strange, sizeof seen));
    EXPECT_EQ(0, seen) << "the functor was given coordinates that are not the caller's";
}

TEST(GpuFunctor, DistancesOfEveryPair) {
    const Fading step{3};
    const kith::FunctorMetric metric = kith::functor_metric_cuda(step, 0.5);
    for (const Size& s : sizes) {
        SCOPED_TRACE(testing::Message() << "n " << s.n << ", q " << s.q << ", d " << s.d);
        const std::int64_t ld = s.n + 3;
        const auto points = values(s.n * s.d, 1), queries = values(s.q * s.d, 2);
        const gpu_arrays::Buffer<double> x(points.size()), q(queries.size()), out(static_cast<std::size_t>(s.q * ld));
        gpu_arrays::check(cudaMemcpy(x.data(), points.data(), points.size() * 8, cudaMemcpyHostToDevice));
        gpu_arrays::check(cudaMemcpy(q.data(), queries.data(), queries.size() * 8, cudaMemcpyHostToDevice));
        const std::vector<double> before = out.host();
        const gpu_arrays::Stream stream;
        ASSERT_EQ(cudaSuccess, metric.device(metric.state, q.data(), s.q, x.data(), s.n, s.d, metric.start, out.data(),
                                             ld, stream.get()));
        gpu_arrays::check(cudaStreamSynchronize(stream.get()));
        const std::vector<double> got = out.host();
        for (std::int64_t i = 0; i < s.q; ++i)
            for (std::int64_t j = 0; j < ld; ++j) {
                const auto at = static_cast<std::size_t>(i * ld + j);
                const double want = j < s.n ? loop(step, metric.start, &queries[static_cast<std::size_t>(i * s.d)],
                                                   &points[static_cast<std::size_t>(j * s.d)], s.d)
                                            : before[at];
                ASSERT_EQ(want, got[at]) << i << ", " << j;
            }
    }
    expect_nothing_strange();
}

TEST(GpuFunctor, SearchesAsOnTheCpu) {
    const Fading step{1.5};
    const kith::FunctorMetric functor = kith::functor_metric_cuda(step);
    for (const Size& s : sizes) {
        SCOPED_TRACE(testing::Message() << "n " << s.n << ", q " << s.q << ", d " << s.d);
        auto points = values(s.n * s.d, 3);
        const auto queries = values(s.q * s.d, 4);
        const auto x = kith::view(points.data(), s.n, s.d), q = kith::view(queries.data(), s.q, s.d);
        kith::Options options;
        options.metric = kith::MetricId::functor;
        options.metric.functor = &functor;
        options.f64 = true;
        const auto search = [&](const char* device, std::int64_t memory) {
            kith::Options o = options;
            o.device = device;
            o.memory = memory;
            return kith::search(x, q, s.n, o);
        };
        const auto cpu = search("cpu", 0), gpu = search("cuda", 0), tiles = search("cuda", 8 << 20);
        ASSERT_EQ(cpu.ids, gpu.ids);
        ASSERT_EQ(cpu.distances64, gpu.distances64);
        ASSERT_EQ(cpu.ids, tiles.ids);
        ASSERT_EQ(cpu.distances64, tiles.distances64);
        options.device = "cpu";
        const auto graph = kith::graph(x, 5, options);
        options.device = "cuda";
        ASSERT_EQ(graph.ids, kith::graph(x, 5, options).ids);
        ASSERT_EQ(graph.ids, kith::Index(x, options).graph(5, options).ids);
    }
    expect_nothing_strange();
}

// Few values: many points lie on each radius.
TEST(GpuFunctor, RadiiAsOnTheCpu) {
    const Fading step{1.5};
    const kith::FunctorMetric functor = kith::functor_metric_cuda(step);
    for (const Size& s : sizes) {
        SCOPED_TRACE(testing::Message() << "n " << s.n << ", q " << s.q << ", d " << s.d);
        const auto points = values(s.n * s.d, 7), queries = values(s.q * s.d, 8);
        const auto x = kith::view(points.data(), s.n, s.d), q = kith::view(queries.data(), s.q, s.d);
        kith::Options cpu;
        cpu.metric = kith::MetricId::functor;
        cpu.metric.functor = &functor;
        cpu.f64 = true;
        cpu.device = "cpu";
        kith::Options cuda = cpu;
        cuda.device = "cuda";
        const auto all = kith::search(x, q, s.n, cpu);
        for (const std::int64_t rank : {std::int64_t{0}, s.n / 3, s.n - 1}) {
            std::vector<double> radii;
            for (std::int64_t i = 0; i < s.q; ++i)
                radii.push_back(all.distances64[static_cast<std::size_t>(i * s.n + rank)]);
            for (const bool open : {false, true}) {
                kith::Radius r(kith::view(radii.data(), s.q, 1));
                r.open = open;
                const auto want = kith::radius(x, q, r, cpu), got = kith::radius(x, q, r, cuda);
                ASSERT_EQ(want.offsets, got.offsets) << rank << open;
                ASSERT_EQ(want.ids, got.ids) << rank << open;
                ASSERT_EQ(want.distances64, got.distances64) << rank << open;
                ASSERT_EQ(kith::radius_counts(x, q, r, cpu).counts, kith::radius_counts(x, q, r, cuda).counts);
            }
            ASSERT_EQ(kith::radius_graph_counts(x, radii[0], cpu).counts,
                      kith::radius_graph_counts(x, radii[0], cuda).counts);
            // What is within, by the definition.
            const auto counts = kith::radius_counts(x, q, kith::Radius(kith::view(radii.data(), s.q, 1)), cuda).counts;
            for (std::int64_t i = 0; i < s.q; ++i) {
                std::int64_t within = 0;
                for (std::int64_t j = 0; j < s.n; ++j)
                    within +=
                        loop(step, functor.start, &queries[static_cast<std::size_t>(i * s.d)],
                             &points[static_cast<std::size_t>(j * s.d)], s.d) <= radii[static_cast<std::size_t>(i)];
                ASSERT_EQ(within, counts[static_cast<std::size_t>(i)]) << i << ", " << rank;
            }
        }
    }
    expect_nothing_strange();
}

TEST(GpuFunctor, NanAndInfinityAsOnTheCpu) {
    const Fading step{2};
    const kith::FunctorMetric functor = kith::functor_metric_cuda(step);
    constexpr std::int64_t n = 150, q = 40, d = 9;
    auto points = values(n * d, 5), queries = values(q * d, 6);
    const double infinity = HUGE_VAL, nan = std::nan("");
    for (std::size_t i = 0; i < points.size(); i += 97) points[i] = i % 2 ? infinity : nan;
    for (std::size_t i = 0; i < queries.size(); i += 61) queries[i] = i % 2 ? nan : infinity;
    kith::Options options;
    options.metric = kith::MetricId::functor;
    options.metric.functor = &functor;
    options.f64 = true;
    options.device = "cpu";
    const auto x = kith::view(points.data(), n, d), y = kith::view(queries.data(), q, d);
    const auto cpu = kith::search(x, y, n + 1, options);
    options.device = "cuda";
    const auto gpu = kith::search(x, y, n + 1, options);
    EXPECT_EQ(cpu.ids, gpu.ids);
    EXPECT_EQ(cpu.distances64, gpu.distances64);
}

}  // namespace
