// Strategy gemm-f32: an f32 matrix product filters.
#include "cpu/search/filter_search.h"
#include "cpu/search/panel_facts.h"
#include "cpu/search/radius/radius_levels.h"

namespace kith::cpu {

namespace {

double bytes(const Shape& s, const std::string&) {
    return panel_bytes(s.n, s.d);
}

const char* nearest(NearestCall& call, const strategy::Queries& queries, strategy::Numbers& left) {
    return nearest_by_panels(call, strategies::gemm_f32, Rounding::f32, queries, left);
}

std::unique_ptr<RadiusLevel> within(const RadiusCall& call) {
    return filter_level(call, Rounding::f32);
}

}  // namespace

constinit const Strategy strategies::gemm_f32{.facts = {.name = "gemm-f32",
                                                        .path = Path::gemm_f32,
                                                        .what = "an f32 matrix product filters",
                                                        .obstacle = obstacle_of_products,
                                                        .bytes = bytes,
                                                        .tile = filter_tile},
                                              .nearest = nearest,
                                              .within = within};

}  // namespace kith::cpu
