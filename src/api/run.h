// One validated search on one device, into the caller's result: what search, graph and Index share.
#pragma once

#include <memory>

#include "cpu/backend.h"
#include "exact/metric_spec.h"
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

// `copy`: the points are copied, and outlive the caller's memory.
Prepared prepare(const MatrixView& points, const MetricSpec& metric, const Plan& plan, bool copy,
                 const Options& options, ProgressMeter& progress);

// A validated and planned call of one device.
struct Call {
    const MatrixView& queries;  // with graph, the points
    std::int64_t k;
    bool graph;
    const Plan& plan;
    const Options& options;
    ProgressMeter& progress;
    const NeighborsView& out;
    bool keys = false;  // distances are the distance keys, of f64
    bool only = false;  // the points serve no other
};

// Searches prepared points.
Report run(const Prepared& points, const Call& call);

// Where a plan has run on the CPU, and by how many threads.
void name_cpu(const Plan& plan, Report& report);

// Throws out_of_memory, saying what is needed and what is free, where a result would not fit on the
// host.
void check_result_memory(std::int64_t k, std::int64_t rows, std::int64_t cell_bytes);

// Calls attempt(share), where `share` is that of a GPU's free memory to plan with: all of it, and,
// where that was free no longer when it was asked for, as other searches or other libraries have
// taken it meanwhile, a half and a quarter of what is free then. attempt() sets `allocating` once
// it has a plan that may be repeated with less.
template <class Attempt>
auto with_less_memory(ProgressMeter& progress, Attempt attempt) {
    constexpr double least = 0.25;
    for (double share = 1;; share /= 2) {
        bool allocating = false;
        try {
            return attempt(share, allocating);
        } catch (const Error& error) {
            // What the caller's callback throws is not about this search's memory, and ends it.
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
