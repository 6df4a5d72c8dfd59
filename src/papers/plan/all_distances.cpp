// The plan of all distances by a distance kernel alone (papers/plan.h, distances_plan).
#include <fmt/format.h>

#include <algorithm>

#include "exact/refuse.h"
#include "gpu/filter/levels.h"
#include "kith/error.h"
#include "papers/distance/tuning.h"
#include "papers/plan.h"
#include "papers/plan/composed.h"

namespace kith::papers {

namespace {

// Bytes of a pair: its f32 value, which becomes the distance, and its key.
constexpr double pair_bytes = 4 + 8;
// The words take what the direct filter's do.
constexpr double of_words = 0.5, slower = 16;

}  // namespace

Plan distances_plan(const planner::Request& r, const planner::Machine& machine) {
    const gpu::DistanceKernel* const kernel = gpu::find_distance_kernel(r.path);
    if (!kernel)
        refuse("path: '{}' is no distance kernel; expected one of {}", r.path, kernel_names());
    planner::refuse_other_than_direct(r, machine);
    planner::refuse_unserved(*kernel, r, machine);
    Plan p = planner::direct_plan(r, machine, of_words, slower);
    const double fixed =
                     kernel->expanded()
                         ? static_cast<double>(gpu::expanded_bytes(p.chunk_points, p.query_tile))
                         : 0,
                 each = pair_bytes * static_cast<double>(p.chunk_points);
    const std::int64_t queries = planner::matrix_queries(
        r, machine.devices[static_cast<std::size_t>(p.device)], {fixed, each, each}, p.query_tile);
    p.path = Path::exact;  // preparing the points makes no filter
    p.distances = r.path;
    p.matrix_queries = queries;
    p.workspace_bytes += static_cast<std::int64_t>(fixed + each * static_cast<double>(queries));
    p.attempts.clear();
    p.why = fmt::format("path {}: forced. All distances in f32, of {} queries at a time.", r.path,
                        queries);
    return p;
}

}  // namespace kith::papers
