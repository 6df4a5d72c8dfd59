// The values that coordinates take where these are few: codes of categories, letters, levels,
// indicators.
#pragma once

#include <array>

#include "gpu/metric/kernels.h"
#include "gpu/points/tuning.h"
#include "gpu/runtime/device_memory.h"

namespace kith::gpu {

// Of every coordinate, the values that a sample of the rows has.
struct CommonValues {
    static constexpr int powers = 5;  // 2, 4 ... tuning::most_values
    Buffer<double> table;  // most_values x d: value g of coordinate i at g d + i, of the first 32
                           // met the most frequent first; NaN where there are no more
    std::array<double, powers>
        other;  // the share of the sample's coordinates that the first 2, 4 ... do not hold
};
static_assert(2 << (CommonValues::powers - 1) == tuning::most_values);

// Evenly spaced rows, up to tuning::value_samples of them, those with a NaN left out. Synchronises.
CommonValues common_values(const PreparedRows& rows, std::int64_t d, cudaStream_t stream);

// Of rows [0, n), whose errors are half of the values that they have beside the table's
// (bit_rows.cu).
struct OtherValues {
    std::int64_t total = 0;
    std::int64_t loose = 0;  // rows that have more than `most`
};
// Synchronises.
OtherValues other_values(const float* point_error, std::int64_t n, double most,
                         cudaStream_t stream);

}  // namespace kith::gpu
