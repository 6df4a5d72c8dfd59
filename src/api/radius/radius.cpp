// radius and radius_graph on one device: validate, prepare, run. radius_group.cpp serves several.
#include "api/radius/radius.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "api/check/validate.h"
#include "api/data/empty.h"
#include "api/data/host_view.h"
#include "api/guard.h"
#include "api/radius/radius_room.h"
#include "api/request.h"
#include "api/wide_search.h"
#include "cpu/search/radius/radius_search.h"
#include "cpu/search/tree/ball.h"
#include "exact/element.h"
#include "exact/metric_spec.h"
#include "exact/refuse.h"
#include "gpu/backend.h"
#include "kith/kith.h"
#include "kith/memory.h"
#include "papers/plan.h"

namespace kith {

namespace api {

namespace {

// Least growth of a result, in bytes, that is checked against free memory.
constexpr std::int64_t least_asked = 16 << 20;

bool has_negative(const MetricSpec& metric) {
    if (is_user_metric(metric.id)) return true;
    const metric::Traits traits = traits_of(metric.id);
    return traits.similarity || traits.gemm == metric::Gemm::cross_entropy;
}

void check_radius(double r, const MetricSpec& metric) {
    if (std::isnan(r)) refuse("r: nan; expected a number");
    if (r < 0 && !has_negative(metric))
        refuse("r: {}; expected at least 0, as distances of {} are", r, name(metric.id));
}

// Bounds of the distance keys within each radius (cpu::Ball).
struct KeyBounds {
    std::vector<double> inner, outer;
};
KeyBounds key_bounds(const MetricSpec& metric, const double* radii, std::int64_t q, bool open) {
    const auto size = static_cast<std::size_t>(q);
    KeyBounds out{std::vector<double>(size), std::vector<double>(size)};
    for (std::size_t i = 0; i < size; ++i) {
        // Mostly all queries share one radius.
        if (i > 0 && radii[i] == radii[i - 1]) {
            out.inner[i] = out.inner[i - 1];
            out.outer[i] = out.outer[i - 1];
            continue;
        }
        const cpu::Ball ball(metric, radii[i], open);
        out.inner[i] = ball.inner();
        out.outer[i] = ball.outer();
    }
    return out;
}

// Makes room for `added` more elements: for `all_of_them` if that is known, else by at least half
// of the current size.
template <class T>
void grow(std::vector<T>& all, std::int64_t added, std::int64_t all_of_them) {
    const auto wanted = all.size() + static_cast<std::size_t>(added);
    if (wanted <= all.capacity()) return;
    const std::size_t room = all_of_them >= static_cast<std::int64_t>(wanted)
                                 ? static_cast<std::size_t>(all_of_them)
                                 : std::max(wanted, all.size() + all.size() / 2);
    // Both copies exist while elements are moved.
    const auto bytes = static_cast<std::int64_t>(room * sizeof(T));
    if (bytes >= least_asked)
        require_memory(bytes, "r: what is within it, unless radius_blocks() hands it on,");
    all.reserve(room);
}

}  // namespace

Options for_radius(Options options) {
    options.selector.clear();
    if (papers::is_path(options.path)) options.path.clear();
    return options;
}

void check_options(const Options& options) {
    if (options.enqueue) refuse("enqueue: serves selections; a search has finished on return");
    if (papers::is_graph_path(options.path))
        refuse("path: '{}' serves graph() of the k nearest, not a search by radius", options.path);
    if (!options.selector.empty())
        refuse("selector: '{}'; all points within a radius are found, and none selected",
               options.selector);
}

std::vector<double> radii_of(const Radius& r, std::int64_t q, const MetricSpec& metric) {
    if (!is_given(r.each, "r")) {
        check_radius(r.r, metric);
        return std::vector<double>(static_cast<std::size_t>(q), r.r);
    }
    check_f64(r.each, "r", q == 0 ? 0 : 1);
    if (q == 0 && r.each.rows == 0) return {};
    const bool row = r.each.rows == 1;
    if ((!row && r.each.cols != 1) || r.each.rows * r.each.cols != q)
        refuse("r: {} x {} values; expected one of each of {} queries", r.each.rows, r.each.cols,
               q);
    std::vector<std::byte> storage;
    const MatrixView each = on_host(r.each, storage);
    std::vector<double> radii(static_cast<std::size_t>(q));
    for (std::int64_t i = 0; i < q; ++i) {
        const std::int64_t at = row ? exact::offset(each, 0, i) : exact::offset(each, i, 0);
        radii[static_cast<std::size_t>(i)] = static_cast<const double*>(each.data)[at];
        check_radius(radii[static_cast<std::size_t>(i)], metric);
    }
    return radii;
}

void run_radius(const DeviceIndex& index, const RadiusRun& run, Report& report) {
    const Prepared& prepared = index.prepared();
    const std::shared_ptr<const Plan> shared =
        index.plan_of(run.queries.rows, run.queries.type, run.options);
    const Plan& plan = *shared;
    report.path = name(plan.path);
    report.queries += run.queries.rows;
    if (prepared.cpu) {
        std::vector<std::byte> storage;
        const MatrixView host = on_host(run.queries, storage);
        name_cpu(plan, report);
        cpu::radius_search(*prepared.cpu,
                           {host, run.radii, run.open, run.graph, run.first_own, run.f64, run.keys,
                            run.list_bytes, run.counts, run.take},
                           plan, run.progress, report);
    } else {
        report.device =
            fmt::format("cuda:{} ({})", plan.device, gpu::device_facts(plan.device).name);
        const KeyBounds keys = key_bounds(prepared.metric, run.radii, run.queries.rows, run.open);
        gpu::radius(*prepared.gpu,
                    {run.queries, keys.inner.data(), keys.outer.data(), run.radii, run.open,
                     run.graph, run.first_own, plan, run.f64, run.keys, run.options.stream,
                     run.progress, run.list_bytes, run.counts, run.take, report});
    }
    run.progress.throw_if_cancelled();
}

Report run_radius(const DeviceIndex& index, const RadiusCall& call) {
    check_options(call.options);
    const auto start = std::chrono::steady_clock::now();
    const Prepared& prepared = index.prepared();
    const MatrixView points = index.points();
    const MatrixView& queries = call.queries ? *call.queries : points;
    const std::vector<double> radii = radii_of(call.r, queries.rows, prepared.metric);
    Report report;
    report.pairs = static_cast<double>(queries.rows) * static_cast<double>(prepared.n);
    run_radius(index,
               {.queries = queries,
                .radii = radii.data(),
                .open = call.r.open,
                .graph = call.own().has_value(),
                .first_own = call.own().value_or(0),
                .f64 = call.options.f64 || call.wants.keys,
                .keys = call.wants.keys,
                .list_bytes = call.options.memory > 0 ? call.options.memory : radius_list_bytes,
                .options = call.options,
                .progress = call.progress,
                .counts = call.wants.counts,
                .take = call.wants.take},
               report);
    index.add_fallback(queries.rows, report);
    report.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return report;
}

RadiusNeighbors collect_radius(std::int64_t q, bool f64,
                               const std::function<Report(const TakeRadiusRows&)>& fill,
                               const WholeAnswer* whole) {
    RadiusNeighbors all;
    all.queries = q;
    all.f64 = f64;
    all.offsets.reserve(static_cast<std::size_t>(q) + 1);
    all.offsets.push_back(0);
    all.report = fill([&](const RadiusRows& rows) {
        const std::int64_t added = rows.offsets[rows.count], before = all.offsets.back();
        const std::int64_t pairs = whole ? whole->pairs : -1;
        grow(all.ids, added, pairs);
        if (f64) grow(all.distances64, added, pairs);
        else grow(all.distances, added, pairs);
        for (std::int64_t i = 1; i <= rows.count; ++i)
            all.offsets.push_back(before + rows.offsets[i]);
        all.ids.insert(all.ids.end(), rows.ids, rows.ids + added);
        if (f64)
            all.distances64.insert(all.distances64.end(), rows.distances64,
                                   rows.distances64 + added);
        else all.distances.insert(all.distances.end(), rows.distances, rows.distances + added);
    });
    return all;
}

RadiusNeighbors collect_whole(std::int64_t q, bool f64, const Radius& r,
                              const std::function<Report(const RadiusWants&)>& fill) {
    WholeAnswer whole{q, f64, r.each.data ? "the radii" : fmt::format("{}", r.r)};
    return collect_radius(
        q, f64, [&](const TakeRadiusRows& take) { return fill({.take = &take, .whole = &whole}); },
        &whole);
}

RadiusCounts collect_counts(std::int64_t q, const std::function<Report(std::int64_t*)>& fill) {
    RadiusCounts all;
    all.counts.resize(static_cast<std::size_t>(q));
    all.report = fill(all.counts.data());
    return all;
}

namespace {

// Validated rows in the metric's form.
Report run_once(const MatrixView& points, const MetricSpec& metric, const RadiusCall& call) {
    const MatrixView* const queries = call.queries;
    const Options& options = call.options;
    ProgressMeter& progress = call.progress;
    const std::int64_t q = queries ? queries->rows : points.rows;
    const ElementType type =
        queries && queries->type == ElementType::f64 ? ElementType::f64 : points.type;
    const Shape shape{points.rows, q, points.cols, 1, type, false};
    std::vector<std::string> devices = devices_of(options);
    Report report;
    if (devices.size() > 1) {
        const DeviceGroup group(points, metric, std::move(devices), shape, options, false, progress,
                                {}, true);
        require_room(
            call, metric, points.rows, [&] { return queries ? *queries : points; },
            [&](const RadiusCall& part) { return run_radius(group, metric, part); });
        report = run_radius(group, metric, call);
        report.prepare_seconds = group.prepare_seconds();
    } else {
        const DeviceIndex index(points, metric, shape, options, false, false, progress, true);
        require_room(
            call, metric, points.rows, [&] { return queries ? *queries : points; },
            [&](const RadiusCall& part) { return run_radius(index, part); });
        report = run_radius(index, call);
        report.prepare_seconds = index.prepared().seconds;
    }
    report.seconds += report.prepare_seconds;
    return report;
}

}  // namespace

Report radius_once(const MatrixView& given_points, const MatrixView* given_queries, const Radius& r,
                   const Options& given, const RadiusWants& wants) {
    check_options(given);
    Options options = given;
    options.metric = named_or(given.metric, usual_radius_metric);
    const std::int64_t q = given_queries ? given_queries->rows : given_points.rows;
    const int threads = threads_of(options);
    ProgressMeter progress(options.progress,
                           static_cast<double>(q) * static_cast<double>(given_points.rows));
    const MetricSpec metric = validate_metric(options.metric, given_points, threads, progress);
    radii_of(r, q, metric);
    check_values(given_points, metric, "points", threads, progress);
    if (given_queries) check_values(*given_queries, metric, "queries", threads, progress);
    if (given_points.rows == 0 || q == 0) return radius_without_pairs(q, options, wants);
    std::vector<double> point_storage, query_storage;
    const MatrixView points = scaled_rows(given_points, metric, threads, progress, point_storage);
    const MatrixView queries =
        given_queries ? scaled_rows(*given_queries, metric, threads, progress, query_storage)
                      : points;
    Extent extent = extent_of(points, metric, threads, progress);
    if (given_queries) extent = join(extent, extent_of(queries, metric, threads, progress));
    const RadiusCall call{given_queries ? &queries : nullptr, r, options, progress, wants};
    return radius_in_range({metric, points, queries, key_range(metric, extent), call},
                           [&](const RadiusCall& part) { return run_once(points, metric, part); });
}

}  // namespace api

namespace {

void check(const MatrixView& points, const MatrixView& queries) {
    api::check_view(points, "points", 0);
    api::check_view(queries, "queries", 0);
    api::check_dimensions(points.cols, queries.cols);
}

}  // namespace

RadiusNeighbors radius(const MatrixView& points, const MatrixView& queries, const Radius& r,
                       const Options& options) {
    return api::guarded([&] {
        check(points, queries);
        return api::collect_whole(queries.rows, options.f64, r, [&](const api::RadiusWants& wants) {
            return api::radius_once(points, &queries, r, options, wants);
        });
    });
}

RadiusCounts radius_counts(const MatrixView& points, const MatrixView& queries, const Radius& r,
                           const Options& options) {
    return api::guarded([&] {
        check(points, queries);
        return api::collect_counts(queries.rows, [&](std::int64_t* counts) {
            return api::radius_once(points, &queries, r, options, {.counts = counts});
        });
    });
}

Report radius_blocks(const MatrixView& points, const MatrixView& queries, const Radius& r,
                     const Options& options, const TakeRadiusRows& take) {
    return api::guarded([&] {
        const TakeRadiusRows handed_on = machine::for_caller(take);
        check(points, queries);
        return api::radius_once(points, &queries, r, options, {.take = &handed_on});
    });
}

RadiusNeighbors radius_graph(const MatrixView& points, const Radius& r, const Options& options) {
    return api::guarded([&] {
        api::check_view(points, "points", 0);
        return api::collect_whole(points.rows, options.f64, r, [&](const api::RadiusWants& wants) {
            return api::radius_once(points, nullptr, r, options, wants);
        });
    });
}

RadiusCounts radius_graph_counts(const MatrixView& points, const Radius& r,
                                 const Options& options) {
    return api::guarded([&] {
        api::check_view(points, "points", 0);
        return api::collect_counts(points.rows, [&](std::int64_t* counts) {
            return api::radius_once(points, nullptr, r, options, {.counts = counts});
        });
    });
}

Report radius_graph_blocks(const MatrixView& points, const Radius& r, const Options& options,
                           const TakeRadiusRows& take) {
    return api::guarded([&] {
        const TakeRadiusRows handed_on = machine::for_caller(take);
        api::check_view(points, "points", 0);
        return api::radius_once(points, nullptr, r, options, {.take = &handed_on});
    });
}

}  // namespace kith
