// Schedules of the path "kato".
#pragma once

#include <cstdint>

#include "kith/plan.h"

namespace kith::papers {

// Points per side of a grid. The number of rows of grids is a multiple of 2 D, so that D devices
// have equally many.
std::int64_t kato_grid(std::int64_t n, int parts);
// Bytes that a device needs for its part in such grids: points, heaps and the distances of a grid.
double kato_device_bytes(const Shape& shape, std::int64_t grid);

}  // namespace kith::papers
