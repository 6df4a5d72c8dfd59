// Rows with coordinates outside the range that a formula's bound covers.
#pragma once

#include "formula/error_bound.h"
#include "gpu/metric/kernels.h"

namespace kith::gpu {

// These points pass every threshold, unless they have a NaN, which stays farther than everything.
// By position, like filter_points.
void leave_out_points(const PreparedRows& rows, const FilterForm& form, const formula::Range& range,
                      float* half_norm, float* point_error, std::int64_t d, cudaStream_t stream);
// These queries are scanned, unless they have a NaN and so no neighbours.
void leave_out_queries(const PreparedRows& rows, const formula::Range& range, float* query_error,
                       std::uint8_t* unfit, std::int64_t d, cudaStream_t stream);

}  // namespace kith::gpu
