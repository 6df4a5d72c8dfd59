// The GPU side of functor_metric(): include it in a file that nvcc compiles, with a functor whose call operator is
// __host__ __device__ and whose state can be copied to the device as it is. Compile it with --fmad=false: kernels of
// several shapes take the functor, and otherwise nvcc may fuse products and sums in some of them only, so that the last
// bits of a distance depend on how many queries there are.
#pragma once

#include <cuda_runtime.h>

#include "kith/functor.h"
#include "kith/functor_tile.h"

namespace kith {

namespace detail {

// Running values to a matrix whose rows are `ld` apart.
struct StoreDistances {
    double* out;
    std::int64_t ld;
    __device__ auto row(long long i) const {
        return [to = out + i * ld](long long j, double a) { to[j] = a; };
    }
};

template <class Tiles, class F>
__global__ void __launch_bounds__(Tiles::threads, Tiles::blocks)
    functor_distances(F step, const double* queries, std::int64_t q_count, const double* points, std::int64_t x_count,
                      std::int64_t d, double start, StoreDistances store) {
    Tiles::run(step, store, start, queries, q_count, points, x_count, d);
}

template <class Tiles, class F>
int launch_functor(const F& step, const double* queries, std::int64_t q_count, const double* points,
                   std::int64_t x_count, std::int64_t d, double start, const StoreDistances& store,
                   cudaStream_t stream) {
    const std::int64_t rows = (q_count + Tiles::queries - 1) / Tiles::queries;
    const dim3 grid(static_cast<unsigned>((x_count + Tiles::points - 1) / Tiles::points),
                    static_cast<unsigned>(rows < 65535 ? rows : 65535));
    functor_distances<Tiles>
        <<<grid, Tiles::threads, 0, stream>>>(step, queries, q_count, points, x_count, d, start, store);
    return static_cast<int>(cudaGetLastError());
}

}  // namespace detail

// As functor_metric(), for both backends.
template <class F>
FunctorMetric functor_metric_cuda(const F& f, double start = 0.0) {
    FunctorMetric metric = functor_metric(f, start);
    metric.device = [](const void* state, const double* queries, std::int64_t q_count, const double* points,
                       std::int64_t x_count, std::int64_t d, double first, double* out, std::int64_t ld, void* stream) {
        const F& step = *static_cast<const F*>(state);
        const auto launch = q_count <= FewQueries::queries    ? detail::launch_functor<FewQueries, F>
                            : q_count <= SomeQueries::queries ? detail::launch_functor<SomeQueries, F>
                                                              : detail::launch_functor<ManyQueries, F>;
        return launch(step, queries, q_count, points, x_count, d, first, {out, ld}, static_cast<cudaStream_t>(stream));
    };
    return metric;
}

}  // namespace kith
