// Vectors of the fused filter: mapped, centred and scaled (or made unit), rounded to fp16, with the terms of the proven
// bound. A warp owns a row. docs/exactness.md derives the bound; in short, with v the exact vector, v^ the rounded one,
// rho = |v - v^| measured, h = |v|^2 / 2 - F (l2; half_norm in the code) or -F, and a = h - <u^, v^> as the matrix
// units compute it,
//     a - E <= w <= a + E + 2 F,   w = |v|^2 / 2 - <u, v> (l2) or -<u, v>,
// so a point may be dropped when a > T with T at least the k-th smallest a + 2 (E + F). E (query_error) + F
// (point_error) is at least the sum of
//     |u| rho_v + rho_u |v| + rho_u rho_v     rounding of the coordinates
//     |u2| |v2|                               the product of the second terms, which is left out
//     gamma (|h| + size_u size_v)             accumulation, and rounding h
//     canonical_slack (|u|^2 + |v|^2)         binary64, here and in the distance key
//     factor_bound of both                    the same where a factor multiplies
// where the products of a query's and a point's part are split by kappa or into halves (l2), or |u| is known (others).
#pragma once

#include "gpu/filter/factored.cuh"
#include "gpu/filter/pass.h"
#include "gpu/metric/kernels.h"
#include "gpu/primitives/warp.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

// Slack for the roundings of the bound itself and what rounding adds to unit queries (relative), of binary64 norms and
// of the canonical form (relative), and for underflow.
inline constexpr double bound_slack = 1.002, canonical_slack = 0x1p-40, underflow_slack = 1e-30;
// fp16's smallest normal number. The matrix units align products of smaller ones as if they were of that size.
inline constexpr double smallest_normal = 0x1p-14;
inline constexpr double smallest_square = 1e-280, largest_square = 1e280;
// The most that rounding to one term of fp16 takes from a vector, relatively, and to two; queries that lose more are
// scanned.
inline constexpr double half_residual = 0x1p-11;
KITH_HD double query_residual(int terms) {
    return terms == 1 ? half_residual : 0x1p-20;
}

// Norms of one row's vector: itself, what rounding left, the second term, what the factor multiplied.
struct RowVector {
    double norm2 = 0, rho2 = 0, second2 = 0, before2 = 0;
    bool finite = true;  // false: the vector cannot serve, `out` holds zeros
    bool zero = false;   // nothing that could be made unit; `out` holds zeros

