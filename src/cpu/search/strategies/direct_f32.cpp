// Strategy direct-f32: the metric itself, evaluated in f32, filters.
#include "cpu/search/filter_search.h"
#include "cpu/search/panel_facts.h"
#include "cpu/search/radius/radius_levels.h"

namespace kith::cpu {

namespace {

const char* obstacle(const strategy::Problem& p) {
    if (p.user) return "needs a built-in metric";
    if (p.traits.direct == metric::Direct::none)
        return "serves metrics with a direct form in f32 only";
    return p.type == ElementType::f64 && !p.rounds ? "needs elements that f32 holds exactly"
                                                   : nullptr;
}

double bytes(const Shape& s, const std::string&) {
    return panel_bytes(s.n, s.d);
}

const char* nearest(NearestCall& call, const strategy::Queries& queries, strategy::Numbers& left) {
    return nearest_by_panels(call, strategies::direct_f32, Rounding::direct, queries, left);
}

std::unique_ptr<RadiusLevel> within(const RadiusCall& call) {
    return filter_level(call, Rounding::direct);
}

}  // namespace

constinit const Strategy strategies::direct_f32{.facts = {.name = "direct-f32",
                                                          .path = Path::direct_f32,
                                                          .what = "the metric in f32 filters",
                                                          .obstacle = obstacle,
                                                          .bytes = bytes,
                                                          .tile = filter_tile},
                                                .nearest = nearest,
                                                .within = within};

}  // namespace kith::cpu
