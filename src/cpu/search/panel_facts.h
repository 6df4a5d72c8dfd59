// Facts that strategies with panels share, without data: obstacles, and bytes.
#pragma once

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

// True if the instruction set may have bf16 and int8 products: they come with AVX-512 (and AMX)
// only.
inline bool has_wide_registers(const strategy::Processor& processor) {
    return processor.isa.empty() || processor.isa == "avx512" || processor.isa == "amx";
}

// Bytes of n points in panels, or as the rows behind them: point_terms and `words` 32-bit words
// each.
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
