// The path of a search: what stands against each, and which of the others is taken.
#include "plan/choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "cpu/filter/tuning.h"
#include "cpu/search/strategies.h"
#include "exact/box_trial.h"
#include "exact/refuse.h"
#include "gpu/filter/levels.h"
#include "gpu/filter/tuning.h"
#include "gpu/search/tuning.h"
#include "plan/attempts.h"
#include "plan/gpu_tiles.h"

namespace kith::planner {

namespace {

// Above this share of the points kept, filtering saves nothing over the scan.
double largest_filter_share(bool gpu) {
    return gpu ? gpu::tuning::filter_max_share : 0.1;
}

// A tree leaves out enough of so many points, for up to n / tree_share neighbours; making one costs what filtering so
// many queries does.
constexpr std::int64_t tree_points = 4096, tree_share = 64, tree_queries = 1536;
// Why the machine's GPUs, or the instruction set that was forced, cannot run the path; "" if they can.
std::string not_here(const PathFacts& path, const Request& r, const Machine& m) {
    if (looks_at_less(path.path) && r.all_points) return "serves a number of neighbours, not a radius";
    const bool any = std::ranges::any_of(m.devices, [](const auto& device) { return device.capability == 90; });
    return path.path != Path::gemm_i8 || (any && r.isa != "sm_80") ? "" : "needs isa sm_90a on a GPU";
}

// Why the path cannot serve the request on that kind of device of this machine.
std::string obstacle(const PathFacts& path, const Request& r, bool gpu, const Machine& m) {
    if (!gpu && path.on_cpu)
        return obstacle_on_cpu(path, r.metric, r.shape.type, {r.isa, m.bf16, m.vnni}, r.all_points);
    const std::string reason = why_not(path, r.metric, r.shape.type, gpu);
    if (path.path == Path::tree && gpu && reason.empty() && r.all_points)
        return "is not forced on a GPU for a radius, which takes a tree where one pays";
    if (path.path == Path::tree && gpu && reason.empty() && std::min(r.shape.k, r.shape.n) > gpu::tuning::most_tree_k)
        return fmt::format("serves up to {} neighbours on a GPU", gpu::tuning::most_tree_k);
    return reason.empty() && gpu ? not_here(path, r, m) : reason;
}

// Names of the paths that serve this request, for messages.
std::string choices(const Request& r, bool gpu, const Machine& m) {
    std::string names;
    for (const PathFacts& path : paths()) {
        if (!obstacle(path, r, gpu, m).empty()) continue;
        names += names.empty() ? "" : ", ";
        names += name(path.path);
    }
    return names;
}

// The most dimensions that a GPU filters.
std::int64_t most_dimensions(const MetricFacts& metric) {
    return metric.traits.factored ? gpu::tuning::factored_max_dimensions : gpu::tuning::filter_max_dimensions;
}

// Whether the metric itself in f32 can filter, as it does instead of products where dimensions are few: it tells near
// points apart that products do not.
bool direct_serves(const Request& r, bool gpu, const Machine& m) {
    if (r.shape.d > (gpu ? gpu::tuning::direct_dimensions : cpu::direct_dimensions)) return false;
    const auto direct = std::find_if(paths().begin(), paths().end(),
                                     [](const PathFacts& path) { return path.path == Path::direct_f32; });
    return obstacle(*direct, r, gpu, m).empty();
}

// Whether leaving out boxes of points saves more than their tree costs: nothing any more where it has been made. A
// budget that was asked for is cut by what a filter takes, which is less.
bool tree_saves(const Request& r, const Machine& m) {
    const Shape& s = r.shape;
    const bool leaves_out = s.n >= tree_points && s.k <= s.n / tree_share;
    if (!leaves_out || r.forms.tree == Form::ready) return leaves_out;
    return r.memory == 0 && tree_bytes(s) <= static_cast<double>(m.free_bytes) / 2 &&
           (r.prepared || s.q >= tree_queries);
}
bool tree_pays(const Request& r, const Machine& m) {
    return (r.shape.d <= exact::tree_dimensions || r.forms.boxes == Form::ready) && tree_saves(r, m);
}

// Coarse panels serve so many coordinates and points, and at most n / tree_share neighbours.
constexpr std::int64_t coarse_dimensions = 64, coarse_points = 1 << 14;
bool coarse_panels_serve(const Shape& s, const Machine& m) {
    return s.d >= coarse_dimensions && s.d <= cpu::max_projected_dimensions && s.n >= coarse_points &&
           s.k <= s.n / tree_share && projected_bytes(s) <= static_cast<double>(m.free_bytes) / 2;
}

// Whether directions of the points, if they have any, save more than finding them takes: of an Index, or for so many
// queries, and pairs of these and points.
constexpr std::int64_t projected_queries = 1024;
constexpr double projected_pairs = 1 << 27;
bool projection_may_pay(const Request& r, const Machine& m) {
    const Shape& s = r.shape;
    const double pairs = static_cast<double>(s.n) * static_cast<double>(s.q);
    return coarse_panels_serve(s, m) && (r.prepared || (s.q >= projected_queries && pairs >= projected_pairs));
}

// Whether numbers of 8 bits save more than rounding to them takes, and writing the rows behind them: of so many
// queries, more of less than byte_dimensions, and so many coordinates for each neighbour, as each has candidates beyond
// it. Two cores of a Zen 4 (docs/performance.md, "Rows of 16 bits").
constexpr std::int64_t byte_queries = 768, byte_dimensions = 128, coordinates_per_neighbour = 1 << 16;
bool bytes_may_pay(const Request& r, const Machine& m) {
    const Shape& s = r.shape;
    return coarse_panels_serve(s, m) && s.q >= byte_queries * byte_dimensions / std::min(s.d, byte_dimensions) &&
           s.n * s.d >= coordinates_per_neighbour * s.k;
}

// The same on a GPU, where matrix units need far more coordinates to be worth leaving some out, and all points fit.
// Numbers of 8 bits pay from fewer on.
constexpr std::int64_t gpu_projected_dimensions = 256, gpu_byte_dimensions = 64, gpu_projected_points = 1 << 17,
                       gpu_projected_queries = 1 << 15;
bool gpu_projection_may_pay(const Request& r, const Machine::Device& device) {
    const Shape& s = r.shape;
    if (s.k > s.n / tree_share || r.forms.pca == Form::absent) return false;
    const bool whole_numbers = device.capability == 90 && r.isa != "sm_80";
    // Tiles that serve both of their sides.
    if (s.graph && s.n >= gpu::tuning::symmetric_points && s.n <= gpu::tuning::symmetric_most_points &&
        s.d <= gpu::tuning::symmetric_most_dimensions)
        return false;
    if (r.forms.pca == Form::ready) return true;
    // With a copy of the points, which may be made.
    const auto element = static_cast<std::int64_t>(size_of(s.type));
    const double bytes = gpu::tuning::point_bytes(s.d, element, Path::projected, true) * static_cast<double>(s.n);
    const double free = r.memory > 0 ? static_cast<double>(r.memory) : r.share * static_cast<double>(device.free_bytes);
    return s.d >= (whole_numbers ? gpu_byte_dimensions : gpu_projected_dimensions) && s.n >= gpu_projected_points &&
           (r.prepared || s.q >= gpu_projected_queries) && bytes <= 0.4 * free;
}

// A sample of the points of an Index is looked at for clusters where there are so many points, and vectors of so few
// coordinates as the pass over lists of tiles has kernels for (gpu/filter/augmented.h).
constexpr std::int64_t clustered_points = 1 << 18, clustered_dimensions = 16;
bool clusters_may_pay(const Request& r, const Machine::Device& device) {
    const Shape& s = r.shape;
    if (device.capability != 90 || r.forms.clusters == Form::absent || !r.prepared || s.k > s.n / tree_share)
        return false;
    const auto element = static_cast<std::int64_t>(size_of(s.type));
    const double bytes = gpu::tuning::point_bytes(s.d, element, Path::clustered, true) * static_cast<double>(s.n);
    return s.n >= clustered_points && s.d >= clustered_dimensions &&
           gpu::filter_width(s.d, 1) <= gpu::tuning::augmented_width && bytes <= 0.4 * device_budget(r, device);
}

// A formula's filter is compiled at run time, which so few pairs do not repay. Points that are prepared ahead of their
// queries are planned with one, which counts as many.
constexpr double queries_to_come = 1024;
bool few_pairs(const Shape& s) {
    const double queries = s.q > 1 ? static_cast<double>(s.q) : queries_to_come;
    return static_cast<double>(s.n) * queries < gpu::tuning::filtered_formula_pairs;
}

// Why a formula is not filtered, behind the path's sentence.
std::string why_unfiltered(const Request& r) {
    if (r.metric.id != MetricId::formula) return "";
    if (!r.metric.unbounded.empty()) return ", as the formula is not filtered: " + r.metric.unbounded;
    if (r.shape.type == ElementType::f64) return ", as the formula is not filtered: f32 may not hold elements of f64";
    return few_pairs(r.shape) ? ", as the pairs are too few for a filter" : "";
}

}  // namespace

std::string first_of(const Request& r, bool gpu) {
    return !gpu && !r.path.empty() && is_only_first(r.path) ? r.path : "";
}

Choice choose_path(const Request& r, const Machine::Device* device, const Machine& m) {
    const bool gpu = device != nullptr;
    const bool wide = gpu && r.shape.d > most_dimensions(r.metric);
    if (!r.path.empty() && first_of(r, gpu).empty()) {
        for (const PathFacts& path : paths()) {
            if (r.path != name(path.path)) continue;
            const std::string reason = obstacle(path, r, gpu, m);
            if (!reason.empty()) refuse("path: '{}' {}; possible here: {}", r.path, reason, choices(r, gpu, m));
            if (path.path == Path::gemm_i8 && gpu && device->capability != 90)
                refuse("path: '{}' needs compute capability 9.0; this device has {}.{}", r.path,
                       device->capability / 10, device->capability % 10);
            if (path.path != Path::exact && wide)
                refuse("path: '{}' serves up to {} dimensions on a GPU; possible here: exact", r.path,
                       most_dimensions(r.metric));
            return {path.path, ""};
        }
        refuse("path: '{}' is unknown; possible here: {}", r.path, choices(r, gpu, m));
    }
    const double share = static_cast<double>(r.shape.k) / static_cast<double>(std::max<std::int64_t>(1, r.shape.n));
    const bool many = share > largest_filter_share(gpu) || (gpu && r.shape.k > gpu::tuning::filter_max_k);
    for (const PathFacts& path : paths()) {
        if (!obstacle(path, r, gpu, m).empty()) continue;
        const bool filter = path.path != Path::exact;
        if (path.path == Path::tree) {
            if (!r.leaves_out || !(gpu ? gpu_tree_may_pay(r, *device, direct_serves(r, gpu, m)) : tree_pays(r, m)))
                continue;
            return {path.path, ""};
        }
        if (path.path == Path::projected && !r.leaves_out) continue;
        if (path.path == Path::projected && !(gpu ? gpu_projection_may_pay(r, *device) : projection_may_pay(r, m)))
            continue;
        // Where clusters may be left out, they are looked for first.
        if (path.path == Path::projected && gpu && r.forms.pca != Form::ready && clusters_may_pay(r, *device)) continue;
        if (path.path == Path::clustered && !(r.leaves_out && clusters_may_pay(r, *device))) continue;
        if (path.path == Path::gemm_bf16 && r.shape.d < cpu::min_bf16_dimensions) continue;
        // What "projected" becomes where a sample has no directions; where that is not worth asking, on a CPU alone.
        if (path.path == Path::gemm_i8 && (gpu || !r.leaves_out || !bytes_may_pay(r, m))) continue;
        if (filter && (many || wide || (r.metric.user && few_pairs(r.shape)))) continue;
        if (filter && path.path != Path::direct_f32 && direct_serves(r, gpu, m)) continue;
        return {path.path, path.path == Path::gemm_i8 ? ", where a sample says that it pays"
                           : !filter && many          ? fmt::format(", as k is {:.0f} % of n", 100 * share)
                           : !filter && gpu           ? why_unfiltered(r)
                                                      : ""};
    }
    refuse("path: none serves this metric");
}

Path behind_tree(const Request& r, const Machine::Device& device, const Machine& m) {
    Request other = r;
    other.path.clear();
    other.leaves_out = false;
    return choose_path(other, &device, m).path;
}

bool tries_tree(const Request& r, const Machine::Device* device, const Machine& m, const Plan& p) {
    const bool filters = p.path != Path::tree && p.path != Path::exact && r.shape.d > exact::tree_dimensions;
    if (!filters || p.forced || !p.selector.empty() || !p.distances.empty() || !r.leaves_out || r.all_points ||
        r.forms.boxes == Form::absent || r.host_points != HostPoints::none || !r.metric.traits.monotone ||
        r.metric.user)
        return false;
    constexpr std::int64_t least_points_gpu = 1 << 16;
    return device ? r.prepared && r.memory == 0 && r.shape.n >= least_points_gpu && gpu_tree_saves(r, *device)
                  : tree_saves(r, m);
}

}  // namespace kith::planner
