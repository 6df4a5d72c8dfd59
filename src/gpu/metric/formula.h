// A formula compiled by NVRTC for the current device.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "formula/program.h"
#include "gpu/metric/kernels.h"

namespace kith::gpu {

// The canonical keys of a tile; the coordinates are in their own order.
void formula_scan(const formula::Program& program, double start, const ScanTile& tile,
                  std::int64_t d, cudaStream_t stream);

// The canonical keys of candidates.
void formula_refine(const formula::Program& program, double start, const RefineTask& task,
                    std::int64_t d, cudaStream_t stream);

}  // namespace kith::gpu
