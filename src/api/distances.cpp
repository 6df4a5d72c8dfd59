// The full distance matrix: validates, plans, prepares, runs. A distance kernel of the papers gives
// estimates in f32 in place of canonical distances.
#include "kith/distances.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "api/check/magnitudes.h"
#include "api/check/validate.h"
#include "api/data/empty.h"
#include "api/data/host_view.h"
#include "api/data/rows.h"
#include "api/group/device_group.h"
#include "api/guard.h"
#include "api/request.h"
#include "api/run.h"
#include "exact/refuse.h"
#include "kith/memory.h"
#include "papers/plan.h"
#include "plan/planner.h"

namespace kith {

namespace {

using api::Prepared;

// Bytes of rows per block passed to the caller, on the CPU and on a GPU.
constexpr std::int64_t block_bytes = 64 << 20, device_block_bytes = std::int64_t{1} << 30;

std::int64_t element_bytes(const Options& options) {
    return options.f64 ? 8 : 4;
}

bool by_kernel(const Options& options) {
    return papers::is_kernel(options.path);
}

void check_path(const Options& options) {
    if (options.path.empty() || options.path == name(Path::exact)) return;
    if (!by_kernel(options))
        refuse(
            "path: '{}'; all distances are computed by path exact, or estimated in f32 by one of "
            "{}",
            options.path, papers::kernel_names());
    if (!papers::built()) refuse("path: '{}': {}", options.path, papers::not_built);
    if (options.f64)
        refuse("f64: true; path '{}' estimates distances in f32, expected false", options.path);
}

void check(const MatrixView& points, const MatrixView& queries, const Options& options) {
    api::check_view(points, "points", 0);
    api::check_view(queries, "queries", 0);
    api::check_dimensions(points.cols, queries.cols);
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(points.rows, queries.rows, &bytes) ||
        __builtin_mul_overflow(bytes, element_bytes(options), &bytes))
        refuse("distances: {} x {}; their bytes pass 2^63", queries.rows, points.rows);
    check_path(options);
    if (!options.selector.empty())
        refuse("selector: '{}'; nothing is selected from a matrix of distances", options.selector);
    if (options.enqueue)
        refuse("enqueue: serves selections; a matrix of distances has been written on return");
}

void on_cpu(const Prepared& points, const DistancesRequest& request) {
    std::vector<std::byte> storage;
    DistancesRequest here = request;
    here.queries = api::on_host(request.queries, storage);
    const DistancesView& out = request.out;
    if (out.device == host_memory) return cpu::distances(*points.cpu, here);
    // Rows of a result in device memory go through the host.
    const std::int64_t element = request.f64 ? 8 : 4, row = points.n * element,
                       most = std::max<std::int64_t>(1, block_bytes / row);
    std::vector<std::byte> rows(static_cast<std::size_t>(std::min(most, here.queries.rows) * row));
    const MatrixView all = here.queries;
    here.out = {rows.data(), points.n, host_memory};
    for (std::int64_t first = 0; first < all.rows; first += most) {
        const std::int64_t count = std::min(most, all.rows - first);
        here.queries = api::rows_of(all, first, count);
        cpu::distances(*points.cpu, here);
        request.progress.throw_if_cancelled();
        for (std::int64_t i = 0; i < count; ++i)
            gpu::copy(static_cast<char*>(out.data) + (first + i) * out.stride * element,
                      rows.data() + i * row, static_cast<std::size_t>(row));
    }
}

void run(const Prepared& points, const DistancesRequest& request) {
    if (points.cpu) on_cpu(points, request);
    else gpu::distances(*points.gpu, request);
    request.progress.throw_if_cancelled();
}

// A prepared call: points, and queries in the metric's form.
struct Ready {
    const Prepared& points;
    const MatrixView& queries;
    const Plan& plan;
    const Options& options;
    ProgressMeter& progress;
    bool& allocating;  // see api::with_less_memory

