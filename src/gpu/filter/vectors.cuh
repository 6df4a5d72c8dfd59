// Vectors of the fused filter: mapped, centred and scaled (or made unit), rounded to fp16, with the terms of the proven
// bound. A warp owns a row. docs/exactness.md derives the bound; in short, with v the exact vector, v^ the rounded one,
// rho = |v - v^| measured, h = |v|^2 / 2 - F (l2) or -F, and a = h - <u^, v^> as the matrix units compute it,
//     a - E <= w <= a + E + 2 F,   w = |v|^2 / 2 - <u, v> (l2) or -<u, v>,
// so a point may be dropped when a > T with T at least the k-th smallest a + 2 (E + F).
#pragma once

#include "gpu/check.h"
#include "gpu/filter/pass.h"
#include "gpu/metric_kernels.h"
#include "gpu/warp.cuh"

namespace kith::gpu {

// Slack for the roundings of the bound itself, of binary64 norms and of the canonical form (relative), and for
// underflow.
inline constexpr double bound_slack = 1.002, canonical_slack = 0x1p-40, underflow_slack = 1e-30;
inline constexpr double smallest_square = 1e-280, largest_square = 1e280;
// The most that rounding to one term of fp16 takes from a vector, relatively, and to two; queries that lose more are
// scanned.
inline constexpr double half_residual = 0x1p-11;
KITH_HD double query_residual(int terms) {
    return terms == 1 ? half_residual : 0x1p-20;
}

// Norms of one row's vector: itself, what rounding left, the second term.
struct RowVector {
    double norm2 = 0, rho2 = 0, second2 = 0;
    bool finite = true;  // false: the vector cannot serve, `out` holds zeros
};

// A coordinate in one or two terms of fp16; returns what is left.
__device__ __forceinline__ double round_terms(double x, int terms, __half& first, __half& second) {
    first = __double2half(x);
    const double rest = x - static_cast<double>(__half2float(first));
    second = __half{};
    if (terms == 1) return rest;
    second = __double2half(rest);
    return rest - static_cast<double>(__half2float(second));
}

// Writes the rounded vector of a row to out[0 .. width): its terms, so that the products of a query's and a point's are
// first * first + first * second + second * first. `usable` false writes zeros.
template <class M>
__device__ RowVector round_row(const PreparedRows& in, std::int64_t row, const FilterForm& form, std::int64_t d,
                               double scale, bool unit, bool query, __half* out, bool usable) {
    using O = ScalarOps<double>;
    const int lane = threadIdx.x % 32;
    const double* const aux = in.aux + row * metric::max_aux;
    const auto raw = [&](std::int64_t i) {
        const double x = M::template map<O>(in.rows.at(row, i), aux);
        return form.centre ? x - static_cast<double>(form.centre[i]) : x;
    };
    double factor = scale;
    if (unit) {
        double norm2 = 0;
        for (std::int64_t i = lane; i < d; i += 32) {
            const double x = raw(i);
            norm2 += x * x;
        }
        norm2 = warp_sum(norm2);
        factor = norm2 > 0 ? scale / O::sqrt(norm2) : 0.0;
        // Outside of these limits squares lose bits in binary64, here and in the canonical form.
        usable = usable && (norm2 == 0 || (norm2 >= smallest_square && norm2 <= largest_square));
    }
    const std::int64_t part = form.terms == 1 ? form.width : form.width / 3;
    RowVector v;
    bool finite = usable;
    for (std::int64_t i = lane; i < part; i += 32) {
        const double x = i < d ? raw(i) * factor : 0.0;
        __half first, second;
        const double rest = round_terms(x, form.terms, first, second);
        finite &= isfinite(rest);
        v.norm2 += x * x;
        v.rho2 += rest * rest;
        const auto low = static_cast<double>(__half2float(second));
        v.second2 += low * low;
        out[i] = first;
        if (form.terms == 1) continue;
        out[part + i] = query ? first : second;
        out[2 * part + i] = query ? second : first;
    }
    v.norm2 = warp_sum(v.norm2);
    v.rho2 = warp_sum(v.rho2);
    v.second2 = warp_sum(v.second2);
    v.finite = __all_sync(0xffffffffu, finite) && v.norm2 < 1e30;
    if (!v.finite) {
        __syncwarp();
        for (std::int64_t i = lane; i < form.width; i += 32) out[i] = __half{};
    }
    return v;
}

template <class M>
__global__ void filter_points_kernel(PreparedRows in, FilterForm form, __half* vectors, float* h, float* f,
                                     metric::Params params) {
    const std::int64_t at = (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) / 32;
    const std::int64_t n = in.rows.count;
    const float infinity = __int_as_float(0x7f800000);
    if (at >= (n + filter_tile_points - 1) / filter_tile_points * filter_tile_points) return;
    if (at >= n) {
        if (threadIdx.x % 32 == 0) {
            h[at] = infinity;
            f[at] = 0.0f;
        }
        return;
    }
    const std::int64_t row = row_at(form, at, n);
    const bool nan = in.nan[row];
    const RowVector v =
        round_row<M>(in, row, form, params.d, form.scale, form.unit, false, vectors + at * form.width, !nan);
    if (threadIdx.x % 32 != 0) return;
    const double norm = sqrt(v.norm2), rho = sqrt(v.rho2), s = form.query_scale;
    double half_square = 0, bound = 0;
    if (form.gemm == metric::Gemm::l2) {
        half_square = 0.5 * v.norm2;
        bound = 0.5 * (v.rho2 / form.kappa + form.kappa * v.norm2 + v.second2) +
                (form.gamma + 0x1p-23 + canonical_slack) * v.norm2;
    } else {
        bound = s * (rho + half_residual * sqrt(v.second2) + (form.gamma + 0x1p-23 + canonical_slack) * norm);
        if (form.gemm == metric::Gemm::dot) bound += s * query_residual(form.terms) * norm;
    }
    bound = bound * bound_slack + underflow_slack;
    // A NaN point is farther than everything, one that cannot be filtered nearer.
    h[at] = v.finite ? __double2float_rd(half_square - bound) : (nan ? infinity : -infinity);
    f[at] = v.finite ? __double2float_ru(bound) : (nan ? 0.0f : infinity);
}

template <class M>
__global__ void filter_queries_kernel(PreparedRows in, FilterForm form, __half* vectors, float* e, std::uint8_t* unfit,
                                      metric::Params params) {
    const std::int64_t row = (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) / 32;
    if (row >= in.rows.count) return;
    const bool nan = in.nan[row], l2 = form.gemm == metric::Gemm::l2;
    // A query's length does not change the order of its products: the bound is for those of one norm.
    const RowVector v = round_row<M>(in, row, form, params.d, l2 ? form.scale : form.query_scale, !l2, true,
                                     vectors + row * form.width, !nan);
    if (threadIdx.x % 32 != 0) return;
    const double rho = sqrt(v.rho2), norm = sqrt(v.norm2);
    double bound = 0;
    if (l2)
        bound = 0.5 * (v.rho2 / form.kappa + form.kappa * v.norm2 + v.second2) +
                (0.5 * form.gamma + canonical_slack) * v.norm2;
    else if (form.gemm == metric::Gemm::cosine) bound = form.scale * rho;
    bound = bound * bound_slack + underflow_slack;
    e[row] = __double2float_ru(bound);
    // A query with a NaN has no neighbours: the scan says so. One that cannot be rounded is scanned.
    const bool coarse =
        rho > 1.001 * query_residual(form.terms) * norm || sqrt(v.second2) > 1.001 * half_residual * norm;
    unfit[row] = nan || !v.finite || (!l2 && coarse) || (form.gemm == metric::Gemm::dot && v.norm2 == 0.0);
}

// One block; thread t owns coordinates t, t + blockDim, ... of evenly spaced rows; see MetricKernels::sample.
template <class M>
__global__ void sample_rows_kernel(PreparedRows in, std::int64_t samples, FilterForm form, double* sums,
                                   metric::Params params) {
    using O = ScalarOps<double>;
    __shared__ double squares[256], residuals[256];
    const std::int64_t d = params.d;
    double square = 0, residual = 0;
    for (std::int64_t i = threadIdx.x; i < d; i += blockDim.x) {
        double sum = 0;
        for (std::int64_t s = 0; s < samples; ++s) {
            const std::int64_t row = s * in.rows.count / samples;
            const double x = M::template map<O>(in.rows.at(row, i), in.aux + row * metric::max_aux);
            if (!isfinite(x)) continue;
            sum += x;
            const double t = form.centre ? x - static_cast<double>(form.centre[i]) : x;
            square += t * t;
            __half first, second;
            const double rest = round_terms(t * form.scale, form.terms, first, second) / form.scale;
            if (isfinite(rest)) residual += rest * rest;
        }
        sums[i] = sum;
    }
    squares[threadIdx.x] = square;
    residuals[threadIdx.x] = residual;
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (int t = 1; t < static_cast<int>(blockDim.x); ++t) {
        square += squares[t];
        residual += residuals[t];
    }
    sums[d] = square;
    sums[d + 1] = residual;
}

template <class M>
void filter_points(const PreparedRows& rows, const FilterForm& form, __half* vectors, float* h, float* f,
                   const metric::Params& params, cudaStream_t stream) {
    const std::int64_t padded = (rows.rows.count + filter_tile_points - 1) / filter_tile_points * filter_tile_points;
    filter_points_kernel<M>
        <<<static_cast<unsigned>((padded + 7) / 8), 256, 0, stream>>>(rows, form, vectors, h, f, params);
    check_launch("filter_points");
}

template <class M>
void filter_queries(const PreparedRows& rows, const FilterForm& form, __half* vectors, float* e, std::uint8_t* unfit,
                    const metric::Params& params, cudaStream_t stream) {
    filter_queries_kernel<M>
        <<<static_cast<unsigned>((rows.rows.count + 7) / 8), 256, 0, stream>>>(rows, form, vectors, e, unfit, params);
    check_launch("filter_queries");
}

template <class M>
void sample_rows(const PreparedRows& rows, std::int64_t samples, const FilterForm& form, double* sums,
                 const metric::Params& params, cudaStream_t stream) {
    sample_rows_kernel<M><<<1, 256, 0, stream>>>(rows, samples, form, sums, params);
    check_launch("sample_rows");
}

}  // namespace kith::gpu
