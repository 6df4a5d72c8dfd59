// A formula compiled by NVRTC for the current device.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "formula/program.h"

namespace kith::gpu {

// out[i * n + j]: the last running value of query i and point j; queries and points are dense f64 rows of d.
void formula_distances(const formula::Program& program, double start, const double* queries, std::int64_t q,
                       const double* points, std::int64_t n, std::int64_t d, double* out, cudaStream_t stream);

}  // namespace kith::gpu
