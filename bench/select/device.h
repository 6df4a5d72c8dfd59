// The selection benchmark's questions to the CUDA device that is current: values made there, and the device's limits.
#pragma once

#include <cstdint>

#include "select/values.h"

namespace kith::bench {

// rows x n values on `device`; by_column: element (r, c) lies at c * rows + r, else at r * n + c.
void fill(int device, float* to, std::int64_t rows, std::int64_t n, Order order, bool by_column);

// Median seconds of reading `count` floats once.
double read_seconds(int device, const float* values, std::int64_t count);
// Median seconds of copying `count` floats to pageable memory of the host.
double copy_seconds(int device, const float* values, std::int64_t count, float* to);

}  // namespace kith::bench
