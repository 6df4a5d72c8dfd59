// Projecting: products of some rows at a time, then a warp rounds a row of them to fp16.
#include "gpu/filter/projection.h"

#include <algorithm>
#include <cmath>

#include "gpu/filter/along.cuh"
#include "gpu/filter/bound.h"
#include "gpu/filter/bytes.h"
#include "gpu/filter/coarse_threshold.cuh"
#include "gpu/filter/levels.h"
#include "gpu/filter/tuning.h"
#include "gpu/primitives/warp.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device_memory.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

// Of a form whose queries have one norm: rounding has changed that of both sides once already.
constexpr double projection_slack = 1 + 0x1p-9;
// What phi's own error may add to the square of a vector's length, which that slack has room for.
constexpr double largest_square = 0x1p-12;

// A row's phi from its coordinates along the columns, with a remainder that is no less than the
// exact one, rounded to `out`. The residual of what is returned is the distance of such a phi(v),
// of exact coordinates, from the rounded one; `finite`: whether fp16 holds it, else `out` is all
// zeros.
__device__ RowVector round_phi(const Directions& directions, const __half* vector, const Along& of,
                               std::int64_t i, __half* out) {
    const double* const along = of.coordinates + i * of.stride;
    const int lane = threadIdx.x % 32;
    double norm2 = 0, along2 = 0;
    for (std::int64_t j = lane; j < directions.depth; j += 32) {
        const auto x = static_cast<double>(__half2float(vector[j]));
        norm2 += x * x;
    }
    for (std::int64_t c = lane; c < directions.columns; c += 32) along2 += along[c] * along[c];
    norm2 = warp_sum(norm2);
    along2 = warp_sum(along2);
    const exact::ProjectionError error = error_of_row(directions, of, i, norm2);
    const double left = error.remainder(norm2, norm2 - along2);
    double rho2 = 0;
    for (std::int64_t c = lane; c < directions.form.width; c += 32) {
        const double x = c < directions.columns ? along[c] : c == directions.columns ? left : 0.0;
        const __half rounded = __double2half(x);
        const double rest = x - static_cast<double>(__half2float(rounded));
        rho2 += rest * rest;
        out[c] = rounded;
    }
    rho2 = warp_sum(rho2);
    const double residual = sqrt(rho2) + error.coordinates * sqrt(norm2);
    RowVector v;
    v.norm2 = fmax(norm2, along2 + left * left) * (1 + 0x1p-20);
    v.rho2 = residual * residual * (1 + 0x1p-20);
    v.finite = isfinite(v.rho2) && error.square < largest_square;
    if (!v.finite) {  // a coordinate beyond fp16, or one of which next to nothing is known
        __syncwarp();
        for (std::int64_t c = lane; c < directions.form.width; c += 32) out[c] = __half{};
    }
    return v;
}

__global__ void points_kernel(Directions directions, const __half* vectors, Along along,
                              const float* half_norm, std::int64_t first, std::int64_t count,
                              std::int64_t n, __half* projected, float* projected_half_norm) {
    const std::int64_t i = (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) / 32,
                       at = first + i;
    if (i >= count) return;
    const float h = half_norm[at];
    if (at >= n || !(fabsf(h) < __int_as_float(0x7f800000))) {
        // Padding, a point that is nobody's neighbour, or one that every query has to look at.
        for (std::int64_t c = threadIdx.x % 32; at < n && c < directions.form.width; c += 32)
            projected[at * directions.form.width + c] = __half{};
        if (threadIdx.x % 32 == 0) projected_half_norm[at] = h;
        return;
    }
    const RowVector v = round_phi(directions, vectors + at * directions.depth, along, i,
                                  projected + at * directions.form.width);
    if (threadIdx.x % 32 != 0) return;
    // The accumulators start from the half norm, which is not phi's.
    const double started = directions.form.gamma * fabs(static_cast<double>(h));
    const double bound = projection_slack * (point_bound(directions.form, v, false) + started);
    projected_half_norm[at] =
        v.finite ? __double2float_rd(static_cast<double>(h) - bound) : -__int_as_float(0x7f800000);
}

__global__ void queries_kernel(Directions directions, const __half* vectors, Along along,
                               std::int64_t first, std::int64_t count, __half* projected,
                               float* error) {
    const std::int64_t i = (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) / 32,
                       at = first + i;
    if (i >= count) return;
    const RowVector v = round_phi(directions, vectors + at * directions.depth, along, i,
                                  projected + at * directions.form.width);
    if (threadIdx.x % 32 != 0) return;
    // One that rounds by more than the points pay for looks at all of them.
    const bool pays =
        v.finite && (directions.form.gemm == metric::Gemm::l2 || !is_coarse(directions.form, v));
    error[at] = pays ? __double2float_ru(projection_slack * query_bound(directions.form, v, false))
                     : __int_as_float(0x7f800000);
}

