// The plan of a composed path, "kuang-zhao+bits". A distance kernel makes the matrix of f32 values
// of some queries with all points of a chunk, and a selector takes the smallest of each. The direct
// filter's bound, refinement and retries do the rest.
#include "papers/plan/composed.h"

#include <fmt/format.h>

#include <algorithm>

#include "exact/refuse.h"
#include "gpu/filter/levels.h"
#include "gpu/filter/tuning.h"
#include "gpu/select/cluster/tuning.h"
#include "gpu/select/selectors.h"
#include "kith/error.h"
#include "papers/distance/distance_kernels.h"
#include "papers/distance/tuning.h"
#include "papers/plan.h"

namespace kith::planner {

namespace {

// Bytes of one query's values, of their copy in the selector's layout, and of the selector's
// workspace per value.
double row_bytes(const gpu::Selector& selector, std::int64_t n) {
    const double copies = selector.layout == gpu::SelectLayout::by_column ? 8 : 4;
    return static_cast<double>(n) * (copies + static_cast<double>(selector.per_value));
}
// In addition, the rest of its workspace, and the selected entries.
double bytes_per_query(const gpu::Selector& selector, std::int64_t n, std::int64_t listed) {
    return row_bytes(selector, n) +
           static_cast<double>(listed) * (12 + static_cast<double>(selector.per_neighbour)) +
           static_cast<double>(selector.per_row);
}

}  // namespace

void refuse_other_than_direct(const Request& r, const Machine& machine) {
    const std::vector<int> devices = choose_devices(r.device, r.data_device, machine);
    if (devices.size() != 1 || devices.front() == host_memory)
        refuse("path: '{}' runs on one GPU; device is {}", r.path, spelled(devices));
    if (r.metric.user) refuse("path: '{}' needs a built-in metric", r.path);
    if (r.metric.traits.direct == metric::Direct::none)
        refuse("path: '{}' serves metrics with a direct form in f32 only", r.path);
}

void refuse_unserved(const gpu::DistanceKernel& kernel, const Request& r, const Machine& machine) {
    if (kernel.expanded() && r.metric.traits.direct != metric::Direct::squares)
        refuse("path: '{}': {} serves sums of squared differences alone", r.path, kernel.name);
    if (kernel.expanded() && machine.products_absence)
        if (const std::string why = machine.products_absence(); !why.empty())
            refuse("path: '{}': {}", r.path, why);
}

Plan direct_plan(const Request& r, const Machine& machine, double part, double slower) {
    refuse_other_than_direct(r, machine);
    Request own = r;
    own.path = kith::name(Path::direct_f32);
    own.points.prepared = false;  // points without room on the device are streamed
    own.device = spelled(choose_devices(r.device, r.data_device, machine));
    own.memory = r.memory > 0
                     ? std::max<std::int64_t>(
                           1, static_cast<std::int64_t>(static_cast<double>(r.memory) * part))
                     : 0;
    own.share = r.share * part;
    try {
        const Plan p = make(own, machine);
        // Progress is polled once per tile of the direct filter.
        own.most_queries = gpu::tuning::responsive_queries(
            p.chunk_points, r.shape.d, slower * gpu::tuning::direct_cost(r.metric.traits.direct));
        if (r.most_queries > 0) own.most_queries = std::min(own.most_queries, r.most_queries);
        return p.query_tile <= own.most_queries ? p : make(own, machine);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::invalid_argument) throw;
        refuse("path: '{}': {}", r.path, error.what());
    }
}

std::int64_t matrix_queries(const Request& r, const Machine::Device& device,
                            const MatrixBytes& bytes, std::int64_t tile) {
    const double budget = device_budget(r, device), room = budget / 2 - bytes.fixed;
    if (bytes.each > room)
        throw Error(
            ErrorCode::out_of_memory,
            fmt::format(
                "memory: {:.0f} bytes; path '{}' needs {:.0f} for the distances of one query",
                budget, r.path, 2 * (bytes.each + bytes.fixed)));
    // Whole panels of queries, if there are several; one panel even of a larger matrix.
    constexpr std::int64_t panel = gpu::filter_tile_queries;
    const auto most = static_cast<std::int64_t>(gpu::tuning::most_matrix_bytes / bytes.row),
               with_room = static_cast<std::int64_t>(room / bytes.each);
    std::int64_t queries = std::min({std::max(most, panel), with_room, tile});
    if (queries > panel && queries < r.shape.q) queries -= queries % panel;
    return queries;
}

Plan composed(const Request& r, const Machine& machine) {
    const std::size_t plus = r.path.find('+');
    const std::string kernel = r.path.substr(0, plus), name = r.path.substr(plus + 1);
    const gpu::DistanceKernel* const distances = gpu::find_distance_kernel(kernel);
    if (!distances)
        refuse("path: '{}': '{}' is no distance kernel; expected one of {}", r.path, kernel,
               papers::kernel_names());
    const gpu::Selector* const selector = gpu::find_selector(name);
    if (!selector)
        refuse("path: '{}': '{}' is no selector of a GPU; kith info --selectors lists them", r.path,
               name);
    refuse_unserved(*distances, r, machine);
    // Half of the budget is for the filter, half for the matrix. The slowest kernels and selectors
    // take some sixteen times as long as the direct filter.
    constexpr double of_filter = 0.5, slower = 16;
    Plan p = direct_plan(r, machine, of_filter, slower);
    const Machine::Device& device = machine.devices[static_cast<std::size_t>(p.device)];
    const std::int64_t n = p.chunk_points,
                       wanted = std::min(n, r.shape.k + (r.shape.graph ? 1 : 0)),
                       most = selector->max_k > 0 ? std::min(selector->max_k, gpu::max_candidates)
                                                  : gpu::max_candidates,
                       listed = gpu::listed_points(n, wanted, most);
    const std::int64_t longest =
        gpu::longest_row(*selector, gpu::tuning::has_clusters(device.capability));
    if (n > longest)
        refuse(
            "path: '{}': {} serves rows of at most {} values on this device; there are {} points",
            r.path, name, longest, n);
    if (listed < std::min(n, wanted + 1))
        refuse("path: '{}': {} takes up to {} of a row, more than which {} neighbours need", r.path,
               name, most, r.shape.k);
    const double each = bytes_per_query(*selector, n, listed);
    const double fixed =
        distances->expanded() ? static_cast<double>(gpu::expanded_bytes(n, p.query_tile)) : 0;
    const std::int64_t queries =
        matrix_queries(r, device, {fixed, row_bytes(*selector, n), each}, p.query_tile);
    // Whole matrices in a tile, if there are several tiles.
    if (const std::int64_t tile = p.query_tile - p.query_tile % queries; p.query_tile < r.shape.q) {
        Request whole = r;
        whole.most_queries = tile;
        if (tile < p.query_tile) p = direct_plan(whole, machine, of_filter, slower);
    }
    p.distances = kernel;
    p.selector = name;
    p.matrix_queries = std::min(queries, p.query_tile);
    p.workspace_bytes +=
        static_cast<std::int64_t>(fixed + each * static_cast<double>(p.matrix_queries));
    p.why += fmt::format(" All distances of {} queries at a time by {}, {} of each by {}.",
                         p.matrix_queries, kernel, listed, name);
    return p;
}

}  // namespace kith::planner
