// Vectors of the matrix-product filter: mapped, centred and scaled (or made unit), rounded, with the terms of the
// proven bound. A warp owns a row. docs/exactness.md derives the bound; in short, with v the exact vector, v^ the
// rounded one, rho = |v - v^| measured, and a = h - F - <u^, v^> as the product computes it,
//     a - E <= w <= a + E + 2 F,   w = |v|^2 / 2 - <u, v> (l2) or -<u, v>,
// so a point may be dropped when a > T with T at least the k-th smallest a + 2 (E + F).
#pragma once

#include "gpu/check.h"
#include "gpu/metric_kernels.h"
#include "gpu/warp.cuh"

namespace kith::gpu {

// Slack for the roundings of the bound itself, of binary64 norms and of the canonical form (relative), and for
// underflow.
inline constexpr double bound_slack = 1.002, canonical_slack = 0x1p-40, underflow_slack = 1e-30;
inline constexpr double smallest_square = 1e-280, largest_square = 1e280;

__device__ __forceinline__ float round_vector(double v, bool tf32) {
    const float f = __double2float_rn(v);
    if (!tf32 || !isfinite(f)) return f;
    const std::uint32_t u = __float_as_uint(f);
    return __uint_as_float((u + 0xfffu + ((u >> 13) & 1u)) & ~0x1fffu);
}

// Norm and rounding residual of one row's vector.
struct RowVector {
    double norm2 = 0, rho2 = 0;
    bool finite = true;  // false: the vector cannot serve, `out` holds zeros
};

// Writes the rounded vector of a row to out[0 .. width), zeros behind its d coordinates. `usable` false writes zeros.
template <class M>
__device__ RowVector round_row(const PreparedRows& in, std::int64_t row, const FilterForm& form, std::int64_t d,
                               float* out, bool usable) {
    using O = ScalarOps<double>;
    const int lane = threadIdx.x % 32;
    const double* const aux = in.aux + row * metric::max_aux;
    const auto raw = [&](std::int64_t i) {
        const double x = M::template map<O>(in.rows.at(row, i), aux);
        return form.centre ? x - static_cast<double>(form.centre[i]) : x;
    };
    double factor = form.scale;
    if (form.unit) {
        double norm2 = 0;
        for (std::int64_t i = lane; i < d; i += 32) {
            const double x = raw(i);
            norm2 += x * x;
        }
        norm2 = warp_sum(norm2);
        factor = norm2 > 0 ? 1.0 / O::sqrt(norm2) : 0.0;
        // Outside of these limits squares lose bits in binary64, here and in the canonical form.
        usable = usable && (norm2 == 0 || (norm2 >= smallest_square && norm2 <= largest_square));
    }
    RowVector v;
    bool finite = usable;
    for (std::int64_t i = lane; i < d; i += 32) {
        const double x = raw(i) * factor;
        const float r = round_vector(x, form.tf32);
        finite &= isfinite(r) && isfinite(x);
        const double e = x - static_cast<double>(r);
        v.norm2 += x * x;
        v.rho2 += e * e;
        out[i] = r;
    }
    v.norm2 = warp_sum(v.norm2);
    v.rho2 = warp_sum(v.rho2);
    v.finite = __all_sync(0xffffffffu, finite) && v.norm2 < 1e30;
    if (!v.finite)
        for (std::int64_t i = lane; i < d; i += 32) out[i] = 0.0f;
    for (std::int64_t i = d + lane; i < form.width; i += 32) out[i] = 0.0f;
    __syncwarp();
    return v;
}

// Points: the last three coordinates carry h - F in three parts, which a query multiplies by -1 and the product's sign
// undoes.
template <class M>
__global__ void filter_points_kernel(PreparedRows in, FilterForm form, float* vectors, float* f,
                                     metric::Params params) {
    const std::int64_t row = (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) / 32;
    if (row >= in.rows.count) return;
    float* const out = vectors + row * form.width;
    const bool nan = in.nan[row];
    const RowVector v = round_row<M>(in, row, form, params.d, out, !nan);
    if (threadIdx.x % 32 != 0) return;
    const double norm = sqrt(v.norm2), rho = sqrt(v.rho2);
    double h = 0, bound = 0;
    if (form.gemm == metric::Gemm::l2) {
        h = 0.5 * v.norm2;
        bound = 0.5 * (v.rho2 / form.kappa + form.kappa * v.norm2) + form.gamma * v.norm2 + canonical_slack * v.norm2;
    } else if (form.gemm == metric::Gemm::dot) {
        bound = rho + ((form.tf32 ? 0x1p-11 : 0x1p-24) + form.gamma + canonical_slack) * norm;
    } else {
        bound = rho + form.gamma + canonical_slack;
    }
    bound = bound * bound_slack + underflow_slack;
    const float infinity = __int_as_float(0x7f800000);
    float parts[3] = {infinity, 0, 0};            // a NaN point is farther than everything,
    if (!nan && !v.finite) parts[0] = -infinity;  // one that cannot be filtered nearer
    if (v.finite) {
        double rest = h - bound;
        for (float& part : parts) {
            part = round_vector(rest, form.tf32);
            rest -= static_cast<double>(part);
        }
    }
    for (int i = 0; i < 3; ++i) out[params.d + i] = parts[i];
    f[row] = v.finite ? __double2float_ru(bound) : (nan ? 0.0f : infinity);
}

template <class M>
__global__ void filter_queries_kernel(PreparedRows in, FilterForm form, float* vectors, float* e, std::uint8_t* failed,
                                      metric::Params params) {
    const std::int64_t row = (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) / 32;
    if (row >= in.rows.count) return;
    float* const out = vectors + row * form.width;
    const bool nan = in.nan[row];
    // A query's length does not change the order of its products: F is for unit queries.
    if (form.gemm == metric::Gemm::dot) form.unit = true;
    const RowVector v = round_row<M>(in, row, form, params.d, out, !nan);
    if (threadIdx.x % 32 != 0) return;
    double bound = 0;
    if (form.gemm == metric::Gemm::l2)
        bound =
            0.5 * (v.rho2 / form.kappa + form.kappa * v.norm2) + 0.5 * form.gamma * v.norm2 + canonical_slack * v.norm2;
    else if (form.gemm == metric::Gemm::cosine) bound = sqrt(v.rho2);
    bound = bound * bound_slack + underflow_slack;
    for (int i = 0; i < 3; ++i) out[params.d + i] = -1.0f;
    e[row] = __double2float_ru(bound);
    // A query with a NaN has no neighbours: the scan says so. One that cannot be rounded is scanned.
    failed[row] = nan || !v.finite || (form.gemm == metric::Gemm::dot && v.norm2 == 0.0);
}

// One block; thread t owns coordinates t, t + blockDim, ... of evenly spaced rows. sums[i] is the sum of map(x)_i over
// the sampled rows where it is finite, sums[d] the sum of squares of all coordinates less the centre.
template <class M>
__global__ void sample_rows_kernel(PreparedRows in, std::int64_t samples, const float* centre, double* sums,
                                   metric::Params params) {
    using O = ScalarOps<double>;
    __shared__ double squares[256];
    const std::int64_t d = params.d;
    double square = 0;
    for (std::int64_t i = threadIdx.x; i < d; i += blockDim.x) {
        double sum = 0;
        for (std::int64_t s = 0; s < samples; ++s) {
            const std::int64_t row = s * in.rows.count / samples;
            const double x = M::template map<O>(in.rows.at(row, i), in.aux + row * metric::max_aux);
            if (!isfinite(x)) continue;
            sum += x;
            const double t = centre ? x - static_cast<double>(centre[i]) : x;
            square += t * t;
        }
        sums[i] = sum;
    }
    squares[threadIdx.x] = square;
    __syncthreads();
    if (threadIdx.x != 0) return;
    double total = 0;
    for (int t = 0; t < static_cast<int>(blockDim.x); ++t) total += squares[t];
    sums[d] = total;
}

template <class M>
void filter_points(const PreparedRows& rows, const FilterForm& form, float* vectors, float* f,
                   const metric::Params& params, cudaStream_t stream) {
    filter_points_kernel<M>
        <<<static_cast<unsigned>((rows.rows.count + 7) / 8), 256, 0, stream>>>(rows, form, vectors, f, params);
    check_launch("filter_points");
}

template <class M>
void filter_queries(const PreparedRows& rows, const FilterForm& form, float* vectors, float* e, std::uint8_t* failed,
                    const metric::Params& params, cudaStream_t stream) {
    filter_queries_kernel<M>
        <<<static_cast<unsigned>((rows.rows.count + 7) / 8), 256, 0, stream>>>(rows, form, vectors, e, failed, params);
    check_launch("filter_queries");
}

template <class M>
void sample_rows(const PreparedRows& rows, std::int64_t samples, const float* centre, double* sums,
                 const metric::Params& params, cudaStream_t stream) {
    sample_rows_kernel<M><<<1, 256, 0, stream>>>(rows, samples, centre, sums, params);
    check_launch("sample_rows");
}

}  // namespace kith::gpu
