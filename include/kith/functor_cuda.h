// The GPU side of functor_metric(). Include it in a file that nvcc compiles, with a functor that has a __host__
// __device__ call operator and trivially copyable state. Compile it with --fmad=false: several kernel shapes use the
// functor. nvcc might otherwise fuse products and sums in some of them only, and a distance's last bits would depend on
// the number of queries.
#pragma once

#include <cuda_runtime.h>

#include "kith/functor.h"
#include "kith/functor_tile.h"

namespace kith {

namespace detail {

// Stores running values in a matrix with rows `ld` apart.
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

// functor_metric() for both backends.
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