    // Computes queries [first, first + count).
    void run_rows(std::int64_t first, std::int64_t count, const DistancesView& out) const {
        run(points, {api::rows_of(queries, first, count), plan, options.f64, options.stream,
                     progress, out});
    }
};

Plan plan_of(const Shape& shape, const MetricSpec& metric, const Options& options, int data_device,
             double share, bool& allocating) {
    if (!by_kernel(options))
        return api::plan_search(shape, metric, options, data_device, share, allocating);
    planner::Request asked = api::request(shape, metric, options, data_device);
    asked.share = share;
    Plan plan = papers::distances_plan(asked, api::machine(options.device));
    allocating = options.memory == 0;
    return plan;
}

Report report_of(const Ready& ready, const Prepared& prepared, std::int64_t points) {
    const Plan& plan = ready.plan;
    Report report;
    report.queries = ready.queries.rows;
    report.pairs = static_cast<double>(report.queries) * static_cast<double>(points);
    if (by_kernel(ready.options)) {
        report.path = plan.distances;
    } else {
        report.path = name(plan.path);
        report.scanned = report.queries;
        report.candidates = report.pairs;
    }
    report.prepare_seconds = prepared.seconds;
    if (prepared.cpu) api::name_cpu(plan, report);
    else
        report.device =
            fmt::format("cuda:{} ({})", plan.device, gpu::device_facts(plan.device).name);
    return report;
}

// Validates, plans, prepares, and calls work(ready).
template <class Work>
Report with_points(const MatrixView& given_points, const MatrixView& given_queries,
                   const Options& asked, const Work& work) {
    const auto start = std::chrono::steady_clock::now();
    Options options = asked;
    const bool estimates = by_kernel(options);
    if (!estimates) options.path = name(Path::exact);
    const int threads = api::threads_of(options);
    ProgressMeter progress(options.progress, static_cast<double>(given_queries.rows) *
                                                 static_cast<double>(given_points.rows));
    MetricSpec metric = api::validate_metric(options.metric, given_points, threads, progress);
    api::check_values(given_points, metric, "points", threads, progress);
    api::check_values(given_queries, metric, "queries", threads, progress);
    planner::choose_device(options.device, given_points.device,
                           api::machine(options.device));  // exactly one
    if (api::has_no_pairs(given_points, given_queries))
        return api::report_without_pairs(options, given_queries.rows);
    std::vector<double> point_storage, query_storage;
    const MatrixView points =
                         api::scaled_rows(given_points, metric, threads, progress, point_storage),
                     queries =
                         api::scaled_rows(given_queries, metric, threads, progress, query_storage);
    metric.wide =
        !estimates &&
        api::key_range(metric, api::join(api::extent_of(points, metric, threads, progress),
                                         api::extent_of(queries, metric, threads, progress)))
            .is_left();
    if (metric.wide) options = api::on_cpu(options);
    const Shape shape{points.rows, queries.rows, points.cols, 1, points.type, false};
    return api::with_less_memory(progress, [&](double share, bool& allocating) {
        const Plan plan = plan_of(shape, metric, options, points.device, share, allocating);
        const Prepared prepared = api::prepare(points, metric, plan, false, options, progress);
        const Ready ready{prepared, queries, plan, options, progress, allocating};
        work(ready);
        Report report = report_of(ready, prepared, points.rows);
        report.seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        return report;
    });
}

Report into(const MatrixView& points, const MatrixView& queries, const Options& options,
            DistancesView out) {
    const bool none = api::has_no_pairs(points, queries);
    if (!out.data && !none) refuse("out.data: null; expected room for queries x points distances");
    api::check_device(out.device, "out");
    if (out.stride == 0) out.stride = points.rows;
    if (out.stride < points.rows)
        refuse("out.stride: {}; expected at least the {} points", out.stride, points.rows);
    const auto element = static_cast<std::size_t>(element_bytes(options));
    if (!none && api::pass_64_bits(queries.rows, points.rows, out.stride, element))
        refuse("out.stride: {}; {} rows of {} distances so far apart pass 2^63 bytes", out.stride,
               queries.rows, points.rows);
    return with_points(points, queries, options,
                       [&](const Ready& ready) { ready.run_rows(0, queries.rows, out); });
}

}  // namespace

Report distances_into(const MatrixView& points, const MatrixView& queries, const Options& options,
                      const DistancesView& out) {
    return api::guarded([&] {
        check(points, queries, options);
        return into(points, queries, options, out);
    });
}

Distances distances(const MatrixView& points, const MatrixView& queries, const Options& options) {
    return api::guarded([&] {
        check(points, queries, options);
        Distances result;
        result.queries = queries.rows;
        result.points = points.rows;
        const std::int64_t cells = queries.rows * points.rows;
        require_memory(cells * element_bytes(options),
                       fmt::format("distances: {} x {} in host memory", queries.rows, points.rows));
        if (options.f64) result.values64.resize(static_cast<std::size_t>(cells));
        else result.values.resize(static_cast<std::size_t>(cells));
        result.report =
            into(points, queries, options,
                 {options.f64 ? static_cast<void*>(result.values64.data()) : result.values.data()});
        return result;
    });
}

Report distances_by_rows(
    const MatrixView& points, const MatrixView& queries, const Options& options,
    const std::function<void(std::int64_t first, std::int64_t count, const void* rows)>& take) {
    return api::guarded([&] {
        check(points, queries, options);
        if (!take) refuse("take: empty; expected a function of rows");
        const auto by_blocks = [&](const Ready& ready) {
            // A GPU converts its points, or receives them, again for each block.
            const std::int64_t held = ready.plan.device == host_memory ? block_bytes
                                                                       : device_block_bytes,
                               row = points.rows * element_bytes(options),
                               most = std::clamp<std::int64_t>(
                                   std::min(held, free_memory() / 4) / row, 1, queries.rows);
            require_memory(most * row, fmt::format("distances: {} rows of {} in host memory", most,
                                                   points.rows));
            std::vector<std::byte> rows(static_cast<std::size_t>(most * row));
            const DistancesView out{rows.data(), points.rows, host_memory};
            for (std::int64_t first = 0; first < queries.rows; first += most) {
                const std::int64_t count = std::min(most, queries.rows - first);
                ready.run_rows(first, count, out);
                ready.allocating = false;  // blocks already delivered are not recomputed
                machine::for_caller(take)(first, count, rows.data());
            }
        };
        return with_points(points, queries, options, by_blocks);
    });
}

}  // namespace kith
