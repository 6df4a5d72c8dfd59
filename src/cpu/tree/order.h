// The order in which the leaves of a k-d tree follow each other: neighbours in space lie near each
// other.
#pragma once

#include <cstdint>

#include "exact/progress.h"

namespace kith::cpu {

// Orders the `count` numbers of rows of `rows` (d values each, none of them NaN) such that every
// aligned range of `leaf` times a power of two numbers is on one side of its twin range, in the
// coordinate in which both together extend the most, as far as a sample of them tells. Of equal
// values the smaller number comes first. Stops early where `progress` is cancelled.
void order_rows(const double* rows, std::int64_t d, std::int64_t* numbers, std::int64_t count,
                std::int64_t leaf, int threads, ProgressMeter& progress);

}  // namespace kith::cpu
