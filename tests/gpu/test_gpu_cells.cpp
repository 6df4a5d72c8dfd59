// Cells of a projection's points: no pair whose value is within its query's threshold lies in a cell that is left out,
// every other pair is looked at once, and searches are held to the bits of other paths.
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "filter_values.h"
#include "gpu/filter/partition/cells.h"
#include "gpu/points/pca/projection.h"
#include "gpu/points/prepare_filter.h"
#include "gpu/points/tuning.h"
#include "gpu/search/passes/gathered_cells.h"
#include "gpu_arrays.h"
#include "gpu_options.h"
#include "kith/kith.h"
#include "kith/match.h"
#include "prepared_filter.h"
#include "same_answer.h"
#include "spectrum.h"

namespace {

using namespace kith;
using filter_values::to_host;
using spectrum::falling;
using spectrum::Spectrum;

bool serves_here() {
    return filter_values::instruction_sets().back() == gpu::FilterIsa::sm_90a;
}

// How deviations fall, and how far rows lie from their middles, beside these.
struct Grouping {
    double exponent = 0.7, spread = 0.3;
};

// Rows around so many middles, both of falling deviations: what people's images and embeddings are like.
Spectrum grouped(std::int64_t n, std::int64_t d, std::int64_t middles, std::uint64_t seed, Grouping as = {}) {
    std::vector<double> own = falling(d, as.exponent);
    for (double& x : own) x *= as.spread;
    const Spectrum around(middles, falling(d, as.exponent), 3);
    Spectrum out(n, own, seed);
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < d; ++j)
            out.rows[static_cast<std::size_t>(i * d + j)] +=
                around.rows[static_cast<std::size_t>(i * 7919 % middles * d + j)];
    return out;
}

// Points prepared with a projection that has a stage, and with cells if these are made.
struct Celled {
    PreparedFilter points;
    gpu::FilterVectors filter;
    std::optional<gpu::ProjectedVectors> projected;

    Celled(const Spectrum& of, const std::string& metric, bool always)
        : points(of.view(), of.view(), metric, Path::gemm_f16, "sm_90a"),
          filter(gpu::prepare_filter(points.chunk().points, points.points->metric, gpu::FilterKind::one_term, nullptr)),
          projected(gpu::find_projection(filter, points.n,
                                         {.directions = true,
                                          .byte_directions = true,
                                          .always = always,
                                          .columns = 63,
                                          .least_stages = 1,
                                          .most_stages = 1,
                                          .reorder =
                                              [&](gpu::Buffer<std::uint32_t> order) {
                                                  filter.order = std::move(order);
                                                  filter.form.order = filter.order.get();
                                                  gpu::fill_filter(points.chunk().points, points.points->metric, filter,
                                                                   nullptr);
                                              }},
                                         nullptr)) {}
    bool has_cells() const { return projected && projected->cells; }
};

// Whether points that are prepared for the path lie in cells, as an Index has them.
bool in_cells(const Spectrum& points, const std::string& metric) {
    const PreparedFilter prepared(points.view(), view(points.rows.data(), 1, points.d), metric, Path::projected,
                                  "sm_90a");
    return prepared.chunk().projected && prepared.chunk().projected->cells;
}

// Columns of very different units.
void in_units(Spectrum& of) {
    for (std::int64_t i = 0; i < of.n * of.d; ++i)
        of.rows[static_cast<std::size_t>(i)] *= std::pow(1e3f, static_cast<float>(i % of.d % 4 - 2));
}

