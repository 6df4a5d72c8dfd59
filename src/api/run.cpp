// Running a plan on its backend; see run.h.
#include "api/run.h"

#include <fmt/format.h>

#include <chrono>

#include "api/guard.h"
#include "api/validate.h"
#include "kith/error.h"
#include "kith/memory.h"
#include "machine/parallel.h"

namespace kith::api {

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void run_on_cpu(const Prepared& points, const MatrixView& queries, std::int64_t k, bool graph, const Plan& plan,
                const Options& options, ProgressMeter& progress, const NeighborsView& out, Report& report) {
    std::vector<std::byte> storage;
    const MatrixView host_queries = on_host(queries, storage);
    const auto cells = static_cast<std::size_t>(queries.rows * k);
    const std::size_t bytes = cells * (options.f64 ? sizeof(double) : sizeof(float));
    const bool staged = out.device != host_memory;
    if (staged) check_result_memory(k, queries.rows, 8 + (options.f64 ? 8 : 4));
    std::vector<std::int64_t> ids(staged ? cells : 0);
    std::vector<std::byte> distances(staged && out.distances ? bytes : 0);
    const cpu::Results results(points.metric, k, staged ? ids.data() : out.ids,
                               distances.empty() ? out.distances : distances.data(), options.f64);
    cpu::search(*points.cpu, host_queries, graph, plan, progress, results, report);
    progress.throw_if_cancelled();
    if (staged) gpu::copy(out.ids, ids.data(), cells * sizeof(std::int64_t));
    if (!distances.empty()) gpu::copy(out.distances, distances.data(), bytes);
}

}  // namespace

void check_result_memory(std::int64_t k, std::int64_t rows, std::int64_t cell_bytes) {
    // Smaller ones are not worth the question.
    constexpr std::int64_t least = 16 << 20;
    const std::int64_t bytes = rows * k * cell_bytes;
    if (bytes >= least) require_memory(bytes, fmt::format("k: {} for {} queries: the result in host memory", k, rows));
}

void refuse_memory() {
    throw Error(ErrorCode::out_of_memory, fmt::format("memory: an allocation failed; {:.1f} MiB are free",
                                                      static_cast<double>(free_memory()) / (1 << 20)));
}

void name_cpu(const Plan& plan, Report& report) {
    report.threads = machine::available_threads(plan.threads);
    report.device = report.threads < plan.threads
                        ? fmt::format("cpu ({}, {} of {} threads)", plan.isa, report.threads, plan.threads)
                        : fmt::format("cpu ({}, {} thread{})", plan.isa, plan.threads, plan.threads == 1 ? "" : "s");
}

Prepared prepare(const MatrixView& points, const MetricSpec& metric, const Plan& plan, bool own, const Options& options,
                 ProgressMeter& progress) {
    const auto start = std::chrono::steady_clock::now();
    Prepared p;
    p.metric = metric;
    p.plan = plan;
    p.n = points.rows;
    p.d = points.cols;
    p.type = points.type;
    if (plan.device == host_memory) {
        const MatrixView host = on_host(points, p.host_copy);
        p.cpu = cpu::prepare(host, metric, plan, own && p.host_copy.empty(), progress);
    } else {
        p.gpu = gpu::prepare(points, metric, plan, own, options.stream);
    }
    p.seconds = seconds_since(start);
    return p;
}

Report run(const Prepared& points, const MatrixView& queries, std::int64_t k, bool graph, const Plan& plan,
           const Options& options, ProgressMeter& progress, const NeighborsView& out) {
    if (!out.ids) throw Error(ErrorCode::invalid_argument, "out.ids: null; expected room for queries x k ids");
    const auto start = std::chrono::steady_clock::now();
    Report report;
    report.path = plan.path;
    report.queries = queries.rows;
    report.pairs = static_cast<double>(queries.rows) * static_cast<double>(points.n);
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
