// Strategy projected: products of a PCA projection filter, and the candidates are rescored from
// full-dimensional rows.
#include "cpu/search/filter_search.h"
#include "cpu/search/panel_facts.h"

namespace kith::cpu {

namespace {

const char* obstacle(const strategy::Problem& p) {
    return obstacle_of_coarse(p);
}

double bytes(const Shape& s, const std::string&) {
    constexpr double sample = 1 << 26;
    return 4.0 * static_cast<double>(s.n) * static_cast<double>(s.d + max_directions + 5) + sample;
}

const char* nearest(NearestCall& call, const strategy::Queries& queries, strategy::Numbers& left) {
    return nearest_by_coarse_panels(call, strategies::projected, Path::projected, queries, left);
}

}  // namespace

constinit const Strategy strategies::projected{
    .facts = {.name = "projected",
              .path = Path::projected,
              .what = "products along principal components, then of all coordinates",
              .obstacle = obstacle,
              .bytes = bytes,
              .tile = filter_tile},
    .nearest = nearest};

}  // namespace kith::cpu
