// Coordinates of metrics that are filtered after a factor (metric::Traits::factored): L' W (map(x)
// - centre) of some rows at a time, a tiled product in binary64.
#pragma once

#include <algorithm>

#include "gpu/filter/tuning.h"
#include "gpu/metric/kernels.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device_memory.h"

namespace kith::gpu {

// The rows in hand, by position: those of FilterForm::stride, or `samples` evenly spaced ones.
struct RowChoice {
    std::int64_t count = 0, samples = 0;
    // -1 beyond the last.
    KITH_HD std::int64_t row(const FilterForm& form, std::int64_t position) const {
        if (samples > 0) return position < samples ? position * count / samples : -1;
        return position < count ? row_at(form, position, count) : -1;
    }
};

// What a row's coordinate is before the factor: W (map(x) - centre).
template <class M>
__device__ __forceinline__ double weighted(const PreparedRows& in, std::int64_t row, std::int64_t i,
                                           const FilterForm& form) {
    static_assert(!M::traits.per_coordinate);
    const double x =
        M::template map<ScalarOps<double>>(in.rows.at(row, i), in.aux + row * metric::max_aux, 0.0);
    return (form.centre ? x - form.centre[i] : x) * form.factor.weights[i];
}

// A block of 256 threads owns 64 rows x 64 coordinates, a thread 4 x 4 of them.
template <class M>
__global__ void __launch_bounds__(256)
    multiply_factor(PreparedRows in, RowChoice choice, FilterForm form, double* out,
                    std::int64_t rows, int d) {
    constexpr int depth = 16, tile = 64;
    __shared__ double ys[depth][tile + 1], ls[depth][tile + 1];
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16,
              col0 = static_cast<int>(blockIdx.y) * tile;
    const std::int64_t row0 = static_cast<std::int64_t>(blockIdx.x) * tile;
    double sums[4][4] = {};
    // L is lower triangular: rows before col0 hold zeros in these columns.
    for (int k0 = col0; k0 < d; k0 += depth) {
        __syncthreads();
        for (int i = threadIdx.x; i < depth * tile; i += 256) {
            const int k = i % depth, r = i / depth;
            const std::int64_t row =
                row0 + r < rows ? choice.row(form, form.factor.first + row0 + r) : -1;
            ys[k][r] = k0 + k < d && row >= 0 ? weighted<M>(in, row, k0 + k, form) : 0.0;
        }
        for (int i = threadIdx.x; i < depth * tile; i += 256) {
            const int k = i / tile, c = i % tile;
            ls[k][c] = k0 + k < d && col0 + c < d
                           ? form.factor.matrix[static_cast<std::int64_t>(k0 + k) * d + col0 + c]
                           : 0.0;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < depth; ++k)
#pragma unroll
            for (int r = 0; r < 4; ++r)
#pragma unroll
                for (int c = 0; c < 4; ++c)
                    sums[r][c] = fused(ys[k][ty + 16 * r], ls[k][tx + 16 * c], sums[r][c]);
    }
    for (int r = 0; r < 4; ++r) {
        const std::int64_t row = row0 + ty + 16 * r;
        for (int c = 0; c < 4 && row < rows; ++c)
            if (col0 + tx + 16 * c < d) out[row * d + col0 + tx + 16 * c] = sums[r][c];
    }
}

// Calls launch(form, count) for runs of `count` positions, with their coordinates in
// form.factor.rows; for metrics without a factor, and where it is missing, once for all.
template <class M, class Function>
void with_coordinates(const PreparedRows& in, const RowChoice& choice, FilterForm form,
                      std::int64_t positions, const metric::Params& params, cudaStream_t stream,
                      Function launch) {
    if (!M::traits.factored || !form.factor.matrix) {
        launch(form, positions);
        return;
    }
    if constexpr (M::traits.factored) {
        const std::int64_t d = params.d, step = std::min(positions, tuning::factored_rows(d));
        Buffer<double> rows(step * d, stream);
        form.factor.rows = rows.get();
        for (std::int64_t& first = form.factor.first; first < positions; first += step) {
            const std::int64_t count = std::min(step, positions - first);
            multiply_factor<M>
                <<<dim3(static_cast<unsigned>((count + 63) / 64),
                        static_cast<unsigned>((d + 63) / 64)),
                   256, 0, stream>>>(in, choice, form, rows.get(), count, static_cast<int>(d));
            check_launch("multiply_factor");
            launch(form, count);
        }
    }
}

}  // namespace kith::gpu
