// The planner's decisions, in order: device, path, instruction set, tiles. Each leaves a sentence
// in Plan::why.
#include "plan/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cpu/search/strategies.h"
#include "cpu/tuning.h"
#include "exact/ceil_div.h"
#include "exact/refuse.h"
#include "kith/error.h"
#include "papers/plan.h"
#include "plan/attempts.h"
#include "plan/by_selector.h"
#include "plan/choice.h"
#include "plan/gpu_tiles.h"

namespace kith::planner {

namespace {

// A product of sizes, at most about the largest value of 64 bits.
std::int64_t clamped(double product) {
    return static_cast<std::int64_t>(std::min(product, 9e18));
}

// The sentence about the path in Plan::why, after tiles have settled the path.
std::string why_path(const Plan& p, const Choice& choice) {
    if (p.forced) return fmt::format("path {}: forced. ", name(p.path));
    const auto facts = std::ranges::find(paths(), p.path, &PathFacts::path);
    return fmt::format("path {}: {}{}. ", name(p.path), facts->what, choice.because);
}

// Queries of a tree are ordered together, as many as the budget holds, and each thread has the
// neighbours of one.
void tree_tiles(const Request& r, double budget, Plan& p) {
    const Shape& s = r.shape;
    const auto kept = static_cast<double>(std::min(s.k, s.n));
    const double fixed = (16 * kept + (16 << 10)) * p.threads;
    // Coordinates, and their order. The queries of a graph lie in the tree.
    const double per_query = s.graph ? 0 : 8.0 * static_cast<double>(s.d) + 40;
    p.query_tile = s.graph ? s.q
                           : std::clamp<std::int64_t>(
                                 clamped(std::max(0.0, budget - fixed) / per_query), 1, s.q);
    p.point_tile = cpu::leaf_points;
    p.workspace_bytes =
        std::max(p.workspace_bytes, clamped(fixed + per_query * static_cast<double>(p.query_tile)));
}

// The most words of a query in tiles of matrix registers, with those of the paths that may replace
// this one: bf16 pairs, or int8 after a header. 0 if other tiles serve the query.
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
    // The CPU backend sizes tiles by the caches; the budget only limits the queries in flight per
    // thread. A tree needs such tiles too, for the filter that may follow it.
    p.candidate_capacity = std::min(clamped(2.0 * static_cast<double>(r.shape.k) + 512),
                                    std::max<std::int64_t>(r.shape.n, 1));
    const bool coarse = p.path == Path::projected || p.path == Path::gemm_i8;
    const double per_coordinate = coarse ? 24 : 12;
    // Tiles take 4 bytes per coordinate, or whole matrix registers.
    const std::int64_t in_registers = register_words(p.path, p.isa, r.shape.d);
    const double tile_words = static_cast<double>(std::max(r.shape.d, in_registers));
    const double per_query = 24.0 * static_cast<double>(p.candidate_capacity) +
                             per_coordinate * static_cast<double>(r.shape.d) + 4 * tile_words;
    const double absent_queries =
        4.0 * static_cast<double>(in_registers) * (cpu::register_queries - 1);
    const double fixed = 4096 + absent_queries;
    // Each thread has at least one query: a budget too small for all threads gets fewer of them.
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

// The plan of a GPU search without a forced path, but with the strategy r.path before the others.
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
    constexpr const cpu::Strategy* tree = cpu::listed("tree");
    return cpu::is_listed(tree) ? tree->facts.bytes(s, "") : 0;
}

double projected_bytes(const Shape& s) {
    constexpr const cpu::Strategy* projected = cpu::listed("projected");
    return cpu::is_listed(projected) ? projected->facts.bytes(s, "") : 0;
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
    // The sentence names the final path: gpu_tiles() may have changed the chosen one.
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
