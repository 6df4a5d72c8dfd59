// Stands in for the component's GPU half in a build without KITH_PAPERS. The planner refuses
// earlier.
#include "exact/refuse.h"
#include "papers/gpu.h"
#include "papers/plan.h"

namespace kith::papers {

gpu::SelectFunction selector_function(std::size_t place) {
    refuse("selector: '{}': {}", gpu::selectors[place].name, not_built);
}

std::int64_t listed_points(const MatrixTile& tile) {
    refuse("path: '{}': {}", path_name(tile.plan), not_built);
}

ListBound list_candidates(const MatrixTile& tile, const gpu::CandidateLists&) {
    refuse("path: '{}': {}", path_name(tile.plan), not_built);
}

void distances(const gpu::Points&, const DistancesRequest& request) {
    refuse("path: '{}': {}", request.plan.distances, not_built);
}

}  // namespace kith::papers
