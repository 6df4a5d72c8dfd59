// Plans and reports as text: the path's name, bytes of prepared points, a line per fact.
#include "kith/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cpu/search/strategies.h"
#include "gpu/search/strategies.h"
#include "gpu/search/tuning.h"
#include "machine/float_state.h"
#include "plan/planner.h"

namespace kith {

namespace {

// A line of a list of attempts; the key stands in the first one only.
std::string attempt_line(const char* key, std::size_t number, std::string_view strategy,
                         std::string_view what) {
    const std::string line =
        fmt::format("{:<12} {:>2}  {:<17} {}", number == 1 ? key : "", number, strategy, what);
    return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

std::string what_is_planned(const Attempt& a) {
    std::string text(a.when);
    if (!text.empty()) text += "; ";
    text += fmt::format("{} x {}", a.query_tile, a.point_tile);
    if (a.bytes > 0) text += fmt::format(", {:.1f} MiB", a.bytes / (1 << 20));
    if (a.seconds > 0) text += fmt::format(", {:.3g} ms", 1e3 * a.seconds);
    return text;
}

std::string what_ran(const TraceEntry& e) {
    if (e.queries == 0) return fmt::format("declined: {}; {:.3g} ms", e.cause, 1e3 * e.seconds);
    const std::string left = e.left == 0 ? "" : fmt::format(", {} left ({})", e.left, e.cause);
    return fmt::format("{} queries, {} certified{}; {:.3g} ms", e.queries, e.certified, left,
                       1e3 * e.seconds);
}

// Bytes that the strategy of the plan's path keeps for its points.
double prepared_by_path(const Shape& shape, const Plan& plan) {
    const bool on_cpu = plan.device == host_memory;
    const cpu::Strategy* const of_cpu = on_cpu ? cpu::find_strategy(name(plan.path)) : nullptr;
    const strategy::Facts* const facts =
        on_cpu ? (of_cpu ? &of_cpu->facts : nullptr) : gpu::find_strategy(name(plan.path));
    if (!facts || !facts->bytes) return 0;
    Shape kept = shape;
    if (!on_cpu || plan.path != Path::projected) kept.n = plan.chunk_points;
    return facts->bytes(kept, plan.isa);
}

}  // namespace

const char* name(Path path) {
    constexpr std::array names = {"gemm-f16",  "gemm-bf16", "gemm-f32", "direct-f32", "tree",
                                  "projected", "exact",     "select",   "gemm-i8",    "clustered"};
    return names.at(static_cast<std::size_t>(path));
}

std::string path_name(const Plan& p) {
    if (p.distances.empty()) return name(p.path);
    return p.selector.empty() ? p.distances : p.distances + "+" + p.selector;
}

double prepared_bytes(const Shape& shape, const Plan& plan) {
    return machine::in_float_state([&]() -> double {
        if (plan.host_points != HostPoints::none) return static_cast<double>(plan.held_bytes);
        const double tree = plan.device == host_memory ? planner::tree_bytes(shape)
                                                       : gpu::tuning::tree_bytes(shape.n, shape.d);
        if (plan.tries_tree) {
            Plan filter = plan;
            filter.tries_tree = false;
            return std::max(tree, prepared_bytes(shape, filter));
        }
        if (plan.path == Path::tree) return tree;
        return prepared_by_path(shape, plan);
    });
}

std::string explain(const Plan& p) {
    const machine::FloatState state;
    std::string text;
    const auto line = [&text](const char* key, const std::string& value) {
        text += fmt::format("{:<12} {}\n", key, value);
    };
    line("device",
         !p.devices.empty() ? fmt::format("{}{}", planner::spelled(p.devices),
                                          p.isa.empty() ? "" : fmt::format(" ({})", p.isa))
         : p.device == host_memory
             ? fmt::format("cpu ({}, {} thread{})", p.isa, p.threads, p.threads == 1 ? "" : "s")
         : p.isa.empty() ? fmt::format("cuda:{}", p.device)
                         : fmt::format("cuda:{} ({})", p.device, p.isa));
    if (p.device_queries)
        line("block",
             fmt::format("{} queries x {} points a GPU", p.device_queries, p.device_points));
    line("path", path_name(p));
    if (!p.selector.empty()) line("selector", p.selector);
    if (p.host_points != HostPoints::none)
        line("points", "in host memory; on the device what the filter needs of each");
    if (p.path == Path::select) {
        line("tile", fmt::format("{} rows x {} values", p.query_tile, p.point_tile));
    } else {
        line("tile", fmt::format("{} queries x {} points", p.query_tile, p.point_tile));
    }
    if (p.candidate_capacity)
        line("candidates", fmt::format("up to {} per query", p.candidate_capacity));
    line("workspace",
         fmt::format("{:.1f} MiB", static_cast<double>(p.workspace_bytes) / (1 << 20)));
    for (std::size_t i = 0; i < p.attempts.size(); ++i)
        text +=
            attempt_line("attempts", i + 1, p.attempts[i].strategy, what_is_planned(p.attempts[i]));
    line("why", p.why);
    return text;
}

std::string explain(const Report& report) {
    const machine::FloatState state;
    std::string text;
    for (std::size_t i = 0; i < report.trace.size(); ++i)
        text += attempt_line("ran", i + 1, report.trace[i].strategy, what_ran(report.trace[i]));
    return text;
}

}  // namespace kith
