// Strategy gemm-bf16: a bf16 matrix product filters.
#include "cpu/search/filter_search.h"
#include "cpu/search/panel_facts.h"
#include "cpu/search/radius/radius_levels.h"

namespace kith::cpu {

namespace {

const char* obstacle(const strategy::Problem& p) {
    if (const char* const reason = obstacle_of_products(p)) return reason;
    if (!p.processor.bf16) return "needs a processor with AVX512_BF16";
    return has_wide_registers(p.processor) ? nullptr : "needs isa avx512";
}

double bytes(const Shape& s, const std::string& isa) {
    return panel_bytes(s.n, panel_words(s.d, 2, isa));
}

const char* nearest(NearestCall& call, const strategy::Queries& queries, strategy::Numbers& left) {
    return nearest_by_panels(call, strategies::gemm_bf16, Rounding::bf16, queries, left);
}

std::unique_ptr<RadiusLevel> within(const RadiusCall& call) {
    return filter_level(call, Rounding::bf16);
}

}  // namespace

constinit const Strategy strategies::gemm_bf16{.facts = {.name = "gemm-bf16",
                                                         .path = Path::gemm_bf16,
                                                         .what = "a bf16 matrix product filters",
                                                         .obstacle = obstacle,
                                                         .bytes = bytes,
                                                         .tile = filter_tile},
                                               .nearest = nearest,
                                               .within = within};

}  // namespace kith::cpu
