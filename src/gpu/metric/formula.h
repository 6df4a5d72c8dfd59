// A formula compiled by NVRTC for the current device.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "formula/program.h"
#include "gpu/metric/kernels.h"

namespace kith::gpu {

// Canonical keys of a tile; coordinates are in natural order.
void formula_scan(const formula::Program& program, double start, const ScanTile& tile,
                  std::int64_t d, cudaStream_t stream);

// Canonical keys of candidates.
void formula_refine(const formula::Program& program, double start, const RefineTask& task,
                    std::int64_t d, cudaStream_t stream);

}  // namespace kith::gpu
