// Searches queries in the order of the tree, so that consecutive queries visit the same leaves. The
// queries of a graph are the leaves' own points. Others are ordered likewise, as many at a time as
// the plan has memory for.
#include "cpu/search/tree/tree_search.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "cpu/metric/distance_keys.h"
#include "cpu/primitives/nearest.h"
#include "cpu/search/tree/traversal.h"
#include "cpu/tree/order.h"
#include "exact/bounds/box_trial.h"
#include "exact/report/watched.h"

namespace kith::cpu {

namespace {

// The most queries of a task; tasks per thread if there are fewer queries.
constexpr std::int64_t most_queries = 512, tasks_per_thread = 8;

// A trial takes one of tried_share queries, at most most_tried and at least least_tried; of very
// few queries one of few_share.
constexpr std::int64_t tried_share = 32, least_tried = 8, few_share = 4, most_tried = 128;
// If the queries of the trial look at more than n / largest_share points on average, and at more
// than few_keys + few_keys_for_each k, a filter is as fast: scattered boxes in binary64 take about
// ten times as long per pair as tiles in f32 (Zen 3, d 3 to 8).
constexpr std::int64_t largest_share = 10, few_keys = 2048, few_keys_for_each = 8;
// Beyond exact::tree_dimensions leaves are far apart in memory, and filters of products are faster
// (Zen 5, 20,936 x 61, six wide columns: a tree that looked at n / 15 points took 2.4 times as long
// as the filter).
constexpr std::int64_t largest_share_of_many = 64, few_keys_of_many = 256,
                       few_keys_of_many_for_each = 4;

class TreeSearch {
public:
    TreeSearch(const Points& points, Isa isa, int threads, ProgressMeter& progress,
               const Results& results)
        : tree_(*points.tree(isa, threads, progress)),
          params_(points.metric.params),
          n_(points.rows.rows),
          kernels_(tree_kernels(points.metric.id, isa, params_.d)),
          isa_(isa),
          threads_(threads),
          progress_(progress),
          results_(results),
          kept_(std::min(results.k(), n_)) {}

    void graph() {
        Nearest nothing(1);
        for (const std::int64_t row : tree_.nan_rows()) results_.put(row, nothing);
        run(tree_.points(), leaf_points,
            [&](std::int64_t first, std::int64_t last, const auto& answer) {
                std::vector<double> q(static_cast<std::size_t>(params_.d));
                for (std::int64_t i = first; i < last; ++i) {
                    const std::int64_t leaf = i / leaf_points, p = i % leaf_points;
                    for (std::int64_t j = 0; j < params_.d; ++j)
                        q[static_cast<std::size_t>(j)] =
                            tree_.coordinates(leaf)[j * leaf_points + p];
                    const std::int64_t id = tree_.ids(leaf)[p];
                    if (!answer(q.data(), leaf, id, id)) return;
                }
            });
    }

    // Searches queries [first, first + count).
    void search(const MatrixView& queries, const MetricSpec& metric, std::int64_t first,
                std::int64_t count) {
        MappedRows mapped =
            map_rows(queries, first, count, metric, isa_, threads_, progress_, "search");
        if (progress_.cancelled()) return;
        const auto valid = static_cast<std::int64_t>(mapped.numbers.size());
        order_rows(mapped.values.data(), params_.d, mapped.numbers.data(), valid, leaf_points,
                   threads_, progress_);
        run(valid, 1, [&](std::int64_t begin, std::int64_t end, const auto& answer) {
            for (std::int64_t i = begin; i < end; ++i) {
                const std::int64_t number = mapped.numbers[static_cast<std::size_t>(i)];
                if (!answer(mapped.values.data() + number * params_.d, Traversal::none,
                            Traversal::none, first + number))
                    return;
            }
        });
        Nearest nothing(1);
        for (std::int64_t i = 0; i < count && valid < count; ++i)
            if (mapped.nan[i]) results_.put(first + i, nothing);
    }

    // Searches the queries with these numbers, in their order.
    void search_some(const MatrixView& queries, const MetricSpec& metric,
                     const std::vector<std::int64_t>& numbers, bool graph) {
        run(static_cast<std::int64_t>(numbers.size()), 1,
            [&](std::int64_t begin, std::int64_t end, const auto& answer) {
                const DistanceKeys distance_keys(metric, isa_);
                RowBlock query(1, params_.d);
                Nearest nothing(1);
                for (std::int64_t i = begin; i < end; ++i) {
                    const std::int64_t row = numbers[static_cast<std::size_t>(i)];
                    distance_keys.load(queries, row, 1, query);
                    if (query.nan()[0]) results_.put(row, nothing);
                    else if (!answer(query.row(0), Traversal::none, graph ? row : Traversal::none,
                                     row))
                        return;
                }
            });
    }

