// Running a plan on its backend; see run.h.
#include "api/run.h"

#include <fmt/format.h>

#include <chrono>

#include "api/validate.h"
#include "kith/error.h"
#include "machine/parallel.h"

namespace kith::api {

namespace {

// Distances that one task makes.
constexpr std::int64_t values_per_task = 1 << 15;

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Ranks to the distances of the caller's type.
template <class T>
void write_distances(const MetricSpec& metric, const std::vector<double>& ranks, int threads, T* out) {
    const auto n = static_cast<std::int64_t>(ranks.size());
    machine::parallel_for(threads, n, values_per_task, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i)
            out[i] = static_cast<T>(cpu::report_distance(metric, ranks[static_cast<std::size_t>(i)]));
    });
}

void run_on_cpu(const Prepared& points, const MatrixView& queries, std::int64_t k, bool graph, const Plan& plan,
                const Options& options, ProgressMeter& progress, const NeighborsView& out, Report& report) {
    std::vector<std::byte> storage;
    const MatrixView host_queries = on_host(queries, storage);
    const auto cells = static_cast<std::size_t>(queries.rows * k);
    std::vector<double> ranks(cells);
    std::vector<std::int64_t> ids(cells);
    cpu::search(*points.cpu, host_queries, k, graph, plan, progress, ids.data(), ranks.data(), report);
    progress.throw_if_cancelled();
    gpu::copy(out.ids, ids.data(), cells * sizeof(std::int64_t));
    if (!out.distances) return;
    const std::size_t bytes = cells * (options.f64 ? sizeof(double) : sizeof(float));
    std::vector<std::byte> distances(out.device == host_memory ? 0 : bytes);
    void* const target = out.device == host_memory ? out.distances : distances.data();
    if (options.f64) write_distances(points.metric, ranks, plan.threads, static_cast<double*>(target));
    else write_distances(points.metric, ranks, plan.threads, static_cast<float*>(target));
    if (target != out.distances) gpu::copy(out.distances, target, bytes);
}

}  // namespace

void name_cpu(const Plan& plan, Report& report) {
    report.threads = machine::available_threads(plan.threads);
    report.device = report.threads < plan.threads
                        ? fmt::format("cpu ({}, {} of {} threads)", plan.isa, report.threads, plan.threads)
                        : fmt::format("cpu ({}, {} threads)", plan.isa, plan.threads);
}

Prepared prepare(const MatrixView& points, const MetricSpec& metric, const Plan& plan, bool own,
                 const Options& options) {
    const auto start = std::chrono::steady_clock::now();
    Prepared p;
    p.metric = metric;
    p.plan = plan;
    p.n = points.rows;
    p.d = points.cols;
    p.type = points.type;
    if (plan.device == host_memory) {
        const MatrixView host = on_host(points, p.host_copy);
        p.cpu = cpu::prepare(host, metric, plan, own && p.host_copy.empty());
    } else {
        p.gpu = gpu::prepare(points, metric, plan, own, options.stream);
    }
    p.seconds = seconds_since(start);
    return p;
}

Report run(const Prepared& points, const MatrixView& queries, std::int64_t k, bool graph, const Plan& plan,
           const Options& options, const NeighborsView& out) {
    if (!out.ids) throw Error(ErrorCode::invalid_argument, "out.ids: null; expected room for queries x k ids");
    const auto start = std::chrono::steady_clock::now();
    Report report;
    report.path = plan.path;
    report.queries = queries.rows;
    report.pairs = static_cast<double>(queries.rows) * static_cast<double>(points.n);
    ProgressMeter progress(options.progress, report.pairs);
    if (points.cpu) {
        run_on_cpu(points, queries, k, graph, plan, options, progress, out, report);
        name_cpu(plan, report);
    } else {
        report.device = fmt::format("cuda:{} ({})", plan.device, gpu::device_name(plan.device));
        gpu::search(*points.gpu, queries, k, graph, plan, options.f64, options.stream, progress, out, report);
    }
    progress.throw_if_cancelled();
    report.seconds = seconds_since(start);
    return report;
}

}  // namespace kith::api
