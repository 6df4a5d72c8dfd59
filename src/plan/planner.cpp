// The planner's decisions, in order: device, path, instruction set, tiles. Each leaves a sentence
// in Plan::why.
#include "plan/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cpu/filter/tuning.h"
#include "cpu/search/strategies.h"
#include "exact/bounds/box_trial.h"
#include "exact/ceil_div.h"
#include "exact/refuse.h"
#include "gpu/filter/levels.h"
#include "gpu/filter/tuning.h"
#include "gpu/search/tuning.h"
#include "kith/error.h"
#include "papers/plan.h"
#include "plan/attempts.h"
#include "plan/by_selector.h"
#include "plan/gpu_tiles.h"

namespace kith::planner {

namespace {

// A product of sizes, or the largest that 64 bits hold.
std::int64_t clamped(double product) {
    return static_cast<std::int64_t>(std::min(product, 9e18));
}

// Above this share of the points kept, filtering saves nothing over the scan.
double largest_filter_share(bool gpu) {
    return gpu ? gpu::tuning::filter_max_share : 0.1;
}

// A tree leaves out enough of so many points, for up to n / tree_share neighbours; making one costs
// what filtering so many queries does.
constexpr std::int64_t tree_points = 4096, tree_share = 64, tree_queries = 1536;
// Points of a leaf, as cpu/tree/kernels.h has it.
constexpr std::int64_t tree_leaf = 32;

// Paths whose filter looks at less than it compares: at a part of the coordinates, or of the
// points.
constexpr bool looks_at_less(Path path) {
    return path == Path::projected || path == Path::gemm_i8 || path == Path::clustered;
}

// Why the machine's GPUs, or the instruction set that was forced, cannot run the path; "" if they
// can.
std::string not_here(const PathFacts& path, const Request& r, const Machine& m) {
    if (looks_at_less(path.path) && r.all_points)
        return "serves a number of neighbours, not a radius";
    const bool any =
        std::ranges::any_of(m.devices, [](const auto& device) { return device.capability == 90; });
    return path.path != Path::gemm_i8 || (any && r.isa != "sm_80") ? ""
                                                                   : "needs isa sm_90a on a GPU";
}

// Why the path cannot serve the request on that kind of device of this machine.
std::string obstacle(const PathFacts& path, const Request& r, bool gpu, const Machine& m) {
    if (!gpu && path.on_cpu)
        return obstacle_on_cpu(path, r.metric, r.shape.type, {r.isa, m.bf16, m.vnni}, r.all_points);
    const std::string reason = why_not(path, r.metric, r.shape.type, gpu);
    if (path.path == Path::tree && gpu && reason.empty() && r.all_points)
        return "is not forced on a GPU for a radius, which takes a tree where one pays";
    if (path.path == Path::tree && gpu && reason.empty() &&
        std::min(r.shape.k, r.shape.n) > gpu::tuning::most_tree_k)
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
    return metric.traits.factored ? gpu::tuning::factored_max_dimensions
                                  : gpu::tuning::filter_max_dimensions;
}

// Whether the metric itself in f32 can filter, as it does instead of products where dimensions are
// few: it tells near points apart that products do not.
bool direct_serves(const Request& r, bool gpu, const Machine& m) {
    if (r.shape.d > (gpu ? gpu::tuning::direct_dimensions : cpu::direct_dimensions)) return false;
    const auto direct = std::find_if(paths().begin(), paths().end(), [](const PathFacts& path) {
        return path.path == Path::direct_f32;
    });
    return obstacle(*direct, r, gpu, m).empty();
}

// Whether leaving out boxes of points saves more than their tree costs: nothing any more where it
// has been made. A budget that was asked for is cut by what a filter takes, which is less.
bool tree_saves(const Request& r, const Machine& m) {
    const Shape& s = r.shape;
    const bool leaves_out = s.n >= tree_points && s.k <= s.n / tree_share;
    if (!leaves_out || r.has_tree) return leaves_out;
    return r.memory == 0 && tree_bytes(s) <= static_cast<double>(m.free_bytes) / 2 &&
           (r.prepared || s.q >= tree_queries);
}
bool tree_pays(const Request& r, const Machine& m) {
    return (r.shape.d <= exact::tree_dimensions || r.boxes_pay) && tree_saves(r, m);
}

// Coarse panels serve so many coordinates and points, and at most n / tree_share neighbours.
constexpr std::int64_t coarse_dimensions = 64, coarse_points = 1 << 14;
bool coarse_panels_serve(const Shape& s, const Machine& m) {
    return s.d >= coarse_dimensions && s.d <= cpu::max_projected_dimensions &&
           s.n >= coarse_points && s.k <= s.n / tree_share &&
           projected_bytes(s) <= static_cast<double>(m.free_bytes) / 2;
}

// Whether directions of the points, if they have any, save more than finding them takes: of an
// Index, or for so many queries, and pairs of these and points.
constexpr std::int64_t projected_queries = 1024;
constexpr double projected_pairs = 1 << 27;
bool projection_may_pay(const Request& r, const Machine& m) {
    const Shape& s = r.shape;
    const double pairs = static_cast<double>(s.n) * static_cast<double>(s.q);
    return coarse_panels_serve(s, m) &&
           (r.prepared || (s.q >= projected_queries && pairs >= projected_pairs));
}

// Whether numbers of 8 bits save more than rounding to them takes, and writing the rows behind
// them: of so many queries, more of less than byte_dimensions, and so many coordinates for each
// neighbour, as each has candidates beyond it. Two cores of a Zen 4 (docs/performance.md, "Rows of
// 16 bits").
constexpr std::int64_t byte_queries = 768, byte_dimensions = 128,
                       coordinates_per_neighbour = 1 << 16;
bool bytes_may_pay(const Request& r, const Machine& m) {
    const Shape& s = r.shape;
    return coarse_panels_serve(s, m) &&
           s.q >= byte_queries * byte_dimensions / std::min(s.d, byte_dimensions) &&
           s.n * s.d >= coordinates_per_neighbour * s.k;
}

// The same on a GPU, where matrix units need far more coordinates to be worth leaving some out, and
// all points fit. Numbers of 8 bits pay from fewer on.
constexpr std::int64_t gpu_projected_dimensions = 256, gpu_byte_dimensions = 64,
                       gpu_projected_points = 1 << 17, gpu_projected_queries = 1 << 15;
bool gpu_projection_may_pay(const Request& r, const Machine::Device& device) {
    const Shape& s = r.shape;
    if (s.k > s.n / tree_share || r.no_projection) return false;
    const bool whole_numbers = device.capability == 90 && r.isa != "sm_80";
    // Tiles that serve both of their sides.
    if (s.graph && s.n >= gpu::tuning::symmetric_points &&
        s.n <= gpu::tuning::symmetric_most_points && s.d <= gpu::tuning::symmetric_most_dimensions)
        return false;
    if (r.has_projection) return true;
    // With a copy of the points, which may be made.
    const auto element = static_cast<std::int64_t>(size_of(s.type));
    const double bytes =
        gpu::tuning::point_bytes(s.d, element, Path::projected, true) * static_cast<double>(s.n);
    const double free = r.memory > 0 ? static_cast<double>(r.memory)
                                     : r.share * static_cast<double>(device.free_bytes);
    return s.d >= (whole_numbers ? gpu_byte_dimensions : gpu_projected_dimensions) &&
           s.n >= gpu_projected_points && (r.prepared || s.q >= gpu_projected_queries) &&
           bytes <= 0.4 * free;
}

// A sample of the points of an Index is looked at for clusters where there are so many points, and
// vectors of so few coordinates as the pass over lists of tiles has kernels for
// (gpu/filter/fused/augmented.h).
constexpr std::int64_t clustered_points = 1 << 18, clustered_dimensions = 16;
bool clusters_may_pay(const Request& r, const Machine::Device& device) {
    const Shape& s = r.shape;
    if (device.capability != 90 || r.no_clusters || !r.prepared || s.k > s.n / tree_share)
        return false;
    const auto element = static_cast<std::int64_t>(size_of(s.type));
    const double bytes =
        gpu::tuning::point_bytes(s.d, element, Path::clustered, true) * static_cast<double>(s.n);
    return s.n >= clustered_points && s.d >= clustered_dimensions &&
           gpu::filter_width(s.d, 1) <= gpu::tuning::augmented_width &&
           bytes <= 0.4 * device_budget(r, device);
}

// A formula's filter is compiled at run time, which so few pairs do not repay. Points that are
// prepared ahead of their queries are planned with one, which counts as many.
constexpr double queries_to_come = 1024;
bool few_pairs(const Shape& s) {
    const double queries = s.q > 1 ? static_cast<double>(s.q) : queries_to_come;
    return static_cast<double>(s.n) * queries < gpu::tuning::filtered_formula_pairs;
}

// Why a formula is not filtered, behind the path's sentence.
std::string why_unfiltered(const Request& r) {
    if (r.metric.id != MetricId::formula) return "";
    if (!r.metric.unbounded.empty())
        return ", as the formula is not filtered: " + r.metric.unbounded;
    if (r.shape.type == ElementType::f64)
        return ", as the formula is not filtered: f32 may not hold elements of f64";
    return few_pairs(r.shape) ? ", as the pairs are too few for a filter" : "";
}

// A path, and what its sentence in Plan::why says beside what the path is.
struct Choice {
    Path path = Path::exact;
    std::string because;
};

// The strategy that Options::path puts ahead of the planner's choice; "": none.
std::string first_of(const Request& r, bool gpu) {
    return !r.path.empty() && is_only_first(r.path, gpu) ? r.path : "";
}

// `device`: the GPU, or null.
Choice choose_path(const Request& r, const Machine::Device* device, const Machine& m) {
    const bool gpu = device != nullptr;
    const bool wide = gpu && r.shape.d > most_dimensions(r.metric);
    if (!r.path.empty() && first_of(r, gpu).empty()) {
        for (const PathFacts& path : paths()) {
            if (r.path != name(path.path)) continue;
            const std::string reason = obstacle(path, r, gpu, m);
            if (!reason.empty())
                refuse("path: '{}' {}; possible here: {}", r.path, reason, choices(r, gpu, m));
            if (path.path == Path::gemm_i8 && gpu && device->capability != 90)
                refuse("path: '{}' needs compute capability 9.0; this device has {}.{}", r.path,
                       device->capability / 10, device->capability % 10);
            if (path.path != Path::exact && wide)
                refuse("path: '{}' serves up to {} dimensions on a GPU; possible here: exact",
                       r.path, most_dimensions(r.metric));
            return {path.path, ""};
        }
        refuse("path: '{}' is unknown; possible here: {}", r.path, choices(r, gpu, m));
    }
    const double share =
        static_cast<double>(r.shape.k) / static_cast<double>(std::max<std::int64_t>(1, r.shape.n));
    const bool many =
        share > largest_filter_share(gpu) || (gpu && r.shape.k > gpu::tuning::filter_max_k);
    for (const PathFacts& path : paths()) {
        if (!obstacle(path, r, gpu, m).empty()) continue;
        const bool filter = path.path != Path::exact;
        if (path.path == Path::tree) {
            if (!r.leaves_out ||
                !(gpu ? gpu_tree_may_pay(r, *device, direct_serves(r, gpu, m)) : tree_pays(r, m)))
                continue;
            return {path.path, ""};
        }
        if (path.path == Path::projected && !r.leaves_out) continue;
        if (path.path == Path::projected &&
            !(gpu ? gpu_projection_may_pay(r, *device) : projection_may_pay(r, m)))
            continue;
        // Where clusters may be left out, they are looked for first.
        if (path.path == Path::projected && gpu && !r.has_projection &&
            clusters_may_pay(r, *device))
            continue;
        if (path.path == Path::clustered && !(r.leaves_out && clusters_may_pay(r, *device)))
            continue;
        if (path.path == Path::gemm_bf16 && r.shape.d < cpu::min_bf16_dimensions) continue;
        // What "projected" becomes where a sample has no directions; where that is not worth
        // asking, on a CPU alone.
        if (path.path == Path::gemm_i8 && (gpu || !r.leaves_out || !bytes_may_pay(r, m))) continue;
        if (filter && (many || wide || (r.metric.user && few_pairs(r.shape)))) continue;
        if (filter && path.path != Path::direct_f32 && direct_serves(r, gpu, m)) continue;
        return {path.path, path.path == Path::gemm_i8 ? ", where a sample says that it pays"
                           : !filter && many ? fmt::format(", as k is {:.0f} % of n", 100 * share)
                           : !filter && gpu  ? why_unfiltered(r)
                                             : ""};
    }
    refuse("path: none serves this metric");
}

// The sentence of a plan's path, once that is settled.
std::string why_path(const Plan& p, const Choice& choice) {
    if (p.forced) return fmt::format("path {}: forced. ", name(p.path));
    const auto facts = std::ranges::find(paths(), p.path, &PathFacts::path);
    return fmt::format("path {}: {}{}. ", name(p.path), facts->what, choice.because);
}

// The path whose tiles a tree's plan has on a GPU, for queries that look at too many points.
Path behind_tree(const Request& r, const Machine::Device& device, const Machine& m) {
    Request other = r;
    other.path.clear();
    other.leaves_out = false;
    return choose_path(other, &device, m).path;
}

// Whether a sample of the points is asked about boxes.
bool tries_tree(const Request& r, const Machine::Device* device, const Machine& m, const Plan& p) {
    const bool filters =
        p.path != Path::tree && p.path != Path::exact && r.shape.d > exact::tree_dimensions;
    if (!filters || p.forced || !p.selector.empty() || !p.distances.empty() || !r.leaves_out ||
        r.all_points || r.no_boxes || r.host_points != HostPoints::none ||
        !r.metric.traits.monotone || r.metric.user)
        return false;
    constexpr std::int64_t least_points_gpu = 1 << 16;
    return device ? r.prepared && r.memory == 0 && r.shape.n >= least_points_gpu &&
                        gpu_tree_saves(r, *device)
                  : tree_saves(r, m);
}

// Queries of a tree are ordered together, as many as the budget holds, and each thread has the
// neighbours of one.
void tree_tiles(const Request& r, double budget, Plan& p) {
    const Shape& s = r.shape;
    const auto kept = static_cast<double>(std::min(s.k, s.n));
    const double fixed = (16 * kept + (16 << 10)) * p.threads;
    // Those of a graph lie in the tree: coordinates, and what orders them.
    const double per_query = s.graph ? 0 : 8.0 * static_cast<double>(s.d) + 40;
    p.query_tile = s.graph ? s.q
                           : std::clamp<std::int64_t>(
                                 clamped(std::max(0.0, budget - fixed) / per_query), 1, s.q);
    p.point_tile = tree_leaf;
    p.workspace_bytes =
        std::max(p.workspace_bytes, clamped(fixed + per_query * static_cast<double>(p.query_tile)));
}

// The most words that a query takes in tiles of registers, for what the path may become as well:
// pairs of bf16, or bytes behind their header. 0 where other tiles serve it.
std::int64_t register_words(Path path, const std::string& isa, std::int64_t d) {
    const bool served = path == Path::gemm_bf16 || path == Path::projected || path == Path::gemm_i8;
    if (isa != "amx" || !served) return 0;
    return cpu::register_run + cpu::in_registers(exact::ceil_div(d, std::int64_t{2}));
}

void cpu_tiles(const Request& r, const Machine& m, Plan& p) {
    if (r.isa.rfind("sm_", 0) == 0)
        refuse("isa: '{}' is a GPU's; a CPU has amx, avx512, avx2, baseline", r.isa);
    p.threads = r.threads > 0 ? r.threads : m.threads;
    p.isa = r.isa.empty() ? m.isa : r.isa;
    p.chunk_points = r.shape.n;
    // The CPU backend cuts by cache sizes; the budget only bounds queries in flight per thread.
    // That of a tree may have to filter.
    p.candidate_capacity = std::min(clamped(2.0 * static_cast<double>(r.shape.k) + 512),
                                    std::max<std::int64_t>(r.shape.n, 1));
    const bool coarse = p.path == Path::projected || p.path == Path::gemm_i8;
    const double per_coordinate = coarse ? 24 : 12;
    // In tiles 4 bytes a coordinate, or what registers round up.
    const std::int64_t in_registers = register_words(p.path, p.isa, r.shape.d);
    const double tile_words = static_cast<double>(std::max(r.shape.d, in_registers));
    const double per_query = 24.0 * static_cast<double>(p.candidate_capacity) +
                             per_coordinate * static_cast<double>(r.shape.d) + 4 * tile_words;
    const double absent_queries =
        4.0 * static_cast<double>(in_registers) * (cpu::register_queries - 1);
    const double fixed = 4096 + absent_queries;
    // Each thread has one query at least: a budget that is too small for all is for fewer of them.
    const double budget = cpu_budget(r, m, per_query + fixed);
    p.threads = static_cast<int>(
        std::clamp(budget / (per_query + fixed), 1.0, static_cast<double>(p.threads)));
    const double fit = (budget / p.threads - fixed) / per_query;
    p.query_tile = std::clamp<std::int64_t>(
        static_cast<std::int64_t>(fit), 1, coarse ? cpu::coarse_query_block : cpu::max_query_block);
    p.point_tile = 512;
    p.workspace_bytes =
        clamped((fixed + per_query * static_cast<double>(p.query_tile)) * p.threads);
    if (p.path == Path::tree) tree_tiles(r, budget, p);
}

// The plan of a GPU's search as it is without the strategy that is put ahead.
Plan behind_first(const Request& r, const Machine& machine) {
    Request own = r;
    own.path.clear();
    Plan p = make(own, machine);
    p.first = r.path;
    p.why += fmt::format(" strategy {}: asked for, ahead of the others.", p.first);
    add_attempts(own, machine, p);
    return p;
}

}  // namespace

double cpu_budget(const Request& r, const Machine& m, double least) {
    const std::int64_t budget =
        r.memory > 0 ? r.memory : std::max<std::int64_t>(m.free_bytes / 2, 1 << 20);
    if (least > static_cast<double>(budget))
        throw Error(ErrorCode::out_of_memory,
                    fmt::format("memory: {} bytes{}; the smallest tile of this search needs {:.0f}",
                                budget, r.memory > 0 ? "" : ", half of what is free", least));
    return static_cast<double>(budget);
}

double tree_bytes(const Shape& s) {
    return cpu::strategies::tree.facts.bytes(s, "");
}

double projected_bytes(const Shape& s) {
    return cpu::strategies::projected.facts.bytes(s, "");
}

std::span<const PathFacts> paths() {
    static constexpr PathFacts list[] = {
        {Path::tree, true, true,
         "boxes of points that are too far are left out, the others in binary64"},
        {Path::projected, true, true,
         "a matrix product filters, along the directions in which points differ most if a sample "
         "has such, "
         "binary64 refines and certifies"},
        {Path::clustered, false, true,
         "fp16 matrix units filter, without clusters of points that are too far if a sample has "
         "such, binary64 refines "
         "and certifies"},
        {Path::gemm_i8, true, true,
         "a product of whole numbers of 8 bits filters, then one of 16, fp16 or f32, binary64 "
         "refines and certifies"},
        {Path::gemm_f16, false, true, "fp16 matrix units filter, binary64 refines and certifies"},
        {Path::gemm_bf16, true, false,
         "a bf16 matrix product filters, binary64 refines and certifies"},
        {Path::gemm_f32, true, false,
         "an f32 matrix product filters, binary64 refines and certifies"},
        {Path::direct_f32, true, true, "the metric in f32 filters, binary64 refines and certifies"},
        {Path::exact, true, true, "every pair in binary64"},
    };
    return list;
}

std::string why_not(const PathFacts& path, const MetricFacts& metric, ElementType type, bool gpu) {
    if (gpu ? !path.on_gpu : !path.on_cpu)
        return gpu ? "does not run on a GPU" : "runs on a GPU only";
    if (path.path == Path::exact) return "";
    if (!gpu) return obstacle_on_cpu(path, metric, type, {}, false);
    if (metric.user) {
        if (path.path != Path::direct_f32) return "needs a built-in metric";
        if (!metric.unbounded.empty()) return metric.unbounded;
        return type == ElementType::f64 ? "needs elements that f32 holds exactly" : "";
    }
    if (path.path == Path::tree)
        return metric.traits.monotone ? "" : "needs a metric that grows with each difference";
    if (path.path == Path::direct_f32) {
        if (metric.traits.direct == metric::Direct::none)
            return "serves metrics with a direct form in f32 only";
        return type == ElementType::f64 && !metric.rounds ? "needs elements that f32 holds exactly"
                                                          : "";
    }
    const metric::Gemm form = metric::product_form(metric.traits);
    if (looks_at_less(path.path) && form == metric::Gemm::cross_entropy)
        return "needs products of coordinates";
    return form == metric::Gemm::none ? "needs a metric with a matrix-product form" : "";
}

Plan make(const Request& r, const Machine& machine) {
    if (forces_selector(r.selector)) return by_selector(r, machine);
    if (papers::is_path(r.path)) return papers::plan(r, machine);
    const std::vector<int> devices = choose_devices(r.device, r.data_device, machine);
    if (devices.size() > 1) return divide(r, machine, devices);
    Plan p;
    p.device = devices.front();
    const Machine::Device* device =
        p.device == host_memory ? nullptr : &machine.devices[static_cast<std::size_t>(p.device)];
    std::string why;
    if (device && r.metric.user && !r.metric.user_device) {
        if (r.device != "auto" && !r.device.empty())
            refuse(
                "device: the functor has no device side (functor_metric_cuda makes one); expected "
                "cpu or auto");
        p.device = host_memory;
        device = nullptr;
        why = "device cpu: the functor has no device side. ";
    } else if (device) {
        why = fmt::format("device cuda:{} ({}). ", p.device, device->name);
    } else if (r.device == "cpu") {
        why = "device cpu: asked for. ";
    } else {
        why = fmt::format("device cpu: {}. ",
                          machine.no_device.empty() ? "the data lie there" : machine.no_device);
    }
    if (device && !first_of(r, true).empty()) return behind_first(r, machine);
    const Choice choice = choose_path(r, device, machine);
    p.path = choice.path;
    p.first = first_of(r, device != nullptr);
    p.forced = !r.path.empty() && p.first.empty();
    p.tries_tree = tries_tree(r, device, machine, p);
    if (device && p.path == Path::tree)
        gpu_tree_tiles(r, *device, behind_tree(r, *device, machine), p);
    else if (device) gpu_tiles(r, *device, p);
    else cpu_tiles(r, machine, p);
    // Of the path that the plan has now: tiles may ask for another one than was chosen.
    why += why_path(p, choice);
    if (p.tries_tree)
        why +=
            "path tree instead: where a sample of the points says that boxes leave out most of "
            "them. ";
    if (!p.first.empty())
        why += fmt::format("strategy {}: asked for, ahead of the others. ", p.first);
    p.why = why + p.why;
    add_attempts(r, machine, p);
    return p;
}

}  // namespace kith::planner
