// Facts that strategies with panels share, without data: obstacles, and bytes.
#pragma once

#include <algorithm>

#include "cpu/tuning.h"
#include "exact/ceil_div.h"
#include "strategy/facts.h"

namespace kith::cpu {

inline const char* obstacle_of_products(const strategy::Problem& p) {
    if (p.user) return "needs a built-in metric";
    return metric::product_form(p.traits) == metric::Gemm::none
               ? "needs a metric with a matrix-product form"
               : nullptr;
}

inline const char* obstacle_of_coarse(const strategy::Problem& p) {
    if (p.user) return "needs a built-in metric";
    if (metric::product_form(p.traits) == metric::Gemm::cross_entropy)
        return "needs products of coordinates";
    if (const char* const reason = obstacle_of_products(p)) return reason;
    return p.task == strategy::Task::within ? "serves a number of neighbours, not a radius"
                                            : nullptr;
}

// A filter that replaces a tree has the tree's workspace.
inline strategy::Tile filter_tile(const Plan& plan, const Shape& s) {
    if (plan.path != Path::tree) return {plan.query_tile, plan.point_tile};
    const double per_query =
        24.0 * static_cast<double>(plan.candidate_capacity) + 16.0 * static_cast<double>(s.d);
    const double room =
        static_cast<double>(plan.workspace_bytes) / std::max(plan.threads, 1) - 4096;
    const double queries = std::clamp(room / per_query, 1.0, static_cast<double>(max_query_block));
    return {static_cast<std::int64_t>(queries), panel_points};
}

// True if the instruction set may have bf16 and int8 products: they come with AVX-512 (and AMX)
// only.
inline bool has_wide_registers(const strategy::Processor& processor) {
    return processor.isa.empty() || processor.isa == "avx512" || processor.isa == "amx";
}

// Bytes of n points in panels, or as the rows that these rescore from: point_terms and `words`
// 32-bit words each.
inline double panel_bytes(std::int64_t n, std::int64_t words) {
    return 4.0 * static_cast<double>(n) * static_cast<double>(point_terms + words);
}

// 32-bit words of d coordinates, `per_word` in each, padded if tiles in matrix registers may serve
// them.
inline std::int64_t panel_words(std::int64_t d, std::int64_t per_word, const std::string& isa) {
    const std::int64_t words = exact::ceil_div(d, per_word);
    return isa == "amx" ? in_registers(words) : words;
}

}  // namespace kith::cpu
