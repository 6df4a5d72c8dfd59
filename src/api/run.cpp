// Runs a plan on its backend; see run.h.
#include "api/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "api/check/validate.h"
#include "api/data/host_view.h"
#include "api/guard.h"
#include "api/request.h"
#include "cpu/primitives/top_k.h"
#include "exact/refuse.h"
#include "exact/room.h"
#include "kith/error.h"
#include "kith/memory.h"
#include "machine/parallel.h"

namespace kith::api {

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void run_on_cpu(const Prepared& points, const Call& call, Report& report) {
    const auto& [queries, k, graph, plan, options, progress, out, keys, only] = call;
    std::vector<std::byte> storage;
    const MatrixView host_queries = on_host(queries, storage);
    const auto cells = static_cast<std::size_t>(queries.rows * k);
    const std::size_t bytes = cells * (options.f64 ? sizeof(double) : sizeof(float));
    const bool staged = out.device != host_memory;
    if (staged) check_result_memory(k, queries.rows, 8 + (options.f64 ? 8 : 4));
    std::vector<std::int64_t> ids(staged ? cells : 0);
    std::vector<std::byte> distances(staged && out.distances ? bytes : 0);
    std::int64_t* const to_ids = staged ? ids.data() : out.ids;
    void* const to = distances.empty() ? out.distances : distances.data();
    const cpu::Results results = keys ? cpu::Results(k, to_ids, static_cast<double*>(to))
                                      : cpu::Results(points.metric, k, to_ids, to, options.f64);
    cpu::search(*points.cpu, host_queries, graph, plan, progress, results, report, only);
    progress.throw_if_cancelled();
    if (staged) gpu::copy(out.ids, ids.data(), cells * sizeof(std::int64_t));
    if (!distances.empty()) gpu::copy(out.distances, distances.data(), bytes);
}

// Copies `count` rows of length `kept` to rows of length k, and fills the rest with `padding`.
template <class T>
void widen(const T* from, std::int64_t count, std::int64_t kept, std::int64_t k, T padding, T* to) {
    for (std::int64_t i = 0; i < count; ++i)
        std::fill(std::copy_n(from + i * kept, kept, to + i * k), to + (i + 1) * k, padding);
}

// A GPU search for more neighbours than there are points: it searches for all points, and the host
// adds the missing neighbours.
void run_for_all(const Prepared& points, const Call& call, Report& report) {
    const std::int64_t kept = points.n, rows = call.queries.rows, k = call.k;
    const bool f64 = call.options.f64;
    const NeighborsView& out = call.out;
    const auto cells = static_cast<std::size_t>(rows * k);
    const bool staged = out.device != host_memory;
    if (staged) check_result_memory(k, rows, 8 + (f64 ? 8 : 4));
    const Neighbors found = collect(rows, kept, f64, [&](const NeighborsView& into) {
        gpu::search(*points.gpu, {call.queries, kept, call.graph, call.plan, call.options.f64,
                                  call.options.stream, call.progress, into, report, call.keys});
        return Report{};
    });
    const auto put = [&](const auto& from, auto padding, void* target) {
        using T = decltype(padding);
        std::vector<T> storage(staged ? cells : 0);
        T* const to = staged ? storage.data() : static_cast<T*>(target);
        widen(from.data(), rows, kept, k, padding, to);
        if (staged) gpu::copy(target, to, cells * sizeof(T));
    };
    std::int64_t no_id = 0;
    double no_distance = 0;
    const cpu::Results nothing = call.keys
                                     ? cpu::Results(1, &no_id, &no_distance)
                                     : cpu::Results(points.metric, 1, &no_id, &no_distance, true);
    cpu::TopK none(1);
    nothing.put(0, none);
    put(found.ids, no_id, out.ids);
    if (out.distances && f64) put(found.distances64, no_distance, out.distances);
    else if (out.distances) put(found.distances, static_cast<float>(no_distance), out.distances);
}

}  // namespace

void check_result_memory(std::int64_t k, std::int64_t rows, std::int64_t cell_bytes) {
    require_cells(rows, k, cell_bytes, [&] {
        return fmt::format("k: {} for {} queries: the result in host memory", k, rows);
    });
}

void refuse_memory() {
    throw Error(ErrorCode::out_of_memory,
                fmt::format("memory: an allocation failed; {:.1f} MiB are free",
                            static_cast<double>(free_memory()) / (1 << 20)));
}

void name_cpu(const Plan& plan, Report& report) {
    report.threads = machine::available_threads(plan.threads);
    report.device =
        report.threads < plan.threads
            ? fmt::format("cpu ({}, {} of {} threads)", plan.isa, report.threads, plan.threads)
            : fmt::format("cpu ({}, {} thread{})", plan.isa, plan.threads,
                          plan.threads == 1 ? "" : "s");
}

Prepared prepare(const MatrixView& points, const MetricSpec& metric, const Plan& plan, bool copy,
                 const Options& options, ProgressMeter& progress) {
    const auto start = std::chrono::steady_clock::now();
    Prepared p;
    p.metric = metric;
    p.plan = plan;
    p.n = points.rows;
    p.d = points.cols;
    p.type = points.type;
    if (plan.device == host_memory) {
        const MatrixView host = on_host(points, p.host_copy);
        p.cpu = cpu::prepare(host, metric, plan, copy && p.host_copy.empty(), progress);
    } else {
        p.gpu =
            gpu::prepare(points, metric, plan, copy, options.stream, threads_of(options), progress);
    }
    p.seconds = seconds_since(start);
    return p;
}

Report run(const Prepared& points, const Call& call) {
    const auto& [queries, k, graph, plan, options, progress, out, keys, only] = call;
    if (!out.ids) refuse("out.ids: null; expected room for queries x k ids");
    if (options.enqueue) refuse("enqueue: serves selections; a search has finished on return");
    const auto start = std::chrono::steady_clock::now();
    Report report;
    report.path = path_name(plan);
    report.selector = plan.selector;
    report.queries = queries.rows;
    report.pairs = static_cast<double>(queries.rows) * static_cast<double>(points.n);
    if (points.cpu) {
        run_on_cpu(points, call, report);
        name_cpu(plan, report);
    } else {
        report.device =
            fmt::format("cuda:{} ({})", plan.device, gpu::device_facts(plan.device).name);
        if (k > points.n) run_for_all(points, call, report);
        else
            gpu::search(*points.gpu, {queries, k, graph, plan, options.f64, options.stream,
                                      progress, out, report, keys});
    }
    progress.throw_if_cancelled();
    report.seconds = seconds_since(start);
    return report;
}

}  // namespace kith::api