// Points that cells are made badly of.
std::vector<std::pair<std::string, Spectrum>> against_cells(std::int64_t n, std::int64_t d, Grouping as = {}) {
    Spectrum repeated = grouped(n, d, 50, 31, as), outlier(n, falling(d, as.exponent + 0.3), 32),
             missing = grouped(n, d, 20, 33, as), few(n, falling(d, as.exponent + 0.2), 34),
             units = grouped(n, d, 50, 37, as);
    const auto row = [&](Spectrum& of, std::int64_t i) { return of.rows.begin() + i * d; };
    for (std::int64_t i = 0; i < n; ++i) std::copy_n(row(repeated, i % 900), d, row(repeated, i));
    for (std::int64_t i = 20000; i < 20040; ++i)
        for (std::int64_t j = 0; j < d; ++j) *(row(outlier, i) + j) = i % 2 ? 3e6f : -1e8f;
    for (std::int64_t i = 0; i < n; i += 11) {
        if (i % 2 == 0) *(row(missing, i) + i % d) = std::numeric_limits<float>::quiet_NaN();
        else std::fill_n(row(missing, i), d, 0.0f);
    }
    // All but a few of the points are one.
    for (std::int64_t i = 0; i < n; ++i)
        if (i % 37 != 0) std::copy_n(row(few, 1), d, row(few, i));
    in_units(units);
    return {{"grouped", grouped(n, d, 300, 35, as)},
            {"units", units},
            {"falling", Spectrum(n, falling(d, as.exponent), 36)},
            {"repeated", repeated},
            {"outlier", outlier},
            {"missing", missing},
            {"few", few}};
}

// Vectors of queries for the filter of such points.
struct QueryVectors {
    gpu::DeviceRows rows;
    gpu::Buffer<__half> vectors;
    gpu::Buffer<float> error;
    gpu::Buffer<std::uint8_t> unfit;

    QueryVectors(const Spectrum& queries, const Celled& celled)
        : rows(gpu::upload(queries.view(), 0, queries.n, false, nullptr)),
          vectors(queries.n * celled.filter.form.width, nullptr),
          error(2 * queries.n, nullptr),
          unfit(queries.n, nullptr) {
        const gpu::DeviceMetric& metric = celled.points.points->metric;
        gpu::measure(rows, metric, nullptr);
        metric.kernels->filter_queries(rows.prepared(), celled.filter.form, vectors.get(), error.get(), unfit.get(),
                                       metric.params, nullptr);
    }
};

struct Looked {
    double pairs = 0, all = 0;
};

// Thresholds of all sizes, each the value of some point.
Looked attack(const Spectrum& points, const Spectrum& queries, const std::string& metric, const std::string& what) {
    const Celled celled(points, metric, true);
    Looked out;
    if (!celled.has_cells()) return out;
    const gpu::Cells& cells = celled.projected->cells;
    const gpu::FilterVectors& filter = celled.filter;
    const std::int64_t n = points.n, q = queries.n, padded = gpu::whole_tiles(n), tile = gpu::filter_tile_points;
    const QueryVectors of_queries(queries, celled);
    const gpu::Buffer<float> all(q * padded, nullptr), threshold(q, nullptr);
    gpu::FilterPass every;
    every.queries = of_queries.vectors.get();
    every.points = filter.vectors.get();
    every.half_norm = filter.half_norm.get();
    every.q = q;
    every.n = every.count = n;
    every.width = filter.form.width;
    every.all = all.get();
    every.ld = padded;
    gpu::sweep(every, gpu::FilterIsa::sm_90a, nullptr);
    const std::vector<float> values = to_host(all.get(), q * padded);
    gpu::Buffer<std::uint8_t> overflowed(q, nullptr);
    overflowed.clear_to(0);
    gpu::GatheredCells gathered(cells, of_queries.vectors.get(), q, nullptr);
    for (const double share : {0.0, 0.0002, 0.01, 0.5}) {
        const std::vector<float> thresholds = filter_values::thresholds_of(values, padded, n, share);
        gpu_arrays::check(
            cudaMemcpy(threshold.get(), thresholds.data(), thresholds.size() * sizeof(float), cudaMemcpyHostToDevice));
        const std::int64_t tiles = (n - cells.view.first + tile - 1) / tile;
        std::vector<std::uint8_t> times(static_cast<std::size_t>(q * tiles));
        for (std::int64_t part = -1; part < 3; ++part) {
            const gpu::CellChoice choice{.near = part < 0,
                                         .part = part,
                                         .parts = 3,
                                         .threshold = threshold.get(),
                                         .overflowed = overflowed.get()};
            gathered.gather(choice, 3000, [&](const gpu::CellRows& rows) {
                const std::int64_t groups = rows.rows / gpu::listed_queries;
                const auto query = to_host(rows.query, rows.rows);
                const auto counts = to_host(rows.tile_counts, groups);
                const auto listed = to_host(rows.tiles, groups * gathered.tiles());
                for (std::int64_t r = 0; r < rows.rows; ++r) {
                    const std::uint32_t own = query[static_cast<std::size_t>(r)];
                    if (own == gpu::no_query) continue;
                    ASSERT_LT(own, q) << what;
                    const std::int64_t group = r / gpu::listed_queries;
                    for (std::uint32_t t = 0; t < counts[static_cast<std::size_t>(group)]; ++t) {
                        const std::uint32_t at = listed[static_cast<std::size_t>(group * gathered.tiles() + t)];
                        ASSERT_LT(at, tiles) << what;
                        ++times[static_cast<std::size_t>(own * tiles + at)];
                    }
                }
            });
        }
        for (std::int64_t i = 0; i < q; ++i)
            for (std::int64_t t = 0; t < tiles; ++t) {
                const int seen = times[static_cast<std::size_t>(i * tiles + t)];
                EXPECT_LE(seen, 1) << what << ", query " << i << ", tile " << t;
                out.pairs += seen;
                out.all += 1;
                if (seen > 0) continue;
                const std::int64_t from = cells.view.first + t * tile;
                for (std::int64_t p = from; p < std::min(n, from + tile); ++p)
                    if (values[static_cast<std::size_t>(i * padded + p)] <= thresholds[static_cast<std::size_t>(i)]) {
                        ADD_FAILURE() << what << ", " << metric << ", share " << share << ", query " << i
                                      << ", point at " << p;
                        return out;
                    }
            }
    }
    return out;
}

