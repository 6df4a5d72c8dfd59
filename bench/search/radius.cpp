// Counting and listing the points within a radius next to searches for the k nearest, on the same Index and queries.
#include "search/radius.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "document.h"
#include "kith/distances.h"
#include "kith/kith.h"
#include "timing.h"

namespace kith::bench {

namespace {

// About `near` points are within, or that share of them where it is not 0.
struct RadiusShape {
    const char* metric;
    std::int64_t n, q, d, near;
    double share = 0;
};
constexpr RadiusShape shapes[] = {
    {"sqeuclidean", 1 << 20, 8192, 128, 10},    {"sqeuclidean", 1 << 20, 8192, 128, 100},
    {"cosine", 1 << 20, 8192, 128, 10},         {"cityblock", 1 << 17, 4096, 128, 10},
    {"cityblock", 1 << 17, 4096, 128, 100},     {"sqeuclidean", 1 << 17, 512, 128, 100, 0.5},
    {"chebyshev", 1 << 17, 2048, 3, 100, 0.05},
};
// Neighbours of some queries that say where the radius is.
constexpr std::int64_t asked_queries = 512, asked = 4;
// And of a share.
constexpr std::int64_t sampled_queries = 64, sampled_points = 4096;

// The value at that place in the order of all.
double placed(std::vector<double> values, std::int64_t place) {
    const auto at = values.begin() + place;
    std::nth_element(values.begin(), at, values.end());
    return *at;
}

// The distance that this many points of the mean query are within.
double radius_of(const RadiusShape& shape, const Index& index, const MatrixView& points, const MatrixView& queries,
                 const Options& options) {
    MatrixView some = queries, sample = points;
    some.rows = std::min(queries.rows, shape.share > 0 ? sampled_queries : asked_queries);
    sample.rows = std::min(points.rows, sampled_points);
    Options f64 = options;
    f64.f64 = true;
    if (shape.share > 0) {
        std::vector<double> all = distances(sample, some, f64).values64;
        const double place = shape.share * static_cast<double>(all.size());
        return placed(std::move(all), static_cast<std::int64_t>(place));
    }
    return placed(index.search(some, asked * shape.near, f64).distances64, some.rows * shape.near);
}

// True if the nearest of each query are the first of its row, and rows are as long as was counted.
bool agree(const RadiusNeighbors& rows, const std::vector<std::int64_t>& counts, const Neighbors& nearest) {
    for (std::int64_t i = 0; i < rows.queries; ++i) {
        const auto row = static_cast<std::size_t>(i);
        const std::int64_t from = rows.offsets[row], count = rows.offsets[row + 1] - from;
        if (count != counts[row]) return false;
        for (std::int64_t j = 0; j < std::min(count, nearest.k); ++j)
            if (rows.ids[static_cast<std::size_t>(from + j)] !=
                nearest.ids[static_cast<std::size_t>(i * nearest.k + j)])
                return false;
    }
    return true;
}

}  // namespace

bool run_radius(const TableStudy& study, const Options& options) {
    const std::string name = plan({1, 1, 1, 1}, options).device == host_memory ? "cpu" : "cuda";
    fmt::print(
        "points within a radius beside the k nearest, Gaussian data of f32, an Index; G pairs a second, medians of {}\n"
        "{:>12} {:>8} {:>6} {:>5} {:>10} {:>8} {:>8} {:>8} {:>7} {:>8} {:>12} {:>8} {:>8} {:>6}\n",
        study.repeat, "metric", "n", "q", "d", "within", "k", "nearest", "counted", "share", "listed", "refined/query",
        "retried", "scanned", "agree");
    Json document = head(name, study.quick);
    Json table = Json::array();
    bool all_agree = true;
    for (RadiusShape shape : shapes) {
        if (study.quick) shape.n /= 8, shape.q /= 8;
        Options here = options;
        here.metric = metric_named(shape.metric);
        const Plan made = plan({shape.n, shape.q, shape.d, shape.near, ElementType::f32, false}, here);
        const Rows points = rows_of({.seed = points_seed}, shape.n, shape.d, ElementType::f32, made.device);
        const Rows queries = rows_of({.seed = queries_seed}, shape.q, shape.d, ElementType::f32, made.device);
        const Index index(points.view, here);
        const double r = radius_of(shape, index, points.view, queries.view, here);
        Neighbors nearest;
        RadiusCounts counts;
        RadiusNeighbors rows;
        const Timing search = repeated(study.repeat, [&] {
            nearest = index.search(queries.view, shape.near, here);
            return nearest.report;
        });
        const Timing counting = repeated(study.repeat, [&] {
            counts = index.radius_counts(queries.view, r, here);
            return counts.report;
        });
        const Timing listing = repeated(shape.share > 0 ? 1 : study.repeat, [&] {
            rows = index.radius(queries.view, r, here);
            return rows.report;
        });
        const bool same = agree(rows, counts.counts, nearest);
        all_agree &= same;
        const double pairs = 1e-9 * static_cast<double>(shape.n) * static_cast<double>(shape.q);
        const auto rate = [&](const Timing& t) { return pairs / t.median(); };
        const double within = static_cast<double>(rows.ids.size()) / static_cast<double>(shape.q);
        fmt::print(
            "{:>12} {:>8} {:>6} {:>5} {:>10.1f} {:>8} {:>8.1f} {:>8.1f} {:>6.0f}% {:>8.1f} {:>12.1f} {:>8} {:>8} "
            "{:>6}\n",
            shape.metric, shape.n, shape.q, shape.d, within, shape.near, rate(search), rate(counting),
            100 * rate(counting) / rate(search), rate(listing), counts.report.candidates / static_cast<double>(shape.q),
            counts.report.retried, counts.report.scanned, same ? "yes" : "NO");
        std::fflush(stdout);
        table.push_back({{"metric", shape.metric},
                         {"n", shape.n},
                         {"q", shape.q},
                         {"d", shape.d},
                         {"r", r},
                         {"within_per_query", within},
                         {"k", shape.near},
                         {"path", counts.report.path},
                         {"nearest_s", search.median()},
                         {"counted_s", counting.median()},
                         {"listed_s", listing.median()},
                         {"counted_of_nearest", rate(counting) / rate(search)},
                         {"refined_per_query", counts.report.candidates / static_cast<double>(shape.q)},
                         {"retried", counts.report.retried},
                         {"scanned", counts.report.scanned},
                         {"agree", same}});
        document["radius"] = table;
        document["repeat"] = study.repeat;
        if (!study.json.empty()) write(document, study.json);
    }
    return all_agree;
}

}  // namespace kith::bench
