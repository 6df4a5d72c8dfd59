// Graph rows that begin with their own point; see self.h.
#include "api/data/self.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include "api/check/validate.h"
#include "api/data/host_view.h"
#include "api/request.h"
#include "cpu/metric/distance_keys.h"
#include "cpu/primitives/top_k.h"
#include "cpu/search/results.h"
#include "exact/report/watched.h"
#include "gpu/search/own_rows.h"

namespace kith::api {

namespace {

constexpr std::int64_t rows_per_task = 64;

struct SelfDistances {
    std::vector<std::int64_t> ids;  // -1 for a point with a NaN coordinate
    std::vector<double> distances;
};

// Each point's canonical distance to itself.
SelfDistances self_distances(const MetricSpec& metric, const MatrixView& view, int threads,
                             ProgressMeter& progress) {
    std::vector<std::byte> storage;
    const MatrixView points = on_host(view, storage);
    const auto n = static_cast<std::size_t>(points.rows);
    SelfDistances own{std::vector<std::int64_t>(n), std::vector<double>(n)};
    const cpu::Results results(metric, 1, own.ids.data(), own.distances.data(), true);
    const std::int64_t tasks = (points.rows + rows_per_task - 1) / rows_per_task;
    watched_tasks(threads, tasks, progress, "search", [&](std::int64_t task, int worker) {
        cpu::DistanceKeys distance_keys(metric, cpu::best_isa());
        cpu::RowBlock query(1, points.cols), point(1, points.cols);
        for (std::int64_t i = task * rows_per_task;
             i < std::min(points.rows, (task + 1) * rows_per_task); ++i) {
            if (progress.cancelled()) return;
            cpu::TopK itself(1);
            distance_keys.load(points, i, 1, query);
            if (!query.nan()[0]) {
                distance_keys.load_points(points, i, 1, point);
                double rank = 0;
                distance_keys.compute(query, 0, point, 1, &rank);
                itself.push(rank, i);
            }
            results.put(i, itself);
            if (worker == 0) progress.poll("search");
        }
    });
    progress.throw_if_cancelled();
    return own;
}

// Puts the point itself before the others; an empty row stays empty.
template <class T, class First>
void interleave(const T* others, std::int64_t n, std::int64_t k, const SelfDistances& own,
                First first, T* out) {
    const std::int64_t stride = std::max<std::int64_t>(1, k - 1);
    for (std::int64_t i = 0; i < n; ++i) {
        const bool absent = own.ids[static_cast<std::size_t>(i)] < 0;
        out[i * k] = absent ? others[i * stride] : first(i);
        std::copy_n(others + i * stride, k - 1, out + i * k + 1);
    }
}

}  // namespace

Report with_self(const MetricSpec& metric, const MatrixView& points, std::int64_t k,
                 const Options& options, ProgressMeter& progress, const NeighborsView& out,
                 const Others& others_of) {
    const auto start = std::chrono::steady_clock::now();
    const std::int64_t n = points.rows;
    const std::int64_t searched = searched_k(k, true, options);
    Neighbors others = collect(n, searched, options.f64, [&](const NeighborsView& into) {
        return others_of(searched, into);
    });
    const SelfDistances own = self_distances(metric, points, threads_of(options), progress);
    const auto cells = static_cast<std::size_t>(n * k);
    const bool host = out.device == host_memory;

    std::vector<std::int64_t> ids(host ? 0 : cells);
    std::int64_t* const to = host ? out.ids : ids.data();
    interleave(
        others.ids.data(), n, k, own, [](std::int64_t i) { return i; }, to);
    if (!host) gpu::copy(out.ids, to, cells * sizeof(std::int64_t));
    const auto distances_of = [&](auto* from) {
        using T = std::remove_cvref_t<decltype(*from)>;
        std::vector<T> values(host ? 0 : cells);
        T* const target = host ? static_cast<T*>(out.distances) : values.data();
        const auto first = [&](std::int64_t i) {
            return static_cast<T>(own.distances[static_cast<std::size_t>(i)]);
        };
        interleave(from, n, k, own, first, target);
        if (!host) gpu::copy(out.distances, target, cells * sizeof(T));
    };
    if (out.distances && options.f64) distances_of(others.distances64.data());
    else if (out.distances) distances_of(others.distances.data());
    others.report.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return others.report;
}

namespace {

// On the points' own device; nothing where it does not make such rows.
std::optional<Report> rows_on_device(const Prepared& prepared, const Call& call) {
    if (!prepared.gpu || call.keys || call.options.memory > 0) return std::nullopt;
    const auto start = std::chrono::steady_clock::now();
    const auto rows = gpu::OwnRows::make(prepared.gpu, call.k, call.options.f64,
                                         call.out.distances != nullptr, call.options.stream);
    const int to = call.out.device;
    if (!rows || (to != host_memory && to != rows->others().device)) return std::nullopt;
    const NeighborsView others = rows->others();
    Report report =
        run(prepared, {call.queries, searched_k(call.k, true, call.options), true, call.plan,
                       call.options, call.progress, others, false, call.only});
    rows->put(call.out);
    report.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return report;
}

}  // namespace

Report run_rows(const Prepared& prepared, const Call& call) {
    if (!call.graph || !call.options.include_self) return run(prepared, call);
    if (std::optional<Report> report = rows_on_device(prepared, call)) return *report;
    return with_self(prepared.metric, call.queries, call.k, call.options, call.progress, call.out,
                     [&](std::int64_t searched, const NeighborsView& into) {
                         return run(prepared, {call.queries, searched, true, call.plan,
                                               call.options, call.progress, into, call.keys});
                     });
}

}  // namespace kith::api