__global__ void thresholds_kernel(const float* threshold, const float* error,
                                  const std::uint8_t* overflowed, std::int64_t q, float* out) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i >= q) return;
    const float nothing = __int_as_float(0x7fffffff);  // NaN: no pair passes
    out[i] = overflowed && overflowed[i] ? nothing : coarse_threshold(threshold[i], error[i]);
}

// Calls then(first, count, along) for runs of positions up to `end`, with the coordinates of
// vectors, of which there are `rows`, along so many columns; without them where these are the
// vectors' own.
template <class Function>
void in_runs(const Directions& directions, std::int64_t columns, const __half* vectors,
             std::int64_t rows, std::int64_t end, cudaStream_t stream, Function then) {
    if (!directions.matrix) {
        then(std::int64_t{0}, end, Along{});
        return;
    }
    const std::int64_t stride = (columns + 7) / 8 * 8,
                       step = std::min(end, tuning::projected_rows(directions.depth, stride));
    const Buffer<double> coordinates(step * stride, stream);
    const Buffer<float> lost(step, stream);
    const Along along{coordinates.get(), lost.get(), stride};
    for (std::int64_t first = 0; first < end; first += step) {
        const std::int64_t count = std::min(step, end - first),
                           real = std::min(count, rows - first);
        if (real > 0)
            product(vectors + first * directions.depth, real, *directions.matrix, columns,
                    coordinates.get(), stride, lost.get(), stream);
        then(first, count, along);
    }
}

}  // namespace

void project_points(const Directions& directions, const __half* vectors, std::int64_t n,
                    const float* half_norm, void* projected, float* projected_half_norm,
                    const FurtherRows& further, cudaStream_t stream) {
    in_runs(directions, directions.all_columns(), vectors, n, whole_tiles(n), stream,
            [&](std::int64_t first, std::int64_t count, const Along& along) {
                if (directions.bytes) {
                    round_points(directions, vectors, along, half_norm, first, count, n,
                                 static_cast<std::int8_t*>(projected),
                                 reinterpret_cast<int*>(projected_half_norm), stream);
                } else {
                    points_kernel<<<blocks_for(count, item_warps), item_threads, 0, stream>>>(
                        directions, vectors, along, half_norm, first, count, n,
                        static_cast<__half*>(projected), projected_half_norm);
                    check_launch("project_points");
                }
                for (int stage = 0; stage < directions.stages && first < n; ++stage)
                    further_rows(directions, stage, false, vectors, along, first,
                                 std::min(count, n - first),
                                 further[static_cast<std::size_t>(stage)], stream);
            });
}

void project_queries(const Directions& directions, const __half* vectors, std::int64_t q,
                     void* projected, float* error, const FurtherRows& further,
                     cudaStream_t stream) {
    int stages = 0;
    while (stages < directions.stages && further[static_cast<std::size_t>(stages)]) ++stages;
    in_runs(directions, directions.columns_with(stages), vectors, q, q, stream,
            [&](std::int64_t first, std::int64_t count, const Along& along) {
                if (directions.bytes) {
                    round_queries(directions, vectors, along, first, count,
                                  static_cast<std::int8_t*>(projected), error, stream);
                } else {
                    queries_kernel<<<blocks_for(count, item_warps), item_threads, 0, stream>>>(
                        directions, vectors, along, first, count, static_cast<__half*>(projected),
                        error);
                    check_launch("project_queries");
                }
                for (int stage = 0; stage < stages; ++stage)
                    further_rows(directions, stage, true, vectors, along, first, count,
                                 further[static_cast<std::size_t>(stage)], stream);
            });
}

void projected_thresholds(const Directions& directions, const float* threshold, const float* error,
                          const std::uint8_t* overflowed, std::int64_t q, float* out,
                          cudaStream_t stream) {
    if (directions.bytes) {
        byte_thresholds(threshold, error, overflowed, q, directions.bytes.step,
                        reinterpret_cast<int*>(out), stream);
        return;
    }
    thresholds_kernel<<<item_blocks(q), item_threads, 0, stream>>>(threshold, error, overflowed, q,
                                                                   out);
    check_launch("projected_thresholds");
}

}  // namespace kith::gpu
