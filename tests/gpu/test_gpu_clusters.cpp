// The path "clustered": no pair whose value is within its query's threshold lies in a tile that is left out, nor has a
// relative value beyond what the threshold becomes.
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "clustered_rows.h"
#include "filter_values.h"
#include "gpu/filter/augmented.h"
#include "gpu/points/clusters.h"
#include "gpu/search/clustered_pass.h"
#include "gpu_arrays.h"
#include "kith/kith.h"

namespace {

using namespace kith;
using clustered::Clustered;
using clustered::serves_here;
using filter_values::to_host;

// ---- what is left out

// Points in clusters, queries, and the filter's values of all pairs, in the order of the search.
struct Attacked {
    std::shared_ptr<const gpu::Points> prepared;
    std::int64_t n, q, padded;
    gpu::DeviceRows rows;
    gpu::Buffer<__half> vectors;
    gpu::Buffer<float> error, threshold;
    gpu::Buffer<std::uint8_t> unfit;
    gpu::FilterPass pass;
    std::vector<float> values;  // q x padded

    Attacked(const Clustered& points, const Clustered& queries, const std::string& metric)
        : n(points.n), q(queries.n), padded(gpu::whole_tiles(n)) {
        MetricSpec spec;
        spec.id = metric_named(metric).id;
        spec.params.d = points.d;
        Plan plan;
        gpu_arrays::check(cudaGetDevice(&plan.device));
        plan.path = Path::clustered;
        plan.isa = "sm_90a";
        plan.forced = true;
        plan.chunk_points = n;
        const std::function<bool(const Progress&)> silent;
        ProgressMeter progress(silent, 0);
        prepared = gpu::prepare(points.view(), spec, plan, false, nullptr, 1, progress);
        const gpu::FilterForm& form = chunk().filter.form;
        rows = gpu::upload(queries.view(), 0, q, false, nullptr);
        gpu::measure(rows, prepared->metric, nullptr);
        vectors = gpu::Buffer<__half>(q * form.width, nullptr);
        error = gpu::Buffer<float>(2 * q, nullptr);
        threshold = gpu::Buffer<float>(q, nullptr);
        unfit = gpu::Buffer<std::uint8_t>(q, nullptr);
        prepared->metric.kernels->filter_queries(rows.prepared(), form, vectors.get(), error.get(), unfit.get(),
                                                 prepared->metric.params, nullptr);
        pass.queries = vectors.get();
        pass.points = chunk().filter.vectors.get();
        pass.half_norm = chunk().filter.half_norm.get();
        pass.q = q;
        pass.n = pass.count = n;
        pass.width = form.width;
        pass.threshold = threshold.get();
        gpu::Buffer<float> all(q * padded, nullptr);
        gpu::FilterPass every = pass;
        every.all = all.get();
        every.ld = padded;
        gpu::filter_pass(every, gpu::FilterIsa::sm_90a, nullptr);
        values = to_host(all.get(), q * padded);
    }
    const gpu::Chunk& chunk() const { return prepared->resident; }
    void set_thresholds(const std::vector<float>& thresholds) const {
        gpu_arrays::check(
            cudaMemcpy(threshold.get(), thresholds.data(), thresholds.size() * 4, cudaMemcpyHostToDevice));
    }
};

// Of each row of `count` values, `stride` apart, that which a share of them is below.
std::vector<float> order_statistics(const std::vector<float>& values, std::int64_t rows, std::int64_t stride,
                                    std::int64_t count, double share) {
    std::vector<float> out, sorted;
    for (std::int64_t i = 0; i < rows; ++i) {
        sorted.assign(values.begin() + i * stride, values.begin() + i * stride + count);
        const auto rank = static_cast<std::ptrdiff_t>(share * static_cast<double>(count - 1));
        std::nth_element(sorted.begin(), sorted.begin() + rank, sorted.end());
        // Without a threshold nothing passes.
        out.push_back(std::max(sorted[static_cast<std::size_t>(rank)], std::numeric_limits<float>::lowest()));
    }
    return out;
}

// Thresholds of all sizes, each the value of some point: tiles that no list names hold none within.
void attack(const Attacked& a, const std::string& metric, const std::string& what) {
    const gpu::Chunk& chunk = a.chunk();
    const std::int64_t n = a.n, q = a.q, padded = a.padded;
    const std::vector<float>& values = a.values;
    gpu::FilterPass pass = a.pass;
    std::int64_t left_out = 0, looked_at = 0;
    for (const double share : {0.0, 0.0005, 0.01, 0.3, 0.9}) {
        const std::vector<float> thresholds = order_statistics(values, q, padded, n, share);
        a.set_thresholds(thresholds);
        gpu::ClusteredPass clustered(*chunk.clusters, gpu::FilterIsa::sm_90a, nullptr);
        pass.first = clustered.first();
        pass.count = n - pass.first;
        const gpu::FilterPass listed = clustered.of(pass);
        const std::int64_t groups = (q + gpu::listed_queries - 1) / gpu::listed_queries;
        const auto tiles = to_host(listed.tiles, groups * listed.tile_stride);
        const auto counts = to_host(listed.tile_counts, groups);
        for (std::int64_t g = 0; g < groups; ++g) {
            std::vector<bool> named(static_cast<std::size_t>(listed.tile_stride));
            std::int64_t before = -1;
            for (std::uint32_t t = 0; t < counts[static_cast<std::size_t>(g)]; ++t) {
                const std::int64_t tile = tiles[static_cast<std::size_t>(g * listed.tile_stride + t)];
                ASSERT_LT(before, tile) << what;
                ASSERT_LT(tile, listed.tile_stride) << what;
                named[static_cast<std::size_t>(tile)] = true;
                before = tile;
            }
            looked_at += counts[static_cast<std::size_t>(g)];
            for (std::int64_t tile = 0; tile < listed.tile_stride; ++tile) {
                if (named[static_cast<std::size_t>(tile)]) continue;
                ++left_out;
                for (std::int64_t i = g * gpu::listed_queries; i < std::min(q, (g + 1) * gpu::listed_queries); ++i) {
                    const std::int64_t from = pass.first + tile * gpu::filter_tile_points;
                    for (std::int64_t p = from; p < std::min(n, from + gpu::filter_tile_points); ++p)
                        ASSERT_GT(values[static_cast<std::size_t>(i * padded + p)],
                                  thresholds[static_cast<std::size_t>(i)])
                            << what << ", " << metric << ", query " << i << ", point at " << p;
                }
            }
        }
    }
    ::testing::Test::RecordProperty(what + "-" + metric,
                                    std::to_string(left_out) + " left out, " + std::to_string(looked_at) + " not");
}

// Relative to their centres: of every threshold, each the distance of some pair, the pass finds all points after the
// samples that are within, and the thresholds of the two kinds of values leave out nothing that the other has.
void attack_relative(const Attacked& a, const std::string& metric, const std::string& what) {
    const gpu::Chunk& chunk = a.chunk();
    const std::int64_t n = a.n, q = a.q, first = chunk.clusters->view.first;
    ASSERT_EQ(chunk.filter.form.gemm == metric::Gemm::l2, chunk.clusters->relative.has_value()) << what;
    if (!chunk.clusters->relative) return;
    gpu::RelativePass relative(*chunk.clusters, chunk.filter.form, a.prepared->metric, chunk.points.prepared(),
                               a.rows.prepared(), a.vectors.get(), nullptr);
    // Lists of all points, whose distances begin() puts in.
    std::vector<gpu::Candidate> every;
    for (std::int64_t i = 0; i < q * n; ++i) every.push_back({0, static_cast<std::uint32_t>(i % n)});
    const gpu::Buffer<gpu::Candidate> listed(q * n, nullptr), found(q * n, nullptr);
    const gpu::Buffer<std::int32_t> counts(q, nullptr);
    const std::vector<std::int32_t> full(static_cast<std::size_t>(q), static_cast<std::int32_t>(n));
    const gpu::Buffer<float> served(q, nullptr);
    gpu_arrays::check(cudaMemcpy(listed.get(), every.data(), every.size() * sizeof every[0], cudaMemcpyHostToDevice));
    gpu_arrays::check(cudaMemcpy(counts.get(), full.data(), full.size() * 4, cudaMemcpyHostToDevice));
    const std::vector<float> any(static_cast<std::size_t>(q), std::numeric_limits<float>::max());
    const gpu::CandidateLists lists{.q = q,
                                    .capacity = n,
                                    .candidates = listed.get(),
                                    .counts = counts.get(),
                                    .threshold = served.get(),
                                    .query_error = a.error.get()};
    const auto begin = [&](const std::vector<float>& coarse) {
        gpu_arrays::check(cudaMemcpy(served.get(), coarse.data(), coarse.size() * 4, cudaMemcpyHostToDevice));
        relative.begin(lists, a.unfit.get());
        return to_host(served.get(), q);
    };
    const std::vector<std::uint8_t> unfit = to_host(a.unfit.get(), q);
    const auto fit = [&](std::int64_t i) { return unfit[static_cast<std::size_t>(i)] == gpu::fit; };
    const auto coarse_of = [&](std::int64_t i, std::int64_t p) {
        return a.values[static_cast<std::size_t>(i * a.padded + p)];
    };
    std::vector<float> distances;  // q x n, by position
    for (const double share : {0.9, 0.0005}) {
        const std::vector<float> coarse = order_statistics(a.values, q, a.padded, n, share);
        const std::vector<float> up_to = begin(coarse);
        distances.clear();
        for (const gpu::Candidate& entry : to_host(listed.get(), q * n)) distances.push_back(entry.a);
        for (std::int64_t i = 0; i < q; ++i)
            for (std::int64_t p = 0; p < n; ++p)
                ASSERT_FALSE(distances[static_cast<std::size_t>(i * n + p)] <= up_to[static_cast<std::size_t>(i)] &&
                             coarse_of(i, p) > coarse[static_cast<std::size_t>(i)])
                    << what << ", " << metric << ", query " << i << ", point at " << p;
    }
    begin(any);
    // Lowered thresholds let as many through as they are for.
    const std::int64_t wanted = 5;
    gpu::CandidateLists lowered_lists = lists;
    lowered_lists.threshold = a.threshold.get();
    a.set_thresholds(any);
    relative.lower(lowered_lists, wanted, a.unfit.get());
    const std::vector<float> to = to_host(a.threshold.get(), q);
    std::int64_t lowered = 0;
    for (std::int64_t i = 0; i < q; ++i) {
        const float threshold = to[static_cast<std::size_t>(i)];
        if (threshold == any[0]) continue;
        ++lowered;
        std::int64_t through = 0;
        for (std::int64_t p = 0; p < n; ++p) through += coarse_of(i, p) <= threshold;
        ASSERT_TRUE(fit(i) && through >= wanted) << what << ", " << metric << ", query " << i << ": " << through;
    }
    // Points of clusters that are tiny beside their centres are as far from a query as f32 tells.
    EXPECT_TRUE(lowered > 0 || what == "tiny") << what << ", " << metric;
    gpu::FilterPass pass = a.pass;
    pass.candidates = found.get();
    pass.counts = counts.get();
    pass.capacity = n;
    std::int64_t within = 0, appended = 0;
    for (const double share : {0.0, 0.0005, 0.01, 0.9}) {
        const std::vector<float> thresholds = order_statistics(distances, q, n, n, share);
        a.set_thresholds(thresholds);
        gpu_arrays::check(cudaMemset(counts.get(), 0, static_cast<std::size_t>(q) * 4));
        relative.run(pass);
        const auto entries = to_host(found.get(), q * n);
        const auto here = to_host(counts.get(), q);
        relative.restore(a.threshold.get(), a.error.get());
        const std::vector<float> restored = to_host(a.threshold.get(), q);
        for (std::int64_t i = 0; i < q; ++i) {
            if (!fit(i)) continue;
            const std::int32_t count = here[static_cast<std::size_t>(i)];
            ASSERT_LE(count, n - first) << what << ", " << metric << ", query " << i;
            std::vector<bool> has(static_cast<std::size_t>(n));
            for (std::int32_t e = 0; e < count; ++e) {
                const std::int64_t p = entries[static_cast<std::size_t>(i * n + e)].point;
                ASSERT_GE(p, first) << what;
                ASSERT_LT(p, n) << what;
                ASSERT_FALSE(has[static_cast<std::size_t>(p)]) << what << ", twice: point at " << p;
                has[static_cast<std::size_t>(p)] = true;
            }
            appended += count;
            for (std::int64_t p = 0; p < n; ++p) {
                const float distance = distances[static_cast<std::size_t>(i * n + p)];
                if (!(distance <= thresholds[static_cast<std::size_t>(i)])) continue;
                ASSERT_LE(coarse_of(i, p), restored[static_cast<std::size_t>(i)])
                    << what << ", " << metric << ", query " << i << ", point at " << p;
                if (p < first) continue;
                ++within;
                ASSERT_TRUE(has[static_cast<std::size_t>(p)])
                    << what << ", " << metric << ", query " << i << ", point at " << p << ", share " << share;
            }
        }
    }
    ::testing::Test::RecordProperty("relative-" + what + "-" + metric,
                                    std::to_string(within) + " within, " + std::to_string(appended) + " appended");
}

TEST(GpuClusters, LeaveOutNothingWithin) {
    if (!serves_here()) GTEST_SKIP() << "no sm_90a";
    const std::int64_t n = 20000, d = 24, q = 300;
    Clustered tight(n, d, 40, 1e-4, 3), wide(n, d, 40, 0.3, 4), one(n, d, 1, 1.0, 5), offset(n, d, 40, 1e-2, 6, 50.0),
        tiny(n, d, 40, 1e-3, 7), huge(n, d, 40, 1e-3, 8), outlier(n, d, 40, 1e-3, 9), equal(n, d, 3, 0.0, 10);
    for (float& x : tiny.rows) x *= 1e-6f;
    for (std::int64_t i = 0; i < n; i += 3)
        for (std::int64_t j = 0; j < d; ++j) huge.at(i, j) *= 300.0f;
    for (std::int64_t j = 0; j < d; ++j) {
        outlier.at(17, j) = 3e8f;
        outlier.at(n - 5, j) = -1e6f;
        for (std::int64_t i = 5; i < n; i += 501) outlier.at(i, j) = std::numeric_limits<float>::quiet_NaN();
    }
    const Clustered near(q, d, 40, 1e-4, 11), far(q, d, 40, 1.0, 12, 20.0);
    for (const char* metric : {"sqeuclidean", "cosine", "inner_product"}) {
        for (const auto& [what, points] : {std::pair{"tight", &tight},
                                           {"wide", &wide},
                                           {"one", &one},
                                           {"offset", &offset},
                                           {"tiny", &tiny},
                                           {"huge", &huge},
                                           {"outlier", &outlier},
                                           {"equal", &equal}}) {
            for (const auto& [which, queries] : {std::pair{"", &near}, {"-far", &far}}) {
                const Attacked attacked(*points, *queries, metric);
                ASSERT_TRUE(attacked.chunk().clusters) << what;
                attack(attacked, metric, std::string(what) + which);
            }
        }
    }
}

// Clusters far from the origin and from each other, of very different sizes, with outliers in them, with points at
// their centres and equal ones; queries at points, between two clusters, and far away.
TEST(GpuClusters, RelativeValuesLeaveOutNothingWithin) {
    if (!serves_here()) GTEST_SKIP() << "no sm_90a";
    const std::int64_t n = 17000, d = 24, q = 270;
    Clustered tight(n, d, 40, 1e-4, 3), wide(n, d, 40, 0.3, 4), one(n, d, 1, 1.0, 5), offset(n, d, 40, 1e-2, 6, 50.0),
        far_apart(n, d, 40, 1e-3, 7), scales(n, d, 40, 1.0, 8), outlier(n, d, 40, 1e-3, 9), equal(n, d, 3, 0.0, 10),
        uneven(n, d, 40, 1e-2, 11), tiny(n, d, 40, 1e-3, 12), centres(n, d, 40, 1e-3, 13);
    const Clustered middles(40, d, 40, 0.0, 1);
    for (std::int64_t i = 0; i < n; ++i) {
        // Half of the points are of one cluster; others are of clusters a few powers of ten wide or narrow, or moved
        // away from the rest; and many lie at a centre.
        const std::int64_t c = i * 7919 % 40;
        for (std::int64_t j = 0; j < d; ++j) {
            const float middle = middles.rows[static_cast<std::size_t>(c * d + j)];
            float& x = scales.at(i, j);
            x = middle + (x - middle) * std::pow(10.0f, -static_cast<float>(c % 7));
            if (i % 2 == 0) uneven.at(i, j) = uneven.at(0, j) + (uneven.at(i, j) - uneven.at(i % 40, j));
            far_apart.at(i, j) += c % 3 == 0 ? 3e3f : 0.0f;
            tiny.at(i, j) *= 1e-6f;
            if (i % 5 > 1) centres.at(i, j) = middle;
            if (i % 211 == 3) outlier.at(i, j) += 2.0f;
            if (i == 17) outlier.at(i, j) = 3e8f;
            if (i % 501 == 5) outlier.at(i, j) = std::numeric_limits<float>::quiet_NaN();
        }
    }
    Clustered queries(q, d, 40, 1e-4, 14);
    const Clustered far(q, d, 40, 1.0, 16, 20.0);
    for (std::int64_t i = 90; i < q; ++i)
        for (std::int64_t j = 0; j < d; ++j) {
            const float one_middle = middles.rows[static_cast<std::size_t>(i % 40 * d + j)],
                        other = middles.rows[static_cast<std::size_t>((i + 1) % 40 * d + j)];
            queries.at(i, j) = i >= 180     ? far.rows[static_cast<std::size_t>(i * d + j)]
                               : i % 3 == 0 ? one_middle
                                            : (one_middle + other) / 2;
        }
    for (std::int64_t i = 7; i < q; i += 50) queries.at(i, 3) = std::numeric_limits<float>::quiet_NaN();
    for (const char* metric : {"sqeuclidean", "hellinger", "cosine"}) {
        for (const auto& [what, points] : {std::pair{"tight", &tight},
                                           {"wide", &wide},
                                           {"one", &one},
                                           {"offset", &offset},
                                           {"far apart", &far_apart},
                                           {"scales", &scales},
                                           {"outlier", &outlier},
                                           {"equal", &equal},
                                           {"uneven", &uneven},
                                           {"tiny", &tiny},
                                           {"centres", &centres}}) {
            Clustered these = *points, asked = queries;
            if (std::string(metric) == "hellinger") {
                for (float& x : these.rows) x = std::abs(x);
                for (float& x : asked.rows) x = std::abs(x);
            }
            const Attacked attacked(these, asked, metric);
            ASSERT_TRUE(attacked.chunk().clusters) << what;
            attack_relative(attacked, metric, what);
        }
    }
}

}  // namespace