constexpr std::int64_t points_here = 70001, dimensions = 400;

TEST(GpuCells, LeaveOutNothingWithin) {
    if (!serves_here()) GTEST_SKIP() << "no sm_90a";
    int with_cells = 0;
    for (const char* metric : {"sqeuclidean", "cosine", "inner_product"})
        for (const auto& [what, points] : against_cells(points_here, dimensions)) {
            Spectrum queries = grouped(200, dimensions, 300, 40);
            if (what == "units") in_units(queries);
            const Looked seen = attack(points, queries, metric, what);
            with_cells += seen.all > 0;
            if (what == "units") {
                EXPECT_LT(0, seen.all) << metric;
            }
            if (what == "grouped" && metric != std::string("inner_product")) {
                EXPECT_LT(seen.pairs, 0.8 * seen.all) << metric;
            }
        }
    EXPECT_LE(6, with_cells);
}

// A forced path has stages, and then cells, where these save reading: deviations fall slowly, and rows lie far from
// their middles.
constexpr std::int64_t searched_dimensions = 784;
constexpr Grouping searched{.exponent = 0.5, .spread = 0.6};

Spectrum searched_rows(std::int64_t n, std::int64_t middles, std::uint64_t seed) {
    return grouped(n, searched_dimensions, middles, seed, searched);
}

TEST(GpuCellSearch, AnswersAsAllCoordinatesDo) {
    const Spectrum like = searched_rows(3000, 300, 41);
    Spectrum scaled = like;
    in_units(scaled);
    for (const char* metric : {"sqeuclidean", "cosine", "inner_product"})
        for (const auto& [what, points] : against_cells(points_here, searched_dimensions, searched)) {
            const Spectrum& queries = what == "units" ? scaled : like;
            if (what == "grouped" || what == "falling") {
                EXPECT_EQ(serves_here(), in_cells(points, metric)) << what << ", " << metric;
            }
            const Index all(points.view(), options_of(metric, "gemm-f16")),
                few(points.view(), options_of(metric, "projected"));
            for (const std::int64_t k : {1, 10, 150})
                for (const std::int64_t q : {1, 300, 3000}) {
                    const MatrixView some = view(queries.rows.data(), q, searched_dimensions);
                    const auto want = all.search(some, k, options_of(metric, "gemm-f16"));
                    const auto got = few.search(some, k, options_of(metric, "projected"));
                    EXPECT_TRUE(same_answer(want, got)) << what << ", " << metric << ", k " << k << ", q " << q;
                    if (what == "grouped") {
                        EXPECT_GE(got.report.certified, q - q / 10) << metric << ", k " << k;
                    }
                }
        }
}