    // At least the norms of the rounded terms together. Two vectors' sizes multiplied are at least the sum of the
    // products of their coordinates, and at least what any of these is aligned as.
    __device__ double size() const { return sqrt(norm2) + sqrt(rho2) + 2 * sqrt(second2) + smallest_normal; }
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

// What a factor adds to E or F: its own residual and the canonical form's rounding, and what the roundings of the
// coordinates move; factor_split balances their products with the length of the vectors.
inline constexpr double factor_split = 0x1p-20;
KITH_HD double factor_bound(const FilterForm& form, const RowVector& v) {
    const double error = form.factor.coordinate_error, before2 = form.scale * form.scale * v.before2;
    return factor_split * v.norm2 + ((1 + 1 / factor_split) * error * error + form.factor.rank_error) * before2;
}

// Writes the rounded vector of a row (at a position) to out[0 .. width): its terms, so that the products of a query's
// and a point's are first * first + first * second + second * first. `usable` false writes zeros.
template <class M>
__device__ RowVector round_row(const PreparedRows& in, std::int64_t row, std::int64_t position, const FilterForm& form,
                               const metric::Params& params, double scale, bool unit, bool query, __half* out,
                               bool usable) {
    using O = ScalarOps<double>;
    const int lane = threadIdx.x % 32;
    const std::int64_t d = params.d;
    const double* const aux = in.aux + row * metric::max_aux;
    const auto raw = [&](std::int64_t i) {
        if constexpr (M::traits.factored) {
            return form.factor.rows ? form.factor.rows[(position - form.factor.first) * d + i] : 0.0;
        } else {
            const double x = M::template map<O>(in.rows.at(row, i), aux, metric::constant<M>(params, i));
            return form.centre && !unit ? x - form.centre[i] : x;
        }
    };
    double factor = scale;
    RowVector v;
    if (unit) {
        double norm2 = 0;
        for (std::int64_t i = lane; i < d; i += 32) {
            const double x = raw(i);
            norm2 += x * x;
        }
        norm2 = warp_sum(norm2);
        v.zero = norm2 == 0;
        factor = norm2 > 0 ? scale / O::sqrt(norm2) : 0.0;
        // Outside of these limits squares lose bits in binary64, here and in the canonical form.
        usable = usable && (norm2 == 0 || (norm2 >= smallest_square && norm2 <= largest_square));
    }
    const bool centred = unit && form.centre;
    if (centred && v.zero) usable = false;  // at distance 1 of everything
    const std::int64_t part = form.terms == 1 ? form.width : form.width / 3;
    if constexpr (M::traits.factored) {
        usable = usable && form.factor.rows;
        for (std::int64_t i = lane; usable && i < d; i += 32) {
            const double y = weighted<M>(in, row, i, form);
            v.before2 += y * y;
        }
        v.before2 = warp_sum(v.before2);
        usable = usable && v.before2 <= largest_square;
    }
    bool finite = usable;
    for (std::int64_t i = lane; i < part; i += 32) {
        double x = i < d ? raw(i) * factor : 0.0;
        if (centred && i < d) x -= form.centre[i] * scale;
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

// E and F of the l2 form: the same of a vector, as the sum of a pair may have started from either's h
// (column_thresholds).
template <class M>
__device__ double l2_bound(const FilterForm& form, const RowVector& v) {
    const double size = v.size();
    const double bound = 0.5 * (v.rho2 / form.kappa + form.kappa * v.norm2 + v.rho2 + v.second2) +
                         0.5 * form.gamma * (size * size + v.norm2) + canonical_slack * v.norm2;
    return M::traits.factored ? bound + factor_bound(form, v) : bound;
}

// With all slack. |h| is at most half the square, which has paid for it, or the bound, which pays for it here.
__device__ __forceinline__ double widened(const FilterForm& form, double bound) {
    return (bound * bound_slack + underflow_slack) * (1 + 2 * form.gamma);
}

template <class M>
__global__ void filter_points_kernel(PreparedRows in, FilterForm form, __half* vectors, float* half_norm,
                                     float* point_error, metric::Params params) {
    const std::int64_t at = form.factor.first + (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) / 32;
    const std::int64_t n = in.rows.count;
    const float infinity = __int_as_float(0x7f800000);
    if (at >= whole_tiles(n)) return;
    if (at >= n) {
        if (threadIdx.x % 32 == 0) {
            half_norm[at] = infinity;
            point_error[at] = 0.0f;
        }
        return;
    }
    const std::int64_t row = row_at(form, at, n);
    const bool nan = in.nan[row];
    const RowVector v =
        round_row<M>(in, row, at, form, params, form.scale, form.unit, false, vectors + at * form.width, !nan);
    if (threadIdx.x % 32 != 0) return;
    const double norm = sqrt(v.norm2), rho = sqrt(v.rho2), s = form.query_scale;
    double half_square = 0, bound = 0;
    if (form.gemm == metric::Gemm::l2) {
        half_square = 0.5 * v.norm2;
        bound = l2_bound<M>(form, v);
        if (form.unit) bound += canonical_slack * form.scale * form.scale;
    } else {
        bound = s * (rho + half_residual * sqrt(v.second2) + form.gamma * v.size() + canonical_slack * norm);
        if (form.gemm == metric::Gemm::dot) bound += s * query_residual(form.terms) * (norm + rho);
    }
    bound = widened(form, bound);
    // A NaN point is farther than everything, one that cannot be filtered nearer.
    half_norm[at] = v.finite ? __double2float_rd(half_square - bound) : (nan ? infinity : -infinity);
    point_error[at] = v.finite ? __double2float_ru(bound) : (nan ? 0.0f : infinity);
}

template <class M>
__global__ void filter_queries_kernel(PreparedRows in, FilterForm form, __half* vectors, float* query_error,
                                      std::uint8_t* unfit, metric::Params params) {
    const std::int64_t row =
        form.factor.first + (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) / 32;
    if (row >= in.rows.count) return;
    const bool nan = in.nan[row], l2 = form.gemm == metric::Gemm::l2, unit = form.unit || !l2;
    // A query's length does not change the order of its products: the bound is for those of one norm.
    const RowVector v = round_row<M>(in, row, row, form, params, l2 ? form.scale : form.query_scale, unit, true,
                                     vectors + row * form.width, !nan);
    if (threadIdx.x % 32 != 0) return;
    const double rho = sqrt(v.rho2), norm = sqrt(v.norm2);
    double bound = 0;
    if (l2) {
        bound = l2_bound<M>(form, v);
        if (unit) bound += canonical_slack * form.scale * form.scale;
    } else if (form.gemm == metric::Gemm::cosine) bound = form.scale * rho;
    bound = widened(form, bound);
    // One that cannot be rounded is scanned.
    const bool coarse =
        rho > 1.001 * query_residual(form.terms) * norm || sqrt(v.second2) > 1.001 * half_residual * norm;
    const bool alike = v.zero && M::traits.gemm == metric::Gemm::cosine;
    const bool scan = !v.finite || v.zero || (!l2 && coarse);
    unfit[row] = nan ? no_neighbours : alike ? all_alike : scan ? to_scan : fit;
    // Only points that pass every threshold pass that of such a query.
    query_error[row] = nan || scan ? __int_as_float(0xff800000) : __double2float_ru(bound);
}

// out[s d + i] = coordinate i of sample s of evenly spaced rows, after the factor where there is one. A block owns a
// row.
template <class M>
__global__ void sample_rows_kernel(PreparedRows in, std::int64_t samples, FilterForm form, double* out,
                                   metric::Params params) {
    const std::int64_t sample = form.factor.first + blockIdx.x, row = sample * in.rows.count / samples;
    for (std::int64_t i = threadIdx.x; i < params.d; i += blockDim.x) {
        double x = M::template map<ScalarOps<double>>(in.rows.at(row, i), in.aux + row * metric::max_aux,
                                                      metric::constant<M>(params, i));
        if constexpr (M::traits.factored)
            if (form.factor.rows) x = form.factor.rows[blockIdx.x * params.d + i];
        out[sample * params.d + i] = x;
    }
}

template <class M>
void filter_points(const PreparedRows& rows, const FilterForm& form, __half* vectors, float* half_norm,
                   float* point_error, const metric::Params& params, cudaStream_t stream) {
    const std::int64_t n = rows.rows.count;
    with_coordinates<M>(rows, {n, 0}, form, whole_tiles(n), params, stream,
                        [&](const FilterForm& some, std::int64_t count) {
                            filter_points_kernel<M><<<blocks_for(count, item_warps), item_threads, 0, stream>>>(
                                rows, some, vectors, half_norm, point_error, params);
                            check_launch("filter_points");
                        });
}

template <class M>
void filter_queries(const PreparedRows& rows, const FilterForm& points_form, __half* vectors, float* query_error,
                    std::uint8_t* unfit, const metric::Params& params, cudaStream_t stream) {
    const std::int64_t q = rows.rows.count;
    FilterForm form = points_form;
    form.stride = 1;  // queries keep their order
    with_coordinates<M>(rows, {q, 0}, form, q, params, stream, [&](const FilterForm& some, std::int64_t count) {
        filter_queries_kernel<M><<<blocks_for(count, item_warps), item_threads, 0, stream>>>(
            rows, some, vectors, query_error, unfit, params);
        check_launch("filter_queries");
    });
}

template <class M>
void sample_rows(const PreparedRows& rows, std::int64_t samples, const FilterForm& form, double* out,
                 const metric::Params& params, cudaStream_t stream) {
    with_coordinates<M>(rows, {rows.rows.count, samples}, form, samples, params, stream,
                        [&](const FilterForm& some, std::int64_t count) {
                            sample_rows_kernel<M><<<static_cast<unsigned>(count), item_threads, 0, stream>>>(
                                rows, samples, some, out, params);
                            check_launch("sample_rows");
                        });
}

}  // namespace kith::gpu
