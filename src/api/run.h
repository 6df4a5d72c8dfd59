// Runs one validated search on one device, into the caller's result; shared by search, graph and
// Index.
#pragma once

#include <memory>

#include "cpu/backend.h"
#include "exact/metric_spec.h"
#include "exact/report/progress.h"
#include "gpu/backend.h"
#include "kith/error.h"
#include "kith/types.h"

namespace kith::api {

// Points prepared on the device of `plan`.
struct Prepared {
    MetricSpec metric;
    Plan plan;  // of the preparation: device, path, chunks
    std::int64_t n = 0, d = 0;
    ElementType type = ElementType::f32;
    std::shared_ptr<const cpu::Points> cpu;
    std::shared_ptr<const gpu::Points> gpu;
    std::vector<std::byte> host_copy;  // for a CPU search of points in device memory
    double seconds = 0;
};

// Prepares points. `copy`: the points are copied, and outlive the caller's memory.
Prepared prepare(const MatrixView& points, const MetricSpec& metric, const Plan& plan, bool copy,
                 const Options& options, ProgressMeter& progress);

// A validated and planned call on one device.
struct Call {
    const MatrixView& queries;  // for a graph, the points
    std::int64_t k;
    bool graph;
    const Plan& plan;
    const Options& options;
    ProgressMeter& progress;
    const NeighborsView& out;
    bool keys = false;  // distances are the distance keys, in f64
    bool only = false;  // the points serve no other call
};

// Searches prepared points.
Report run(const Prepared& points, const Call& call);

// Records in the report that a plan ran on the CPU, and with how many threads.
void name_cpu(const Plan& plan, Report& report);

// Throws out_of_memory, naming the needed and the free memory, if a result would not fit on the
// host.
void check_result_memory(std::int64_t k, std::int64_t rows, std::int64_t cell_bytes);

// Calls attempt(share, allocating) with shares of a GPU's free memory to plan with: first all of
// it, then a half and a quarter. It retries if allocation failed although the memory was planned as
// free, because other searches or libraries may have taken it. attempt() sets `allocating` once it
// has a plan that may be repeated with less.
template <class Attempt>
auto with_less_memory(ProgressMeter& progress, Attempt attempt) {
    constexpr double least = 0.25;
    for (double share = 1;; share /= 2) {
        bool allocating = false;
        try {
            return attempt(share, allocating);
        } catch (const Error& error) {
            // An exception of the caller's callback is unrelated to memory and ends the search.
            const bool again = error.code() == ErrorCode::out_of_memory && !progress.cancelled();
            if (!again || !allocating || share <= least) throw;
        }
        progress.restart();
    }
}

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
    r.report = fill(NeighborsView{
        r.ids.data(), f64 ? static_cast<void*>(r.distances64.data()) : r.distances.data(),
        host_memory});
    return r;
}

}  // namespace kith::api
