// Searches in shards of the points, and the merge of the results.
#include "kith/shards.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "api/check/magnitudes.h"
#include "api/check/validate.h"
#include "api/data/rows.h"
#include "api/guard.h"
#include "api/request.h"
#include "api/run.h"
#include "cpu/metric/distance_keys.h"
#include "cpu/primitives/top_k.h"
#include "exact/refuse.h"
#include "exact/report/watched.h"
#include "kith/index.h"
#include "kith/kith.h"

namespace kith {

namespace {

constexpr std::int64_t queries_per_task = 16;
constexpr double no_key = std::numeric_limits<double>::infinity();

struct Shard {
    const MatrixView& points;
    std::int64_t first;
    const Index* prepared;
};

void check_shard(const Shard& shard, const MatrixView& queries, std::int64_t k,
                 const Metric& metric) {
    api::check_shard(shard.points, shard.first, queries, metric);
    api::check_k(k, queries.rows);
    if (shard.prepared && (shard.prepared->size() != shard.points.rows ||
                           shard.prepared->dimensions() != shard.points.cols))
        refuse("prepared: {} x {}; expected the shard's {} x {}", shard.prepared->size(),
               shard.prepared->dimensions(), shard.points.rows, shard.points.cols);
}

// Computes the keys of the listed points; their ids count the rows of the shard.
void add_keys(const MatrixView& given_shard, const MatrixView& given_queries,
              const Options& options, PartialNeighbors& found) {
    const int threads = api::threads_of(options);
    ProgressMeter progress(options.progress, static_cast<double>(found.ids.size()));
    MetricSpec metric = api::validate_metric(options.metric, given_shard, threads, progress);
    metric.wide = true;
    std::vector<double> shard_storage, query_storage;
    const MatrixView shard =
                         api::scaled_rows(given_shard, metric, threads, progress, shard_storage),
                     queries =
                         api::scaled_rows(given_queries, metric, threads, progress, query_storage);
    found.keys.assign(found.ids.size(), no_key);
    watched_for(threads, queries.rows, queries_per_task, progress, "keys",
                [&](std::int64_t first, std::int64_t last) {
                    cpu::DistanceKeys distance_keys(metric, cpu::best_isa());
                    cpu::RowBlock query(1, queries.cols), point(1, queries.cols);
                    for (std::int64_t i = first; i < last; ++i) {
                        distance_keys.load(queries, i, 1, query);
                        for (std::int64_t at = i * found.k; at < (i + 1) * found.k; ++at) {
                            const std::int64_t id = found.ids[static_cast<std::size_t>(at)];
                            if (id < 0) break;
                            distance_keys.load_points(shard, id, 1, point);
                            distance_keys.compute(query, 0, point, 1,
                                                  &found.keys[static_cast<std::size_t>(at)]);
                        }
                    }
                    progress.add(static_cast<double>((last - first) * found.k));
                });
    progress.throw_if_cancelled();
}

// Converts rows of k + 1 neighbours to rows of k: without `own(i)` if it is there, else without the
// last.
template <class Own>
std::vector<std::int64_t> without_own(const std::vector<std::int64_t>& ids, std::int64_t rows,
                                      std::int64_t k, const Own& own) {
    std::vector<std::int64_t> kept(static_cast<std::size_t>(rows * k));
    for (std::int64_t i = 0; i < rows; ++i) {
        const auto row = ids.begin() + i * (k + 1);
        const auto found = std::find(row, row + k, own(i));
        std::copy(found + 1, row + k + 1, std::copy(row, found, kept.begin() + i * k));
    }
    return kept;
}

PartialNeighbors search_among(const Shard& shard, const MatrixView& queries, std::int64_t k,
                              bool graph, std::int64_t first_query, const Options& options,
                              Report* report) {
    check_shard(shard, queries, k, options.metric);
    PartialNeighbors found{queries.rows, k, queries.cols, {}, {}};
    // In a graph a query may be in the shard itself.
    const std::int64_t ahead = first_query - shard.first;
    const bool meets = graph && ahead < shard.points.rows && ahead > -queries.rows;
    const std::int64_t searched = meets ? k + 1 : k;
    api::check_k(searched, queries.rows);
    constexpr std::int64_t cell_bytes = sizeof(std::int64_t) + sizeof(double);
    api::check_result_memory(searched, queries.rows, cell_bytes);
    found.ids.resize(static_cast<std::size_t>(queries.rows * searched));
    const NeighborsView out{found.ids.data(), nullptr, host_memory};
    const Report done = shard.prepared
                            ? shard.prepared->search_into(queries, searched, options, out)
                            : search_into(shard.points, queries, searched, options, out);
    if (report) *report = done;
    if (meets)
        found.ids =
            without_own(found.ids, queries.rows, k, [&](std::int64_t i) { return ahead + i; });
    add_keys(shard.points, queries, options, found);
    for (std::int64_t& id : found.ids)
        if (id >= 0) id += shard.first;
    return found;
}

void check_partial(const PartialNeighbors& partial, const char* what) {
    api::check_k(partial.k, std::max<std::int64_t>(partial.queries, 0));
    const auto cells = static_cast<std::size_t>(partial.queries * partial.k);
    if (partial.queries < 0 || partial.ids.size() != cells || partial.keys.size() != cells)
        refuse("{}: {} ids and {} keys; expected {} queries x {} of each", what, partial.ids.size(),
               partial.keys.size(), partial.queries, partial.k);
    for (std::int64_t row = 0; row < partial.queries; ++row) {
        const std::int64_t* const ids = partial.ids.data() + row * partial.k;
        const double* const keys = partial.keys.data() + row * partial.k;
        for (std::int64_t i = 0; i < partial.k; ++i) {
            const bool is_none = ids[i] == -1 && keys[i] == no_key;
            const bool is_point = ids[i] >= 0 && !std::isnan(keys[i]);
            const bool is_next =
                i == 0 || is_none ||
                (ids[i - 1] >= 0 &&
                 (keys[i - 1] < keys[i] || (keys[i - 1] == keys[i] && ids[i - 1] < ids[i])));
            if ((is_none || is_point) && is_next) continue;
            refuse(
                "{}: id {} with key {} at place {} of row {}; expected ids of at least 0 by "
                "ascending (key, id), and then -1 with inf",
                what, ids[i], keys[i], i, row);
        }
    }
}

}  // namespace

PartialNeighbors search_shard(const MatrixView& shard, std::int64_t first_point,
                              const MatrixView& queries, std::int64_t k, const Options& options,
                              Report* report, const Index* prepared) {
    return api::guarded([&] {
        return search_among({shard, first_point, prepared}, queries, k, false, 0, options, report);
    });
}

PartialNeighbors graph_shard(const MatrixView& shard, std::int64_t first_point,
                             const MatrixView& queries, std::int64_t first_query, std::int64_t k,
                             const Options& options, Report* report, const Index* prepared) {
    return api::guarded([&] {
        if (first_query < 0) refuse("first_query: {}; expected an id of at least 0", first_query);
        if (options.include_self)
            refuse("include_self: true; expected a graph without the points themselves");
        return search_among({shard, first_point, prepared}, queries, k, true, first_query, options,
                            report);
    });
}

void merge(PartialNeighbors& into, const PartialNeighbors& other) {
    api::guarded([&] {
        check_partial(into, "into");
        check_partial(other, "other");
        if (into.queries != other.queries || into.k != other.k ||
            into.dimensions != other.dimensions)
            refuse("other: {} queries x {} of {} dimensions; expected {} x {} of {}", other.queries,
                   other.k, other.dimensions, into.queries, into.k, into.dimensions);
        api::merge_rows(into, other, 0, into.queries);
    });
}

Neighbors finish(const PartialNeighbors& partial, const Options& options) {
    return api::guarded([&] {
        check_partial(partial, "partial");
        const Metric& chosen = options.metric;
        if (chosen.id > MetricId::functor)
            refuse("metric: id {} is unknown", static_cast<int>(chosen.id));
        return api::reported_neighbors(
            partial, api::distances_of_shards(chosen, partial.dimensions), options.f64);
    });
}

}  // namespace kith
