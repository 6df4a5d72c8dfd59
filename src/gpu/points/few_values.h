// Categorical coordinates (few values): codes of categories, letters, levels, indicators.
#pragma once

#include <array>

#include "gpu/metric/kernels.h"
#include "gpu/points/tuning.h"
#include "gpu/runtime/memory/device_memory.h"

namespace kith::gpu {

// For each coordinate, the values in a sample of the rows.
struct CommonValues {
    static constexpr int powers = 5;  // 2, 4 ... tuning::most_values
    Buffer<double> table;  // most_values x d: value g of coordinate i at g d + i. The first 32
                           // values met, by falling frequency; NaN past the last
    std::array<double, powers>
        other;  // fraction of the sample's coordinates without one of the first 2, 4 ... values
};
static_assert(2 << (CommonValues::powers - 1) == tuning::most_values);

// From evenly spaced rows, at most tuning::value_samples, without rows that have a NaN.
// Synchronises.
CommonValues common_values(const PreparedRows& rows, std::int64_t d, cudaStream_t stream);

// For rows [0, n) with errors as in bit_rows.cu: half the number of coordinates with values that
// are not in the table.
struct OtherValues {
    std::int64_t total = 0;
    std::int64_t loose = 0;  // rows with more than `most`
};
// Synchronises.
OtherValues other_values(const float* point_error, std::int64_t n, double most,
                         cudaStream_t stream);

}  // namespace kith::gpu
