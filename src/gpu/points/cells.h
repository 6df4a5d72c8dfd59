// Cells of the points of a projection (filter/cells.h): whether they leave enough out, by a sample,
// and the order in which the points come then.
#pragma once

#include <optional>

#include "gpu/points/projection.h"
#include "gpu/points/projection_sample.h"

namespace kith::gpu {

// Of n points; none where they are too few, or a query has to be compared with too many of them,
// unless `always`. The filter's vectors are put in their order (ProjectionChoices::reorder).
// Synchronises.
std::optional<Cells> find_cells(const ProjectionSample& sample, const FilterVectors& filter,
                                std::int64_t n, const ProjectionChoices& choices);

}  // namespace kith::gpu
