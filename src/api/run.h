// One judged search on one device, into the caller's result: what search, graph and Index share.
#pragma once

#include <memory>

#include "cpu/backend.h"
#include "exact/problem.h"
#include "exact/progress.h"
#include "gpu/backend.h"
#include "kith/error.h"
#include "kith/types.h"

namespace kith::api {

// Points prepared on the device of `plan`.
struct Prepared {
    MetricSpec metric;
    Plan plan;  // as prepared: device, path, chunks
    std::int64_t n = 0, d = 0;
    ElementType type = ElementType::f32;
    std::shared_ptr<const cpu::Points> cpu;
    std::shared_ptr<const gpu::Points> gpu;
    std::vector<std::byte> host_copy;  // CPU search of points that lie on a device
    double seconds = 0;
};

// `own`: the points outlive the caller's memory.
Prepared prepare(const MatrixView& points, const MetricSpec& metric, const Plan& plan, bool own, const Options& options,
                 ProgressMeter& progress);

// Searches prepared points; with graph, `queries` is the points.
Report run(const Prepared& points, const MatrixView& queries, std::int64_t k, bool graph, const Plan& plan,
           const Options& options, ProgressMeter& progress, const NeighborsView& out);

// Where a plan has run on the CPU, and by how many threads.
void name_cpu(const Plan& plan, Report& report);

// Throws out_of_memory, saying what is needed and what is free, where a result would not fit on the host.
void check_result_memory(std::int64_t k, std::int64_t rows, std::int64_t cell_bytes);

// A result in vectors of the right type, from a function that fills a NeighborsView.
template <class Fill>
Neighbors collect(std::int64_t rows, std::int64_t k, bool f64, Fill fill) {
    Neighbors r;
    r.queries = rows;
    r.k = k;
    const auto cells = static_cast<std::size_t>(rows * k);
    check_result_memory(k, rows, 8 + (f64 ? 8 : 4));
    r.ids.resize(cells);
    if (f64) r.distances64.resize(cells);
    else r.distances.resize(cells);
    r.report = fill(
        NeighborsView{r.ids.data(), f64 ? static_cast<void*>(r.distances64.data()) : r.distances.data(), host_memory});
    return r;
}

}  // namespace kith::api
