// The tiles of a GPU: as large as its memory allows, by the functions that the run itself allocates
// with.
#include "plan/gpu_tiles.h"

#include <fmt/format.h>

#include <algorithm>

#include "exact/bounds/box_trial.h"
#include "exact/refuse.h"
#include "gpu/filter/dense/value_groups.h"
#include "gpu/filter/levels.h"
#include "gpu/filter/tuning.h"
#include "gpu/search/strategies.h"
#include "gpu/search/tuning.h"
#include "kith/error.h"

namespace kith::planner {

namespace {

constexpr std::int64_t most_points = 0x7fffffff;  // whose ids have 32 bits

// A product of sizes, or the largest that 64 bits hold.
std::int64_t clamped(double product) {
    return static_cast<std::int64_t>(std::min(product, 9e18));
}

// The matrix instructions of a GPU: those that were forced, else the best of its kind.
std::string gpu_isa(const std::string& forced, const Machine::Device& device) {
    if (forced.rfind("sm_", 0) != 0) return device.capability == 90 ? "sm_90a" : "sm_80";
    if (forced == "sm_90a" && device.capability != 90)
        refuse("isa: 'sm_90a' runs on compute capability 9.0 only; this device has {}.{}",
               device.capability / 10, device.capability % 10);
    return forced;
}

// Bytes of workspace for tiles of that size.
double gpu_workspace(const Request& r, const Machine::Device& device, Path path, std::int64_t q,
                     std::int64_t points) {
    namespace t = gpu::tuning;
    const Shape& s = r.shape;
    const bool filter = path != Path::exact;
    const double tile = filter ? t::filter_bytes(path, q, points, s.d, s.k, device.multiprocessors)
                               : t::scan_bytes(q, points, s.d, s.k, device.multiprocessors);
    const double matrix = r.metric.traits.whole_vector ? t::matrix_bytes(s.d) : 0;
    const double factor =
        filter && r.metric.traits.factored ? t::factor_bytes(std::max(q, points), s.d) : 0;
    return tile + t::query_bytes(q, s.d, static_cast<std::int64_t>(size_of(s.type)), s.k) + matrix +
           factor;
}

// Bytes of a coordinate of the points.
std::int64_t element_of(const Request& r) {
    return r.points.element > 0 ? r.points.element
                                : static_cast<std::int64_t>(size_of(r.shape.type));
}

// Bytes on the device of points that stay in host memory: their int8 form, or else their vectors in
// the filter of `path`.
double held_bytes(const Request& r, HostPoints held, Path path) {
    namespace t = gpu::tuning;
    if (held == HostPoints::none) return 0;
    const bool bytes = held == HostPoints::bytes;
    return t::host_point_bytes(r.shape.d, bytes ? Path::gemm_i8 : path, r.metric.has_aux) *
               static_cast<double>(r.shape.n) +
           (bytes ? t::listed_bytes(r.shape.d, element_of(r)) : 0);
}

// True if points that have no room on the device stay in host memory, where the filter's candidates
// are read. They must be prepared, as all of them are read once for it. A scan and a user's metric
// read all of them in each search anyway. Paths that arrange the points otherwise (a tree, a PCA
// projection, composed and fused ones) stream.
bool stay_on_host(const Request& r, const Machine::Device& device, Path path, double budget) {
    namespace t = gpu::tuning;
    if (!r.points.prepared || r.points.chunk > 0 || r.metric.user || r.shape.n > most_points)
        return false;
    if (path != Path::gemm_f16 && path != Path::direct_f32) return false;
    Request least = r;
    least.shape.k = std::min(t::host_points_k, r.shape.n);
    return held_bytes(r, HostPoints::vectors, path) +
               gpu_workspace(least, device, path, t::host_points_queries, r.shape.n) <=
           budget;
}

// True if the int8 form of such points has room on the device where their fp16 vectors have none.
// It then answers, and for the queries that it leaves the points stream in chunks.
bool stays_in_bytes(const Request& r, const Machine::Device& device, Path path, double budget) {
    namespace t = gpu::tuning;
    const Shape& s = r.shape;
    const metric::Gemm form = metric::product_form(r.metric.traits);
    if (!r.points.prepared || r.points.chunk > 0 || r.metric.user || r.all_points ||
        !r.leaves_out || !r.path.empty())
        return false;
    if (s.n < t::least_listed_points || s.n > most_points) return false;
    if (s.d < t::least_listed_dimensions || s.d > t::most_listed_dimensions) return false;
    if (path != Path::gemm_f16 || device.capability != 90 || r.isa == "sm_80") return false;
    if (form == metric::Gemm::cross_entropy || r.metric.traits.factored) return false;
    Request least = r;
    least.shape.k = t::host_points_k;
    const double left = budget - held_bytes(r, HostPoints::bytes, path);
    return 2 * gpu_workspace(least, device, Path::gemm_i8, t::host_points_queries,
                             t::listed_chunk) <=
               left &&
           4 * t::point_bytes(s.d, element_of(r), path, true) *
                   static_cast<double>(t::listed_chunk) <=
               left;
}

// The part of points without room on the device that is kept there.
HostPoints choose_host_points(const Request& r, const Machine::Device& device, Path path,
                              double budget) {
    return stay_on_host(r, device, path, budget)     ? HostPoints::vectors
           : stays_in_bytes(r, device, path, budget) ? HostPoints::bytes
                                                     : HostPoints::none;
}

// Bytes of the symmetric schedule in addition to the lists of all queries: results in both orders,
// thresholds of columns.
double symmetric_bytes(const Shape& s) {
    return static_cast<double>(s.n) * (12 * static_cast<double>(s.k) + 12);
}

// True if every value of the queries is computed by f32 units, and none by matrix units, which read
// points more slowly. `left`: bytes beyond what the tiles take.
bool takes_values(const Request& r, const Machine::Device& device, const Plan& p, double left) {
    const Shape& s = r.shape;
    const std::int64_t wanted = std::min(s.n, s.k + (s.graph ? 1 : 0));
    // Not of clusters: a group of values is a run of positions, and would hold the neighbours of a
    // query together.
    const bool has_values = p.path != Path::clustered && gpu::tuning::takes_products(p.path);
    return has_values && r.isa.empty() && !p.symmetric && !r.all_points &&
           gpu::value_pass_serves(s.q, p.chunk_points, gpu::filter_width(s.d, 1), wanted,
                                  device.multiprocessors) &&
           gpu::tuning::value_pass_bytes(s.q, p.chunk_points, device.multiprocessors) <= left;
}

constexpr double gib = 1 << 30;

// Where the points lie. `all`: bytes that all of them would take on the device.
std::string why_points(const Shape& s, const Plan& p, double all) {
    const double elements = static_cast<double>(s.n) * static_cast<double>(s.d) *
                            static_cast<double>(size_of(s.type)),
                 held = static_cast<double>(p.held_bytes);
    switch (p.host_points) {
        case HostPoints::vectors:
            return fmt::format(
                "points stay in host memory ({:.2f} GiB), where those that pass the filter are "
                "read; what the filter "
                "needs of them is on the device ({:.2f} GiB). ",
                elements / gib, held / gib);
        case HostPoints::bytes:
            return fmt::format(
                "points stay in host memory ({:.2f} GiB); their numbers of 8 bits are on the "
                "device ({:.2f} GiB), what "
                "passes is read, and queries that these leave stream the points in chunks of {}. ",
                elements / gib, held / gib, p.chunk_points);
        case HostPoints::none:
            break;
    }
    return p.chunk_points < s.n
               ? fmt::format("points stream in chunks of {}: all take {:.2f} GiB. ", p.chunk_points,
                             all / gib)
               : "points stay on the device. ";
}

// The sentences about tiles in Plan::why. `spread`: bytes of a filter in the points' own order in
// addition to that of their clusters, 0 if it has no room; `in_clusters`: it would serve.
std::string why_tiles(const Shape& s, const Plan& p, double per_point, double spread,
                      bool in_clusters, double budget) {
    std::string why = why_points(s, p, per_point * static_cast<double>(s.n));
    if (p.matrix_queries > 0)
        why +=
            "every value of so few queries, for which the points are read once, in place of matrix "
            "units and samples. ";
    if (spread > 0)
        why += fmt::format(
            "a filter in the points' own order beside that of their clusters, {:.2f} GiB of the "
            "workspace. ",
            spread / gib);
    else if (in_clusters)
        why += "the filter of their clusters, as one in their own order has no room beside it. ";
    if (p.symmetric) why += "each tile of pairs serves its rows and its columns. ";
    return why + fmt::format("tiles of {} queries x {} points, within {:.2f} GiB.", p.query_tile,
                             p.point_tile, budget / gib);
}

// The share of a GPU's free memory that a search may use.
constexpr double of_free = 0.85;

}  // namespace

double device_budget(const Request& r, const Machine::Device& device) {
    return r.memory > 0
               ? static_cast<double>(std::max<std::int64_t>(r.memory - r.points.late_bytes, 1))
               : of_free * r.share * static_cast<double>(device.free_bytes);
}

bool gpu_tree_saves(const Request& r, const Machine::Device& device) {
    namespace t = gpu::tuning;
    const Shape& s = r.shape;
    if (s.n > most_points || s.k > std::min(s.n / t::least_points_per_neighbour, t::most_tree_k))
        return false;
    if (r.all_points || (r.points.chunk > 0 && r.points.chunk < s.n)) return false;
    const auto n = static_cast<double>(s.n);
    // It holds all points, in addition to what a filter of all queries takes.
    const auto element = static_cast<std::int64_t>(size_of(s.type));
    const double bytes =
        t::tree_bytes(s.n, s.d) + t::point_bytes(s.d, element, Path::gemm_f16, true) * n;
    const double free = r.memory > 0 ? static_cast<double>(r.memory)
                                     : r.share * static_cast<double>(device.free_bytes);
    return r.points.forms.tree == Form::ready || bytes <= 0.4 * free;
}

bool gpu_tree_may_pay(const Request& r, const Machine::Device& device, bool direct) {
    namespace t = gpu::tuning;
    const Shape& s = r.shape;
    if (!gpu_tree_saves(r, device)) return false;
    if (r.points.forms.boxes == Form::ready) return true;
    if (s.d > exact::tree_dimensions || !t::tree_leaves_out(s.n, s.d, direct)) return false;
    return r.points.forms.tree == Form::ready || r.points.prepared ||
           static_cast<double>(s.q) * static_cast<double>(s.n) >= t::tree_pairs(s.n, direct);
}

namespace {

// Decides where the points lie: all on the device, streaming, or in host memory. Returns the bytes
// of the budget for tiles. `per_point`: bytes of a point on the device.
double place_points(const Request& r, const Machine::Device& device, double budget,
                    double per_point, Plan& p) {
    namespace t = gpu::tuning;
    const Shape& s = r.shape;
    const double all = per_point * static_cast<double>(s.n);
    double workspace = budget - all;
    p.chunk_points = s.n;
    const bool scarce = are_scarce_on_device(r, all, budget),
               kept = r.points.host != HostPoints::none;
    p.host_points = kept || !scarce ? r.points.host : choose_host_points(r, device, p.path, budget);
    // A radius, more neighbours than bytes serve, and what is asked for stream.
    if (p.host_points == HostPoints::bytes && p.path == Path::gemm_f16 && r.path.empty() &&
        !r.all_points && s.k < t::most_listed_k && gpu_isa(r.isa, device) == "sm_90a")
        p.path = Path::gemm_i8;
    const double held = held_bytes(r, p.host_points, kept ? r.points.path : p.path);
    p.held_bytes = clamped(held);
    if (p.host_points != HostPoints::none) {
        workspace = budget - held;
        // An Index holds them already: unless a budget was asked for, free memory excludes them.
        if (kept && r.memory == 0) workspace = std::max(workspace, budget / 2);
    }
    // Half of what is left for two chunks of the points.
    const double streamed = p.host_points == HostPoints::bytes            ? workspace / 2
                            : p.host_points == HostPoints::none && scarce ? budget / 2
                                                                          : 0;
    if (streamed > 0)
        p.chunk_points =
            std::clamp<std::int64_t>(static_cast<std::int64_t>(streamed / 2 / per_point), 1, s.n);
    if (r.points.chunk > 0) p.chunk_points = r.points.chunk;
    p.chunk_points = std::min(p.chunk_points, most_points);
    return streamed > 0 ? streamed : workspace;
}

// The most queries of a tile: the device answers other work between tiles.
std::int64_t most_tile_queries(const Request& r, const Plan& p) {
    namespace t = gpu::tuning;
    const std::int64_t asked = r.most_queries > 0 ? std::min(r.most_queries, r.shape.q) : r.shape.q;
    if (p.path == Path::exact) return std::min(asked, t::exact_query_tile);
    const double cost = p.path == Path::direct_f32 ? t::direct_cost(r.metric.traits.direct) : 1;
    const std::int64_t points = searches_by_bytes(p) ? r.shape.n : p.chunk_points;
    return std::min({asked, t::filter_query_tile, t::responsive_queries(points, r.shape.d, cost)});
}

// Sets the tile, and whether the schedule is symmetric. Returns its bytes, at most `workspace`.
// Throws out_of_memory; `others`: bytes of the budget outside the workspace.
double fit_tile(const Request& r, const Machine::Device& device, double workspace, double others,
                Plan& p) {
    namespace t = gpu::tuning;
    const Shape& s = r.shape;
    const bool filter = p.path != Path::exact;
    // The filter passes over all points of a chunk at once; only the scan cuts them.
    std::int64_t qt = most_tile_queries(r, p),
                 nt = filter ? p.chunk_points : std::min(p.chunk_points, t::exact_point_tile);
    p.symmetric = p.path == Path::gemm_f16 && p.isa == "sm_90a" && p.chunk_points == s.n &&
                  p.host_points == HostPoints::none &&
                  gpu::symmetric_may_serve(s, r.metric.traits) &&
                  gpu_workspace(r, device, p.path, s.n, nt) + symmetric_bytes(s) <= workspace;
    if (p.symmetric) qt = s.n;
    while (gpu_workspace(r, device, p.path, qt, nt) > workspace &&
           (qt > 1 || (!filter && nt > 1))) {
        if (qt > 1 && (filter || qt >= nt / 8)) qt = (qt + 1) / 2;
        else nt = (nt + 1) / 2;
    }
    const double needed =
        gpu_workspace(r, device, p.path, qt, nt) + (p.symmetric ? symmetric_bytes(s) : 0);
    if (needed > workspace) {
        const std::string of_free_memory =
            fmt::format(", {:.0f} % of what is free", 100 * of_free * r.share);
        throw Error(
            ErrorCode::out_of_memory,
            fmt::format("memory: {:.0f} bytes{}; this search needs at least {:.0f}",
                        others + workspace, r.memory > 0 ? "" : of_free_memory, others + needed));
    }
    p.query_tile = qt;
    p.point_tile = nt;
    return needed;
}

// Bytes of a tile of the scan for queries that a filter leaves, if there is room: with smaller ones
// many queries take several times as long.
double rescan_bytes(const Request& r, const Machine::Device& device, const Plan& p,
                    double workspace) {
    namespace t = gpu::tuning;
    constexpr double most = 1 << 28;
    const double all = t::scan_bytes(std::min(p.query_tile, t::exact_query_tile),
                                     std::min(p.chunk_points, t::exact_point_tile), r.shape.d,
                                     r.shape.k, device.multiprocessors);
    return std::min({all, most, workspace});
}

}  // namespace

void gpu_tiles(const Request& request, const Machine::Device& device, Plan& p) {
    namespace t = gpu::tuning;
    Request r = request;
    r.shape.k = std::min(r.shape.k, r.shape.n);  // beyond, a list holds nothing
    const Shape& s = r.shape;
    // The budget holds the prepared points and the tiles.
    const double budget = device_budget(r, device),
                 per_point =
                     t::point_bytes(s.d, element_of(r), p.path, r.data_device == host_memory);
    double workspace = place_points(r, device, budget, per_point, p);
    const bool in_clusters = r.points.forms.clusters == Form::ready;
    const double spread =
        r.all_points && in_clusters && p.path == Path::gemm_f16 ? t::spread_bytes(s.n, s.d) : 0;
    const bool spreads = spread > 0 && spread <= workspace / 2;
    if (spreads) workspace -= spread;
    p.isa = t::takes_products(p.path) ? gpu_isa(r.isa, device) : "";
    double needed = fit_tile(r, device, workspace, budget - workspace, p);
    if (takes_values(r, device, p, workspace - needed)) p.matrix_queries = s.q;
    if (p.matrix_queries > 0)
        needed += t::value_pass_bytes(s.q, p.chunk_points, device.multiprocessors);
    double room = 0;
    const bool filter = p.path != Path::exact;
    if (filter) {
        // Lists may grow where the data are closer together than the filter can tell apart.
        const std::int64_t base =
            gpu::filter_levels(p.point_tile, p.query_tile, s.k + (s.graph ? 1 : 0)).capacity;
        p.candidate_capacity = t::grown_capacity(base, p.query_tile, workspace - needed);
        room = t::growth_bytes(base, p.candidate_capacity, p.query_tile);
    }
    if (spreads) room = std::max(room, spread - needed) + spread;
    if (filter) room = std::max(room, rescan_bytes(r, device, p, workspace) - needed);
    p.workspace_bytes =
        clamped(needed + room +
                (p.chunk_points < s.n ? 2 * per_point * static_cast<double>(p.chunk_points) : 0));
    p.selector = filter ? "" : "threshold";
    p.why += why_tiles(s, p, per_point, spreads ? spread : 0, spread > 0, budget);
}

void gpu_tree_tiles(const Request& r, const Machine::Device& device, Path behind, Plan& p) {
    namespace t = gpu::tuning;
    const Shape& s = r.shape;
    const double budget = device_budget(r, device),
                 tree = r.points.forms.tree == Form::ready ? 0 : t::tree_bytes(s.n, s.d);
    Request beside = r;
    beside.memory = std::max<std::int64_t>(clamped(budget - tree), 1);
    beside.points.prepared = false;  // a tree holds the coordinates
    p.path = behind;
    gpu_tiles(beside, device, p);
    p.path = Path::tree;
    if (p.chunk_points < s.n)
        throw Error(
            ErrorCode::out_of_memory,
            fmt::format("memory: {:.0f} bytes; a tree holds all points, which stream", budget));
    const auto element = static_cast<std::int64_t>(size_of(s.type));
    const double points = t::point_bytes(s.d, element, behind, r.data_device == host_memory) *
                          static_cast<double>(s.n),
                 each = t::tree_query_bytes(s.graph ? 0 : s.d, s.graph ? 0 : element,
                                            std::min(s.k, s.n));
    p.workspace_bytes =
        std::max(p.workspace_bytes,
                 clamped(std::min(budget - tree - points, each * static_cast<double>(s.q))));
    p.why += fmt::format(" a tree beside them, of {:.2f} GiB while it is made.",
                         t::tree_bytes(s.n, s.d) / (1 << 30));
}

}  // namespace kith::planner
