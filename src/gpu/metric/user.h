// User metrics on the GPU: formulas compiled at run time by NVRTC, and functors; canonical keys of
// a tile.
#pragma once

#include <cuda_runtime.h>

#include "exact/metric_spec.h"
#include "gpu/metric/kernels.h"

namespace kith::gpu {

// As MetricKernels::measure, convert (coordinates in their own order) and scan, for metrics without
// a kernel table.
void user_measure(const Rows& rows, std::uint8_t* nan, std::int64_t d, cudaStream_t stream);
void user_convert(const Rows& rows, double* out, std::int64_t d, cudaStream_t stream);
void user_scan(const ScanTile& tile, const MetricSpec& metric, cudaStream_t stream);
// As MetricKernels::refine, of formulas.
void user_refine(const RefineTask& task, const MetricSpec& metric, cudaStream_t stream);
void user_report(const std::uint64_t* keys, void* out, bool f64, std::int64_t count,
                 cudaStream_t stream);

}  // namespace kith::gpu
