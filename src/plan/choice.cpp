// The path of a search: what stands against each, and which of the others is taken.
#include "plan/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "cpu/search/strategies.h"
#include "cpu/tuning.h"
#include "exact/bounds/box_trial.h"
#include "exact/refuse.h"
#include "gpu/filter/levels.h"
#include "gpu/filter/tuning.h"
#include "gpu/search/tuning.h"
#include "plan/attempts.h"
#include "plan/gpu_tiles.h"
#include "plan/rates/costs.h"

namespace kith::planner {

namespace {

// A sample is asked about boxes of at least tree_points points, for up to n / tree_share
// neighbours. Making a tree after it costs what filtering tree_queries queries does.
constexpr std::int64_t tree_points = 4096, tree_share = 64, tree_queries = 1536;

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

// True if the metric itself in f32 can filter on a GPU, as it does instead of products where
// dimensions are few: it distinguishes near points that products do not.
bool direct_serves(const Request& r, const Machine& m) {
    if (r.shape.d > gpu::tuning::direct_dimensions) return false;
    const auto direct = std::find_if(paths().begin(), paths().end(), [](const PathFacts& path) {
        return path.path == Path::direct_f32;
    });
    return obstacle(*direct, r, true, m).empty();
}

// True if a tree of the points has been made, or has room: a budget that was asked for is cut by
// what a filter takes, which is less.
bool tree_has_room(const Request& r, const Machine& m) {
    return r.points.forms.tree == Form::ready ||
           (r.memory == 0 && tree_bytes(r.shape) <= static_cast<double>(m.free_bytes) / 2);
}

// Coarse panels serve at least this many coordinates and points: a sample of fewer has no principal
// components that tell anything.
constexpr std::int64_t coarse_dimensions = 16, coarse_points = 256;
bool coarse_panels_serve(const Shape& s, const Machine& m) {
    return s.d >= coarse_dimensions && s.d <= cpu::max_projected_dimensions &&
           s.n >= coarse_points && projected_bytes(s) <= static_cast<double>(m.free_bytes) / 2;
}

// True if the path may be taken on a CPU without being asked for.
bool may_serve(const PathFacts& path, const Request& r, const Machine& m) {
    if (!obstacle(path, r, false, m).empty()) return false;
    if (path.path == Path::tree)
        return r.leaves_out && tree_has_room(r, m) &&
               (r.shape.d <= exact::tree_dimensions || r.points.forms.boxes == Form::ready);
    // Filters give up queries with a larger share of the points as neighbours.
    constexpr double most_share = 0.1;
    const bool many = static_cast<double>(r.shape.k) > most_share * static_cast<double>(r.shape.n);
    if (path.path != Path::exact && many) return false;
    if (path.path == Path::gemm_bf16 && r.shape.d < cpu::min_bf16_dimensions) return false;
    return !looks_at_less(path.path) || (r.leaves_out && coarse_panels_serve(r.shape, m));
}

// True if the form that the path searches has been made, or will be ahead of the queries.
bool is_ready(Path path, const Request& r) {
    if (path == Path::exact) return true;
    if (path == Path::tree && r.points.forms.tree == Form::ready) return true;
    if (r.ahead) return true;  // the form is made once, for all queries to come
    if (r.points.chunk == 0) return r.points.prepared;
    // A sample that decides at run time chooses one of the coarse forms.
    return path == r.points.path || (looks_at_less(path) && looks_at_less(r.points.path));
}

// The request whose costs count: where points are prepared ahead, typical queries and neighbours.
Request to_rank(const Request& r) {
    constexpr std::int64_t queries = 1024, neighbours = 10;
    Request typical = r;
    if (!r.ahead) return typical;
    typical.shape.q = queries;
    typical.shape.k = neighbours;
    return typical;
}

// The share of points that int8 pays for, where a sample is asked.
constexpr double share_of_int8 = 0.5;
// The share of a search's time that a PCA projection saves on average data, many of which have no
// few principal components. It is least in few dimensions, as a projection has 16 or more.
double gain_of_pca(std::int64_t d) {
    constexpr double most = 0.2, directions = 32;
    return most * std::max(0.0, 1 - directions / static_cast<double>(d));
}

// The costs of a CPU's paths. Where a sample decides at run time, they are those of what is likely.
class CpuCosts {
public:
    CpuCosts(const CostRates& rates, const Request& r, int threads)
        : rates_(rates), request_(r), asked_(to_rank(r)), threads_(threads) {}

