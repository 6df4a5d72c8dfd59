// The plan of a fused path, "hanak-fused": a kernel that computes distances and selects among them
// at once, so that there is no matrix; the direct filter's bound, refinement and retries do the
// rest, as of composed paths.
#include "papers/plan/fused.h"

#include <fmt/format.h>

#include <algorithm>

#include "exact/refuse.h"
#include "kith/error.h"
#include "papers/fused/fused_kernels.h"
#include "papers/plan/composed.h"

namespace kith::planner {

bool is_fused(const std::string& path) {
    return gpu::find_fused_kernel(path) != nullptr;
}

namespace {

// The fused kernels' registers hold lists beside sums: they have the steps of distance::with_norm
// alone.
bool is_norm(metric::Direct form) {
    return form == metric::Direct::squares || form == metric::Direct::sum ||
           form == metric::Direct::maximum || form == metric::Direct::powers;
}

}  // namespace

Plan fused(const Request& r, const Machine& machine) {
    refuse_other_than_direct(r, machine);
    if (!is_norm(r.metric.traits.direct))
        refuse(
            "path: '{}' serves sums of powers of absolute differences, and their maximum; other "
            "metrics with a "
            "direct form have composed paths, such as register-tiled+bits",
            r.path);
    const gpu::FusedKernel& kernel = *gpu::find_fused_kernel(r.path);
    // Lists are short: most of the budget is the filter's, whose tiles of queries these are.
    constexpr double of_filter = 0.875;
    constexpr double slower =
        4;  // than the direct filter, for most shapes; an NVIDIA H200, 2026-11-23, hanak-5.8
    Plan p = direct_plan(r, machine, of_filter, slower);
    const Machine::Device& device = machine.devices[static_cast<std::size_t>(p.device)];
    const std::int64_t n = p.chunk_points,
                       wanted = std::min(n, r.shape.k + (r.shape.graph ? 1 : 0)),
                       listed = gpu::fused_listed(kernel, n, wanted);
    if (listed < std::min(n, wanted + 1))
        refuse("path: '{}' keeps up to {} points of a query, more than which {} neighbours need",
               r.path, kernel.most_listed, r.shape.k);
    // A query has a list of candidates, and one of each part of the points.
    const double list = static_cast<double>(gpu::fused_list_bytes(listed)),
                 budget = device_budget(r, device), room = budget * (1 - of_filter),
                 least = 2 * list;
    if (least > room)
        throw Error(ErrorCode::out_of_memory,
                    fmt::format("memory: {:.0f} bytes; path '{}' needs {:.0f} for the lists "
                                "of one query",
                                budget, r.path, least / (1 - of_filter)));
    p.query_tile = std::min(p.query_tile, static_cast<std::int64_t>(room / least));
    const double candidates = list * static_cast<double>(p.query_tile);
    p.fused_lists = std::min(gpu::fused_most_lists(kernel, p.query_tile, n, device.multiprocessors),
                             static_cast<std::int64_t>((room - candidates) / list));
    p.workspace_bytes +=
        static_cast<std::int64_t>(candidates + list * static_cast<double>(p.fused_lists));
    p.distances = kernel.name;
    const std::int64_t parts =
        gpu::fused_parts(kernel, p.query_tile, n, device.multiprocessors, p.fused_lists).count;
    p.why += fmt::format(
        " Distances and selection at once by {}, {} of each query, {}.", kernel.name, listed,
        parts == 1 ? std::string("all points a block") : fmt::format("points in {} parts", parts));
    return p;
}

}  // namespace kith::planner