    // True if a sample of the queries looks at few enough of the points.
    bool pays(const MatrixView& queries, bool graph, const MetricSpec& metric) {
        const std::int64_t few = std::min(queries.rows / few_share, least_tried),
                           count = std::clamp(queries.rows / tried_share, few, most_tried);
        if (count == 0) return true;
        const std::int64_t k = std::min(results_.k(), n_);
        const auto most =
            static_cast<double>(params_.d <= exact::tree_dimensions
                                    ? std::max(n_ / largest_share, few_keys + few_keys_for_each * k)
                                    : std::max(n_ / largest_share_of_many,
                                               few_keys_of_many + few_keys_of_many_for_each * k));
        std::vector<double> keys(static_cast<std::size_t>(count));
        watched_tasks(threads_, count, progress_, "search", [&](std::int64_t task, int worker) {
            // Multiples of the golden section: no period of the queries matches them all.
            const double turn = static_cast<double>(task) * 0.6180339887498949;
            const auto row = std::min(queries.rows - 1,
                                      static_cast<std::int64_t>((turn - std::floor(turn)) *
                                                                static_cast<double>(queries.rows)));
            RowBlock query(1, params_.d);
            DistanceKeys(metric, isa_).load(queries, row, 1, query);
            if (query.nan()[0]) return;
            Traversal traversal(tree_, kernels_, params_);
            Nearest best(kept_);
            traversal.visit(
                query.row(0), Traversal::none, graph ? row : Traversal::none, best, [&] {
                    if (worker == 0) progress_.poll("search");
                    return traversal.distance_keys() < 4 * most && !progress_.cancelled();
                });
            keys[static_cast<std::size_t>(task)] = traversal.distance_keys();
        });
        const double all = std::accumulate(keys.begin(), keys.end(), 0.0);
        keys_ += all;
        return all <= most * static_cast<double>(count);
    }

    double distance_keys() const { return keys_; }

private:
    // Calls work(begin, end, answer) for ranges of `count` queries, whose ends are multiples of
    // `unit`.
    template <class Work>
    void run(std::int64_t count, std::int64_t unit, const Work& work) {
        const std::int64_t share = count / (tasks_per_thread * threads_) / unit * unit;
        const std::int64_t grain = std::clamp(share, unit, most_queries);
        std::vector<double> keys(static_cast<std::size_t>((count + grain - 1) / grain));
        watched_tasks(
            threads_, static_cast<std::int64_t>(keys.size()), progress_, "search",
            [&](std::int64_t task, int worker) {
                Traversal traversal(tree_, kernels_, params_);
                Nearest best(kept_);
                const auto go_on = [&] {
                    if (worker == 0) progress_.poll("search");
                    return !progress_.cancelled();
                };
                const std::int64_t end = std::min(count, (task + 1) * grain);
                work(task * grain, end,
                     [&](const double* q, std::int64_t home, std::int64_t left_out,
                         std::int64_t row) {
                         best.clear();
                         traversal.visit(q, home, left_out, best, go_on);
                         if (progress_.cancelled()) return false;
                         results_.put(row, best);
                         return true;
                     });
                progress_.add(static_cast<double>(end - task * grain) * static_cast<double>(n_));
                keys[static_cast<std::size_t>(task)] = traversal.distance_keys();
            });
        for (const double here : keys) keys_ += here;
    }

    const Tree& tree_;
    const metric::Params& params_;
    std::int64_t n_;
    const TreeKernels& kernels_;
    Isa isa_;
    int threads_;
    ProgressMeter& progress_;
    const Results& results_;
    std::int64_t kept_;
    double keys_ = 0;
};

}  // namespace

bool tree_search(const Points& points, const MatrixView& queries, bool graph, Isa isa, int threads,
                 std::int64_t tile, ProgressMeter& progress, const Results& results,
                 Report& report) {
    TreeSearch search(points, isa, threads, progress, results);
    const bool pays = search.pays(queries, graph, points.metric);
    if (pays && graph) {
        search.graph();
    } else if (pays) {
        const std::int64_t some = tile > 0 ? tile : queries.rows;
        for (std::int64_t first = 0; first < queries.rows && !progress.cancelled(); first += some)
            search.search(queries, points.metric, first, std::min(some, queries.rows - first));
    }
    report.candidates += search.distance_keys();
    return pays;
}

void search_tree(const Points& points, const MatrixView& queries,
                 const std::vector<std::int64_t>& numbers, bool graph, Isa isa, int threads,
                 ProgressMeter& progress, const Results& results, Report& report) {
    TreeSearch search(points, isa, threads, progress, results);
    search.search_some(queries, points.metric, numbers, graph);
    report.candidates += search.distance_keys();
}

}  // namespace kith::cpu
