// The order of the leaves of a k-d tree: points near each other in space are near in the order.
#pragma once

#include <cstdint>

#include "exact/report/progress.h"

namespace kith::cpu {

// Permutes the `count` row numbers of `rows` (d values each, no NaN) into k-d tree order. Every
// aligned range of `leaf` times a power of two numbers lies on one side of its twin range. The
// split is in the coordinate with the largest extent over both, as estimated from a sample. Equal
// values are ordered by row number. Stops early when `progress` is cancelled.
void order_rows(const double* rows, std::int64_t d, std::int64_t* numbers, std::int64_t count,
                std::int64_t leaf, int threads, ProgressMeter& progress);

}  // namespace kith::cpu
