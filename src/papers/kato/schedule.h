// Schedules of the path "kato".
#pragma once

#include <cstdint>

#include "kith/plan.h"

namespace kith::papers {

// Points of a side of a grid: rows of grids are a multiple of 2 D, so that each of D devices has
// the same.
std::int64_t kato_grid(std::int64_t n, int parts);
// What a device takes for its part in such grids: points, heaps and the distances of a grid.
double kato_device_bytes(const Shape& shape, std::int64_t grid);

}  // namespace kith::papers
