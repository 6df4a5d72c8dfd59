// What a plan says of itself: its path's name, what preparing takes, a line for each decision.
#include "kith/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cpu/filter/tuning.h"
#include "exact/ceil_div.h"
#include "gpu/search/tuning.h"
#include "machine/float_state.h"
#include "plan/planner.h"

namespace kith {

namespace {

// Of a CPU's panels, or the rows behind them: each point's terms and words of 32 bits.
double panel_bytes(const Plan& plan, std::int64_t words) {
    return 4.0 * static_cast<double>(plan.chunk_points) * static_cast<double>(cpu::point_terms + words);
}

// The words of d coordinates, so many in each, in tiles that matrix registers may serve.
std::int64_t tile_words(const Plan& plan, std::int64_t d, std::int64_t per_word) {
    const std::int64_t words = exact::ceil_div(d, per_word);
    return plan.isa == "amx" ? cpu::in_registers(words) : words;
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
        const auto coordinates = static_cast<double>(plan.chunk_points) * static_cast<double>(shape.d);
        const double tree =
            plan.device == host_memory ? planner::tree_bytes(shape) : gpu::tuning::tree_bytes(shape.n, shape.d);
        if (plan.tries_tree) {
            Plan filter = plan;
            filter.tries_tree = false;
            return std::max(tree, prepared_bytes(shape, filter));
        }
        switch (plan.path) {
            case Path::tree:
                return tree;
            case Path::gemm_f16:
            case Path::clustered:
                return 2 * coordinates;
            case Path::gemm_bf16:
                return panel_bytes(plan, tile_words(plan, shape.d, 2));
            case Path::gemm_i8:
                if (plan.device != host_memory) return 3 * coordinates;
                // With rows in f32 behind the panels, and a term more of each.
                return panel_bytes(plan, tile_words(plan, shape.d, 4)) + panel_bytes(plan, shape.d + 1);
            case Path::gemm_f32:
            case Path::direct_f32:
                return plan.device == host_memory ? panel_bytes(plan, shape.d) : 4 * coordinates;
            case Path::projected:
                if (plan.device != host_memory)
                    return gpu::tuning::vector_bytes(plan.path, shape.d) * static_cast<double>(plan.chunk_points);
                return planner::projected_bytes(shape);
            case Path::exact:
            case Path::select:
                break;
        }
        return 0;
    });
}

std::string explain(const Plan& p) {
    const machine::FloatState state;
    std::string text;
    const auto line = [&text](const char* key, const std::string& value) {
        text += fmt::format("{:<12} {}\n", key, value);
    };
    line("device",
         !p.devices.empty()
             ? fmt::format("{}{}", planner::spelled(p.devices), p.isa.empty() ? "" : fmt::format(" ({})", p.isa))
         : p.device == host_memory ? fmt::format("cpu ({}, {} thread{})", p.isa, p.threads, p.threads == 1 ? "" : "s")
         : p.isa.empty()           ? fmt::format("cuda:{}", p.device)
                                   : fmt::format("cuda:{} ({})", p.device, p.isa));
    if (p.device_queries) line("block", fmt::format("{} queries x {} points a GPU", p.device_queries, p.device_points));
    line("path", path_name(p));
    if (!p.selector.empty()) line("selector", p.selector);
    if (p.host_points != HostPoints::none)
        line("points", "in host memory; on the device what the filter needs of each");
    if (p.path == Path::select) {
        line("tile", fmt::format("{} rows x {} values", p.query_tile, p.point_tile));
    } else {
        line("tile", fmt::format("{} queries x {} points", p.query_tile, p.point_tile));
    }
    if (p.candidate_capacity) line("candidates", fmt::format("up to {} per query", p.candidate_capacity));
    line("workspace", fmt::format("{:.1f} MiB", static_cast<double>(p.workspace_bytes) / (1 << 20)));
    line("why", p.why);
    return text;
}

}  // namespace kith
