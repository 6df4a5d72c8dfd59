// Half-space partition of a projection's points (filter/cells.h): a sample decides whether it
// excludes enough, and the points are permuted into cell order.
#pragma once

#include <optional>

#include "gpu/points/pca/projection.h"
#include "gpu/points/pca/projection_sample.h"

namespace kith::gpu {

// Makes cells of n points, and puts the filter's vectors in their order
// (ProjectionChoices::reorder). Returns nullopt if there are too few points or, unless `always`, a
// query must be compared with too many cells. Synchronises.
std::optional<Cells> find_cells(const ProjectionSample& sample, const FilterVectors& filter,
                                std::int64_t n, const ProjectionChoices& choices);

}  // namespace kith::gpu
