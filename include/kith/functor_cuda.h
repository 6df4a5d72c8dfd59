// The GPU side of functor_metric(): include it in a file that nvcc compiles, with a functor whose call operator is
// __host__ __device__ and whose state can be copied to the device as it is.
#pragma once

#include <cuda_runtime.h>

#include "kith/functor.h"

namespace kith {

// A thread owns one (query, point) pair; a block of 32 x 8 shares nothing: rows of 32 points read the same query.
template <class F>
__global__ void functor_distances(F step, const double* queries, std::int64_t q_count, const double* points,
                                  std::int64_t x_count, std::int64_t d, double start, double* out, std::int64_t ld) {
    const std::int64_t x = blockIdx.x * std::int64_t{32} + threadIdx.x;
    if (x >= x_count) return;
    for (std::int64_t q = blockIdx.y * std::int64_t{8} + threadIdx.y; q < q_count; q += std::int64_t{8} * gridDim.y) {
        double a = start;
        for (std::int64_t j = 0; j < d; ++j) a = step(a, queries[q * d + j], points[x * d + j]);
        out[q * ld + x] = a;
    }
}

// As functor_metric(), for both backends.
template <class F>
FunctorMetric functor_metric_cuda(const F& f, double start = 0.0) {
    FunctorMetric metric = functor_metric(f, start);
    metric.device = [](const void* state, const double* queries, std::int64_t q_count, const double* points,
                       std::int64_t x_count, std::int64_t d, double first, double* out, std::int64_t ld, void* stream) {
        const F& step = *static_cast<const F*>(state);
        const std::int64_t blocks_q = (q_count + 7) / 8;
        const dim3 grid(static_cast<unsigned>((x_count + 31) / 32),
                        static_cast<unsigned>(blocks_q < 65535 ? blocks_q : 65535));
        functor_distances<<<grid, dim3(32, 8), 0, static_cast<cudaStream_t>(stream)>>>(step, queries, q_count, points,
                                                                                       x_count, d, first, out, ld);
        return static_cast<int>(cudaGetLastError());
    };
    return metric;
}

}  // namespace kith