    Cost of(Path path) const {
        return cost_of(rates_, path, asked_, is_ready(path, request_), threads_);
    }
    // `otherwise`: the cheapest path without a sample.
    Cost of_int8(const Cost& otherwise) const {
        Cost own = of(Path::gemm_i8);
        own.seconds =
            share_of_int8 * own.seconds + (1 - share_of_int8) * (own.sample + otherwise.seconds);
        return own;
    }
    // `otherwise`: the cheapest path without PCA.
    Cost of_pca(const Cost& otherwise) const {
        Cost own = of(Path::projected);
        const double saved = gain_of_pca(asked_.shape.d) * (otherwise.seconds - otherwise.prepare);
        own.seconds = own.sample + otherwise.seconds - saved;
        return own;
    }

private:
    const CostRates& rates_;
    const Request& request_;
    Request asked_;
    int threads_;
};

// The cheapest of the paths that serve on a CPU.
Choice cheapest(const Request& r, const Machine& m) {
    const CpuCosts costs(built_in_costs(r.isa.empty() ? m.isa : r.isa), r,
                         r.threads > 0 ? r.threads : m.threads);
    Path best = Path::exact;
    Cost least{.seconds = std::numeric_limits<double>::infinity()};
    const auto consider = [&](Path path, const Cost& own) {
        if (own.seconds >= least.seconds) return;
        best = path;
        least = own;
    };
    bool pca = false, int8 = false;
    for (const PathFacts& path : paths()) {
        if (!may_serve(path, r, m)) continue;
        if (path.path == Path::projected) pca = true;
        else if (path.path == Path::gemm_i8) int8 = true;
        else consider(path.path, costs.of(path.path));
    }
    if (int8) consider(Path::gemm_i8, costs.of_int8(least));
    if (pca) consider(Path::projected, costs.of_pca(least));
    return {best, best == Path::gemm_i8 ? ", where a sample says that it pays" : "", least.seconds};
}

// Prepared points that are not there to be asked have the forms that an Index would have made
// ahead.
Request as_prepared(const Request& r, const Machine& m) {
    Request call = r, before = r;
    if (!r.points.prepared || r.ahead || r.points.chunk > 0) return call;
    before.ahead = true;
    call.points.chunk = r.shape.n;
    call.points.path = cheapest(before, m).path;
    if (call.points.path == Path::tree) call.points.forms.tree = Form::ready;
    return call;
}

// The least sizes for which a PCA projection may pay on a GPU, if all points fit: matrix units need
// far more coordinates to be worth leaving some out. int8 pays from fewer on.
constexpr std::int64_t gpu_projected_dimensions = 256, gpu_byte_dimensions = 64,
                       gpu_projected_points = 1 << 17, gpu_projected_queries = 1 << 15;
bool gpu_projection_may_pay(const Request& r, const Machine::Device& device) {
    const Shape& s = r.shape;
    if (s.k > s.n / tree_share || r.points.forms.pca == Form::absent) return false;
    const bool whole_numbers = device.capability == 90 && r.isa != "sm_80";
    // Tiles that serve both of their sides.
    if (s.graph && s.n >= gpu::tuning::symmetric_points &&
        s.n <= gpu::tuning::symmetric_most_points && s.d <= gpu::tuning::symmetric_most_dimensions)
        return false;
    if (r.points.forms.pca == Form::ready) return true;
    // With a copy of the points, which may be made.
    const auto element = static_cast<std::int64_t>(size_of(s.type));
    const double bytes =
        gpu::tuning::point_bytes(s.d, element, Path::projected, true) * static_cast<double>(s.n);
    const double free = r.memory > 0 ? static_cast<double>(r.memory)
                                     : r.share * static_cast<double>(device.free_bytes);
    return s.d >= (whole_numbers ? gpu_byte_dimensions : gpu_projected_dimensions) &&
           s.n >= gpu_projected_points && (r.points.prepared || s.q >= gpu_projected_queries) &&
           bytes <= 0.4 * free;
}

// A sample of the points of an Index is looked at for clusters if there are at least this many
// points, and the pass over lists of tiles has kernels for their coordinates
// (gpu/filter/fused/augmented.h).
constexpr std::int64_t clustered_points = 1 << 18, clustered_dimensions = 16;
bool clusters_may_pay(const Request& r, const Machine::Device& device) {
    const Shape& s = r.shape;
    if (device.capability != 90 || r.points.forms.clusters == Form::absent || !r.points.prepared ||
        s.k > s.n / tree_share)
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

// Why a formula is not filtered, after the path's sentence.
std::string why_unfiltered(const Request& r) {
    if (r.metric.id != MetricId::formula) return "";
    if (!r.metric.unbounded.empty())
        return ", as the formula is not filtered: " + r.metric.unbounded;
    if (r.shape.type == ElementType::f64)
        return ", as the formula is not filtered: f32 may not hold elements of f64";
    return few_pairs(r.shape) ? ", as the pairs are too few for a filter" : "";
}

// Why nothing is filtered for a k that is this share of n, after the path's sentence.
std::string why_many(double share) {
    return fmt::format(", as k is {:.0f} % of n", 100 * share);
}

bool gpu_sample_may_pay(Path path, const Request& r, const Machine::Device& device) {
    if (path == Path::clustered) return clusters_may_pay(r, device);
    // Where clusters may be left out, they are looked for first.
    return gpu_projection_may_pay(r, device) &&
           (r.points.forms.pca == Form::ready || !clusters_may_pay(r, device));
}

// The filter of all coordinates that serves on a GPU; exact where none does.
Path filter_on_gpu(const Request& r, const Machine& m) {
    if (direct_serves(r, m)) return Path::direct_f32;
    for (const PathFacts& path : paths())
        if ((path.path == Path::gemm_f16 || path.path == Path::direct_f32) &&
            obstacle(path, r, true, m).empty())
            return path.path;
    return Path::exact;
}

Cost cost_on_gpu(const CostRates& rates, Path path, const Request& r) {
    const bool ready = r.points.prepared || r.points.chunk > 0;
    return cost_of(rates, path, r, ready, 0);
}

// How many times as long as the GPU of the rates one takes for binary64: those of data centres have
// units for it.
double binary64_factor(const Machine::Device& device) {
    constexpr int with_units[] = {80, 90, 100};
    constexpr double without = 32;
    return std::ranges::find(with_units, device.capability) != std::end(with_units) ? 1 : without;
}

// True if points of host memory have no room on the device: a scan reads all of them over the bus,
// a filter what it has to.
bool reads_over_bus(const Request& r, const Machine::Device& device) {
    if (r.points.host != HostPoints::none) return true;
    if (r.points.chunk > 0) return r.points.chunk < r.shape.n;
    const double bytes =
        gpu::tuning::point_bytes(r.shape.d, static_cast<std::int64_t>(size_of(r.shape.type)),
                                 Path::gemm_f16, true) *
        static_cast<double>(r.shape.n);
    return are_scarce_on_device(r, bytes, device_budget(r, device));
}

// True if the full scan takes less than a filter, most of whose cost few pairs do not repay.
// Points that are prepared ahead get a filter, as a scan can be chosen by each call.
bool scan_takes_less(Path filter, const Request& r, const Machine::Device& device) {
    if (r.ahead || r.all_points || r.metric.user || reads_over_bus(r, device)) return false;
    // A filter takes longer than estimated if it leaves queries, which are scanned after it. NVIDIA
    // H200, 2026-11-30: of 28 random shapes 6 lay within this factor; the scan took less in five.
    // Products of prepared points leave few: one query of 20,000 takes 46 us, a scan of it 61.
    const double of_filter = r.points.prepared && filter == Path::gemm_f16 ? 0.9 : 1.2;
    const CostRates& rates = built_in_costs("sm_90a");
    const Cost scan = cost_on_gpu(rates, Path::exact, r);
    return scan.seconds + (binary64_factor(device) - 1) * scan.pairs <
           of_filter * cost_on_gpu(rates, filter, r).seconds;
}

// Why a GPU scans instead of filtering, after the path's sentence; nothing: it filters.
std::optional<std::string> why_scanned(Path filter, const Request& r,
                                       const Machine::Device& device) {
    const double share =
        static_cast<double>(r.shape.k) / static_cast<double>(std::max<std::int64_t>(1, r.shape.n));
    // Costs tell more precisely up to a larger share; a formula and a radius have none.
    constexpr double most_with_costs = 0.25;
    const bool has_costs = !r.all_points && !r.metric.user;
    const double most_share = has_costs ? most_with_costs : gpu::tuning::filter_max_share;
    if (share > most_share || r.shape.k > gpu::tuning::filter_max_k) return why_many(share);
    const bool serves = filter != Path::exact && r.shape.d <= most_dimensions(r.metric) &&
                        !(r.metric.user && few_pairs(r.shape));
    if (!serves) return why_unfiltered(r);
    if (scan_takes_less(filter, r, device)) return ", which takes less for so few pairs";
    return std::nullopt;
}

// A tree where the shape, or a sample, says that it pays; else the cheaper of a filter of all
// coordinates and the full scan; ahead of that filter what a sample may say pays.
Choice choose_on_gpu(const Request& r, const Machine::Device& device, const Machine& m) {
    const auto serves = [&](const PathFacts& path) { return obstacle(path, r, true, m).empty(); };
    const Path filter = filter_on_gpu(r, m);
    const auto tree = std::ranges::find(paths(), Path::tree, &PathFacts::path);
    if (serves(*tree) && r.leaves_out && gpu_tree_may_pay(r, device, filter == Path::direct_f32))
        return {Path::tree, ""};
    if (const std::optional<std::string> why = why_scanned(filter, r, device))
        return {Path::exact, *why};
    for (const PathFacts& path : paths())
        if (filter == Path::gemm_f16 && looks_at_less(path.path) && path.path != Path::gemm_i8 &&
            serves(path) && r.leaves_out && gpu_sample_may_pay(path.path, r, device))
            return {path.path, ""};
    return {filter, ""};
}

// As planned_seconds(). A metric whose rates are only assumed has none here: they decide a choice,
// on the safe side, but are no estimate.
double planned_on_gpu(const CostRates& rates, const Request& r, const Plan& plan) {
    const bool sampled = !plan.forced && looks_at_less(plan.path);
    const Cost own = cost_on_gpu(rates, sampled ? Path::gemm_f16 : plan.path, r);
    if (own.assumed) return std::numeric_limits<double>::infinity();
    return sampled ? std::min(own.seconds, cost_on_gpu(rates, Path::gemm_i8, r).seconds)
                   : own.seconds;
}

}  // namespace

std::string first_of(const Request& r, bool gpu) {
    return !r.path.empty() && is_only_first(r.path, gpu) ? r.path : "";
}

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
    return gpu ? choose_on_gpu(r, *device, m) : cheapest(as_prepared(r, m), m);
}

double planned_seconds(const CostRates& rates, const Request& request, const Plan& plan) {
    if (plan.device != host_memory) return planned_on_gpu(rates, request, plan);
    const CpuCosts costs(rates, request, plan.threads);
    const bool sampled = !plan.forced && looks_at_less(plan.path);
    if (!sampled) return costs.of(plan.path).seconds;
    Cost least{.seconds = std::numeric_limits<double>::infinity()};
    for (const Path path : {Path::gemm_bf16, Path::gemm_f32, Path::direct_f32, Path::exact})
        if (const Cost own = costs.of(path); own.seconds < least.seconds) least = own;
    if (const Cost own = costs.of_int8(least); own.seconds < least.seconds) least = own;
    return plan.path == Path::projected ? costs.of_pca(least).seconds : least.seconds;
}

double attempt_seconds(const strategy::Facts& strategy, const Request& r, const Plan& plan) {
    constexpr const cpu::Strategy* own_rows = cpu::listed("rows");
    const bool rows = cpu::is_listed(own_rows) && &strategy == &own_rows->facts;
    if (!rows && std::string_view(strategy.name) != name(strategy.path)) return 0;
    const bool cpu = plan.device == host_memory;
    const CostRates& rates = built_in_costs(cpu ? plan.isa : "sm_90a");
    const Cost cost = cpu ? cost_of(rates, strategy.path, r, !rows && is_ready(strategy.path, r),
                                    plan.threads, !rows)
                          : cost_on_gpu(rates, strategy.path, r);
    return cost.assumed || !std::isfinite(cost.seconds) ? 0 : cost.seconds;
}

Path behind_tree(const Request& r, const Machine::Device& device, const Machine& m) {
    Request other = r;
    other.path.clear();
    other.leaves_out = false;
    return choose_path(other, &device, m).path;
}

bool tries_tree(const Request& r, const Machine::Device* device, const Machine& m, const Plan& p) {
    // In few dimensions, too: costs assume a uniform cloud, which a sample may correct.
    const bool filters = p.path != Path::tree && p.path != Path::exact;
    if (!filters || p.forced || !p.selector.empty() || !p.distances.empty() || !r.leaves_out ||
        r.all_points || r.points.forms.boxes == Form::absent || r.points.host != HostPoints::none ||
        !r.metric.traits.monotone || r.metric.user)
        return false;
    constexpr std::int64_t least_points_gpu = 1 << 16;
    if (device)
        return r.points.prepared && r.memory == 0 && r.shape.n >= least_points_gpu &&
               gpu_tree_saves(r, *device);
    const bool many =
        r.points.prepared || r.points.forms.tree == Form::ready || r.shape.q >= tree_queries;
    return many && r.shape.n >= tree_points && r.shape.k <= r.shape.n / tree_share &&
           tree_has_room(r, m);
}

}  // namespace kith::planner
