// Rows with coordinates beyond a range, which the bound of a formula does not cover.
#pragma once

#include "formula/error_bound.h"
#include "gpu/metric/kernels.h"

namespace kith::gpu {

// Such points pass every threshold; those with a NaN stay farther than everything. By position, as
// filter_points.
void leave_out_points(const PreparedRows& rows, const FilterForm& form, const formula::Range& range,
                      float* half_norm, float* point_error, std::int64_t d, cudaStream_t stream);
// Such queries are scanned; those with a NaN have no neighbours.
void leave_out_queries(const PreparedRows& rows, const formula::Range& range, float* query_error,
                       std::uint8_t* unfit, std::int64_t d, cudaStream_t stream);

}  // namespace kith::gpu
