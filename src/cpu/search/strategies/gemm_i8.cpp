// Strategy gemm-i8: an int8 matrix product filters, and its candidates are rescored from more
// precise rows.
#include "cpu/search/filter_search.h"
#include "cpu/search/panel_facts.h"

namespace kith::cpu {

namespace {

const char* obstacle(const strategy::Problem& p) {
    if (const char* const reason = obstacle_of_coarse(p)) return reason;
    if (!p.processor.bytes) return "needs a processor with AVX512_VNNI";
    return has_wide_registers(p.processor) ? nullptr : "needs isa avx512";
}

// The int8 panels, and the f32 rows that they rescore from, which have one more term each.
double bytes(const Shape& s, const std::string& isa) {
    return panel_bytes(s.n, panel_words(s.d, 4, isa)) + panel_bytes(s.n, s.d + 1);
}

const char* nearest(NearestCall& call, const strategy::Queries& queries, strategy::Numbers& left) {
    return nearest_by_coarse_panels(call, strategies::gemm_i8, Path::gemm_i8, queries, left);
}

}  // namespace

constinit const Strategy strategies::gemm_i8{
    .facts = {.name = "gemm-i8",
              .path = Path::gemm_i8,
              .what = "an int8 product filters, then one of int16 or f32",
              .obstacle = obstacle,
              .bytes = bytes,
              .tile = filter_tile},
    .nearest = nearest};

}  // namespace kith::cpu
