// The fused filter's pipeline of stages: passes that use every stage many times, on whole numbers, whose products are
// exact in any order, so that all instructions and clusters must leave the same values. One pass a test, for tools too:
// compute-sanitizer --tool racecheck test_gpu_ring --gtest_filter='Pass/*'.
#include <cuda_fp16.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>

#include "gpu/filter/fused/augmented.h"
#include "gpu/filter/pass.h"
#include "gpu/runtime/memory/device_memory.h"
#include "gpu_arrays.h"

namespace {

using namespace kith;

constexpr std::int64_t few_points = 6000, many_points = 60000, q = 8000, capacity = 512;

enum class Kept { rows, both, all, augmented };

struct PassCase {
    gpu::FilterIsa isa;
    int cluster;
    Kept kept;
    std::int64_t width;
    std::int64_t n = few_points;  // many: units of dozens of tiles, which run as far ahead as the pipeline lets them
};

std::string name(const testing::TestParamInfo<PassCase>& info) {
    const PassCase& c = info.param;
    const std::array kept = {"rows", "both", "all", "augmented"};
    return (c.isa == gpu::FilterIsa::sm_80 ? "sm_80_" : "sm_90a_cluster_" + std::to_string(c.cluster) + "_") +
           kept.at(static_cast<std::size_t>(c.kept)) + "_" + std::to_string(c.width) +
           (c.n > few_points ? "_many" : "");
}

template <class T>
gpu::Buffer<T> on_device(const std::vector<T>& values) {
    gpu::Buffer<T> out(static_cast<std::int64_t>(values.size()), nullptr);
    gpu_arrays::check(cudaMemcpy(out.get(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    return out;
}

template <class T>
std::vector<T> on_host(const gpu::Buffer<T>& values) {
    std::vector<T> out(static_cast<std::size_t>(values.size()));
    gpu_arrays::check(cudaMemcpy(out.data(), values.get(), out.size() * sizeof(T), cudaMemcpyDeviceToHost));
    return out;
}

// Points, queries and half norms; where a tile serves both sides the queries are the points.
struct Numbers {
    std::int64_t n, queries, width;
    std::vector<int> u, v, h;
    std::vector<float> threshold;

    Numbers(std::int64_t n, std::int64_t width, bool both) : n(n), queries(both ? n : q), width(width) {
        std::mt19937 random(7);
        const auto fill = [&](std::int64_t count, int least, int values) {
            std::vector<int> out(static_cast<std::size_t>(count));
            for (int& x : out) x = least + static_cast<int>(random() % static_cast<unsigned>(values));
            return out;
        };
        v = fill(n * width, -2, 5);
        u = both ? v : fill(queries * width, -2, 5);
        h = fill(n, 0, 9);
        // Three deviations of a product below zero, and no whole number.
        const double low = -3 * 2 * std::sqrt(static_cast<double>(width));
        for (std::int64_t i = 0; i < queries; ++i) threshold.push_back(static_cast<float>(std::floor(low)) + 0.5f);
    }
    float value(std::int64_t i, std::int64_t j) const {
        int product = 0;
        for (std::int64_t c = 0; c < width; ++c)
            product += u[static_cast<std::size_t>(i * width + c)] * v[static_cast<std::size_t>(j * width + c)];
        return static_cast<float>(h[static_cast<std::size_t>(j)] - product);
    }
};

std::vector<__half> halves(const std::vector<int>& values) {
    std::vector<__half> out;
    out.reserve(values.size());
    for (const int x : values) out.push_back(__float2half(static_cast<float>(x)));
    return out;
}

class GpuRing : public testing::TestWithParam<PassCase> {};

TEST_P(GpuRing, LeavesTheSameValues) {
    const PassCase c = GetParam();
    if (c.isa == gpu::FilterIsa::sm_90a) {
        int major = 0;
        gpu_arrays::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
        if (major != 9) GTEST_SKIP() << "not a device of compute capability 9.0";
    }
    const std::int64_t n = c.n;
    const Numbers numbers(n, c.width, c.kept == Kept::both);
    const std::int64_t padded = gpu::whole_tiles(n);
    std::vector<float> h(static_cast<std::size_t>(padded), std::numeric_limits<float>::infinity());
    std::copy(numbers.h.begin(), numbers.h.end(), h.begin());
    const auto queries = on_device(halves(numbers.u)), points = on_device(halves(numbers.v));
    const auto half_norms = on_device(h), threshold = on_device(numbers.threshold);
    const gpu::Buffer<float> column_threshold(padded, nullptr);
    const bool all = c.kept == Kept::all;
    const gpu::Buffer<float> values(all ? numbers.queries * padded : 0, nullptr);
    const gpu::Buffer<gpu::Candidate> candidates(all ? 0 : numbers.queries * capacity, nullptr);
    const auto counts = on_device(std::vector<std::int32_t>(static_cast<std::size_t>(numbers.queries)));
    gpu::FilterPass pass;
    pass.queries = queries.get();
    pass.points = points.get();
    pass.half_norm = half_norms.get();
    pass.q = numbers.queries;
    pass.n = pass.count = n;
    pass.width = c.width;
    pass.threshold = threshold.get();
    pass.candidates = candidates.get();
    pass.counts = counts.get();
    pass.capacity = capacity;
    pass.all = values.get();
    pass.ld = padded;
    pass.most_cluster = c.cluster;
    if (c.kept == Kept::both) {
        gpu::column_thresholds(threshold.get(), half_norms.get(), n, column_threshold.get(), nullptr);
        pass.column_threshold = column_threshold.get();
    }
    const std::int64_t term_bytes = 2 * gpu::augmented_terms,
                       whole_queries = gpu::augmented_query_rows(numbers.queries);
    const gpu::Buffer<char> point_terms(padded * term_bytes, nullptr), query_terms(whole_queries * term_bytes, nullptr);
    if (c.kept == Kept::augmented) {
        const auto base = on_device(std::vector<float>(static_cast<std::size_t>(numbers.queries))),
                   error = on_device(std::vector<float>(static_cast<std::size_t>(numbers.queries)));
        gpu::augment_points(half_norms.get(), padded, point_terms.get(), nullptr);
        gpu::augment_queries(numbers.queries, 0, base.get(), threshold.get(), error.get(), query_terms.get(), nullptr);
        pass.point_terms = point_terms.get();
        pass.query_terms = query_terms.get();
    }
    gpu::sweep(pass, c.isa, nullptr);
    gpu_arrays::check(cudaDeviceSynchronize());

    const auto value = on_host(values);
    const auto found = on_host(candidates);
    const auto count = on_host(counts);
    std::int64_t kept = 0;
    for (std::int64_t i = 0; i < numbers.queries; i += 41) {
        std::vector<std::pair<std::uint32_t, float>> want, got;
        for (std::int64_t j = 0; j < n; ++j) {
            const float a = numbers.value(i, j);
            if (all) {
                ASSERT_EQ(a, value[static_cast<std::size_t>(i * padded + j)]) << "query " << i << ", point " << j;
            } else if (a <= numbers.threshold[static_cast<std::size_t>(i)]) {
                want.emplace_back(j, a);
            }
        }
        if (all) continue;
        ASSERT_GE(capacity, count[static_cast<std::size_t>(i)]);
        for (std::int64_t at = 0; at < count[static_cast<std::size_t>(i)]; ++at) {
            const gpu::Candidate& s = found[static_cast<std::size_t>(i * capacity + at)];
            // The sums of terms are of thresholds a little above the halves.
            got.emplace_back(s.point, c.kept == Kept::augmented ? std::round(s.a) : s.a);
        }
        std::sort(got.begin(), got.end());
        ASSERT_EQ(want, got) << "query " << i;
        kept += static_cast<std::int64_t>(got.size());
    }
    EXPECT_TRUE(all || kept > 100) << kept;
}

std::vector<PassCase> pass_cases() {
    std::vector<PassCase> out;
    for (const std::int64_t width : {16, 80, 144, 320}) {
        for (const Kept kept : {Kept::rows, Kept::both, Kept::all}) {
            for (const int cluster : {1, 2}) {
                if (kept == Kept::both && width > 128) continue;
                out.push_back({gpu::FilterIsa::sm_90a, cluster, kept, width});
            }
            if (kept != Kept::both) out.push_back({gpu::FilterIsa::sm_80, 1, kept, width});
        }
    }
    for (const std::int64_t width : {16, 48, 64, 80, 128, 144, 192, 208, 256})
        for (const int cluster : {1, 2})
            out.push_back({gpu::FilterIsa::sm_90a, cluster, Kept::augmented, width,
                           width == 64 || width == 128 ? many_points : few_points});
    for (const std::int64_t width : {16, 64})
        for (const int cluster : {1, 2})
            out.push_back({gpu::FilterIsa::sm_90a, cluster, Kept::rows, width, many_points});
    return out;
}

INSTANTIATE_TEST_SUITE_P(Pass, GpuRing, testing::ValuesIn(pass_cases()), name);

}  // namespace
