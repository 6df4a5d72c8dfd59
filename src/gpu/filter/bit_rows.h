// Rows as the bits that a step of exact::counts_bits takes, in panels (direct.h), and their sizes.
#pragma once

#include "gpu/metric/kernels.h"

namespace kith::gpu {

// Points by position: bits, sizes as half norms, both with room for whole tiles; as
// MetricKernels::filter_points.
void bit_points(const PreparedRows& rows, const FilterForm& form, float* words, float* half_norm,
                float* point_error, std::int64_t d, cudaStream_t stream);
// As MetricKernels::filter_queries.
void bit_queries(const PreparedRows& rows, const FilterForm& form, float* words, float* query_error,
                 std::uint8_t* unfit, std::int64_t d, cudaStream_t stream);

}  // namespace kith::gpu