// Of queries among the points, in several steps.
TEST(GpuCellSearch, Graphs) {
    const Spectrum points = searched_rows(66000, 200, 42);
    EXPECT_EQ(serves_here(), in_cells(points, "sqeuclidean"));
    const Index all(points.view(), options_of("sqeuclidean", "gemm-f16")),
        few(points.view(), options_of("sqeuclidean", "projected"));
    EXPECT_TRUE(same_answer(all.graph(7, options_of("sqeuclidean", "gemm-f16")),
                            few.graph(7, options_of("sqeuclidean", "projected"))));
}

// Of an Index whose points lie in cells; few queries and many.
TEST(GpuCellSearch, Radii) {
    const Spectrum points = searched_rows(66000, 200, 45), queries = searched_rows(3000, 200, 46);
    EXPECT_EQ(serves_here(), in_cells(points, "euclidean"));
    const Options by_all = options_of("euclidean", "gemm-f16"), own = options_of("euclidean", "");
    const Index all(points.view(), by_all), few(points.view(), options_of("euclidean", "projected"));
    for (const std::int64_t q : {40, 3000}) {
        const MatrixView some = view(queries.rows.data(), q, searched_dimensions);
        std::vector<float> reach = all.search(some, 30, by_all).distances;
        std::nth_element(reach.begin(), reach.begin() + std::ssize(reach) / 2, reach.end());
        const double r = reach[reach.size() / 2];
        const RadiusNeighbors want = all.radius(some, r, by_all), got = few.radius(some, r, own);
        EXPECT_LT(static_cast<std::size_t>(10 * q), want.ids.size());
        EXPECT_EQ(want.offsets, got.offsets) << q;
        EXPECT_EQ(want.ids, got.ids) << q;
        EXPECT_EQ(want.distances, got.distances) << q;
    }
}

TEST(GpuCellSearch, Matches) {
    const Spectrum a = searched_rows(3000, 200, 47), b = searched_rows(66000, 200, 48);
    EXPECT_EQ(serves_here(), in_cells(b, "euclidean"));
    for (const bool mutual : {false, true}) {
        MatchOptions by_all, by_cells;
        by_all.ratio = by_cells.ratio = 0.98;
        by_all.mutual = by_cells.mutual = mutual;
        by_all.search = options_of("euclidean", "gemm-f16");
        by_cells.search = options_of("euclidean", "projected");
        const Matches want = match(a.view(), b.view(), by_all), got = match(a.view(), b.view(), by_cells);
        EXPECT_LT(100u, want.first.size());
        EXPECT_EQ(want.first, got.first) << mutual;
        EXPECT_EQ(want.second, got.second) << mutual;
        EXPECT_EQ(want.distances, got.distances) << mutual;
    }
}

// Made where a sample says that they leave much out.
TEST(GpuCells, AreChosenByASample) {
    if (!serves_here()) GTEST_SKIP() << "no sm_90a";
    const std::int64_t n = gpu::tuning::least_celled;
    const Celled few(Spectrum(n, falling(256, 1.5), 43), "sqeuclidean", false),
        many(Spectrum(n, falling(256, 0.5), 44), "sqeuclidean", false);
    ASSERT_TRUE(few.projected);
    EXPECT_TRUE(few.has_cells());
    EXPECT_FALSE(many.has_cells());
    EXPECT_FALSE(many.filter.form.order);
}

}  // namespace
