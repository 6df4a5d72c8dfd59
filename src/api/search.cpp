// search and graph: validate, plan, prepare, run.
#include "api/device_group.h"
#include "api/empty.h"
#include "api/guard.h"
#include "api/request.h"
#include "api/self.h"
#include "api/validate.h"
#include "api/wide_search.h"
#include "exact/refuse.h"
#include "kith/kith.h"
#include "papers/graph.h"
#include "papers/plan.h"
#include "plan/by_selector.h"

namespace kith {

namespace {

// Validated rows, as the metric takes them.
Report run_once(const MatrixView& points, const MatrixView& queries, std::int64_t k, bool graph,
                const MetricSpec& metric, const Options& options, ProgressMeter& progress,
                const NeighborsView& out) {
    if (papers::is_graph_path(options.path)) {
        if (!graph)
            refuse("path: '{}' computes the graph of a set of points, not a search", options.path);
        if (planner::forces_selector(options.selector))
            refuse("selector: '{}' beside path '{}', which has a selection of its own",
                   options.selector, options.path);
        return papers::graph(points, metric, k, options, progress, out);
    }
    // A filter rounds both sides: the wider type decides what it can hold.
    const ElementType type = queries.type == ElementType::f64 ? ElementType::f64 : points.type;
    const Shape shape{points.rows, queries.rows, points.cols, api::searched_k(k, graph, options),
                      type,        graph};
    const std::vector<std::string> devices = api::devices_of(options);
    if (devices.size() > 1) {
        const api::DeviceGroup group(points, metric, devices, shape, options, false, progress);
        Report report = group.run(graph ? nullptr : &queries, k, options, progress, out);
        report.prepare_seconds = group.prepare_seconds();
        report.seconds += group.prepare_seconds();
        return report;
    }
    return api::with_less_memory(progress, [&](double share, bool& allocating) {
        const Plan plan =
            api::plan_search(shape, metric, options, points.device, share, allocating);
        const api::Prepared prepared = api::prepare(points, metric, plan, false, options, progress);
        Report report =
            api::run_rows(prepared, {queries, k, graph, plan, options, progress, out, false, true});
        report.prepare_seconds = prepared.seconds;
        report.seconds += prepared.seconds;
        return report;
    });
}

Report search_once(const MatrixView& given_points, const MatrixView& given_queries, std::int64_t k,
                   bool graph, const Options& options, const NeighborsView& out) {
    api::check_out(out, given_queries.rows);
    const int threads = api::threads_of(options);
    ProgressMeter progress(options.progress, static_cast<double>(given_queries.rows) *
                                                 static_cast<double>(given_points.rows));
    const MetricSpec metric = api::validate_metric(options.metric, given_points, threads, progress);
    api::check_values(given_points, metric, "points", threads, progress);
    if (!graph) api::check_values(given_queries, metric, "queries", threads, progress);
    if (api::has_no_pairs(given_points, given_queries))
        return api::search_without_pairs(given_queries.rows, k, options, out);
    std::vector<double> point_storage, query_storage;
    const MatrixView points =
        api::scaled_rows(given_points, metric, threads, progress, point_storage);
    const MatrixView queries =
        graph ? points : api::scaled_rows(given_queries, metric, threads, progress, query_storage);
    api::Extent extent = api::extent_of(points, metric, threads, progress);
    if (!graph) extent = api::join(extent, api::extent_of(queries, metric, threads, progress));
    const api::WideCall call{metric,  points,   queries, k, graph, api::key_range(metric, extent),
                             options, progress, out};
    return api::search_in_range(
        call, [&](std::int64_t wanted, const Options& given, const NeighborsView& into) {
            return run_once(points, queries, wanted, graph, metric, given, progress, into);
        });
}

void check(const MatrixView& points, const MatrixView& queries, std::int64_t k) {
    api::check_view(points, "points", 0);
    api::check_view(queries, "queries", 0);
    api::check_dimensions(points.cols, queries.cols);
    api::check_k(k, queries.rows);
}

}  // namespace

Report search_into(const MatrixView& points, const MatrixView& queries, std::int64_t k,
                   const Options& options, const NeighborsView& out) {
    return api::guarded([&] {
        check(points, queries, k);
        return search_once(points, queries, k, false, options, out);
    });
}

Neighbors search(const MatrixView& points, const MatrixView& queries, std::int64_t k,
                 const Options& options) {
    return api::guarded([&] {
        check(points, queries, k);
        return api::collect(queries.rows, k, options.f64, [&](const NeighborsView& out) {
            return search_once(points, queries, k, false, options, out);
        });
    });
}

Report graph_into(const MatrixView& points, std::int64_t k, const Options& options,
                  const NeighborsView& out) {
    return api::guarded([&] {
        api::check_view(points, "points", 0);
        api::check_k(k, points.rows);
        return search_once(points, points, k, true, options, out);
    });
}

Neighbors graph(const MatrixView& points, std::int64_t k, const Options& options) {
    return api::guarded([&] {
        api::check_view(points, "points", 0);
        api::check_k(k, points.rows);
        return api::collect(points.rows, k, options.f64, [&](const NeighborsView& out) {
            return search_once(points, points, k, true, options, out);
        });
    });
}

}  // namespace kith
