// Vectors of the fused filter: mapped, centred and scaled (or made unit), rounded to fp16, with the
// terms of the proven bound (bound.h). A warp, or a group of its lanes, owns a row.
#pragma once

#include "gpu/filter/coordinates.cuh"
#include "gpu/filter/pass.h"
#include "gpu/metric/kernels.h"
#include "gpu/metric/measure_row.cuh"
#include "gpu/primitives/warp.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

// A coordinate in one or two terms of fp16; returns what is left.
__device__ __forceinline__ double round_terms(double x, int terms, __half& first, __half& second) {
    first = __double2half(x);
    const double rest = x - static_cast<double>(__half2float(first));
    second = __half{};
    if (terms == 1) return rest;
    second = __double2half(rest);
    return rest - static_cast<double>(__half2float(second));
}

// Whether rows are as most are: without a factor or logarithms (plain_metric), in one term, with
// elements side by side.
template <class M>
inline constexpr bool plain_metric = !M::traits.factored && !takes_logarithms<M>;
inline bool is_plain(const Rows& rows, const FilterForm& form) {
    return rows.col_stride == 1 && form.terms == 1;
}
// Whether points are made unit, FilterForm::unit.
template <class M>
inline constexpr bool unit_points = metric::product_form(M::traits) == metric::Gemm::cosine;

// Writes the rounded vector of a row (at a position) to out[0 .. width): its terms, so that the
// products of a query's and a point's are first * first + first * second + second * first. `usable`
// false writes zeros. `plain`: is_plain().
template <class M, bool plain, int lanes>
__device__ __forceinline__ RowVector round_row(const PreparedRows& in, std::int64_t row,
                                               std::int64_t position, const FilterForm& form,
                                               const metric::Params& params, double scale,
                                               bool unit, bool query, __half* out, bool usable) {
    using O = ScalarOps<double>;
    const int lane = threadIdx.x % lanes;
    const std::int64_t d = params.d;
    const auto each_coordinate = [&](const auto& use) {
        if constexpr (plain) {
            in.rows.template each<lanes>(row, lane, d, [&](std::int64_t i, double element) {
                use(i, coordinate<M>(element, in, row, i, form, params, unit));
            });
        } else if constexpr (takes_logarithms<M>) {
            for (std::int64_t i = lane; i < d; i += lanes)
                use(i, mapped<M>(in.rows.at(row, i), in, row, i, params));
        } else {
            for (std::int64_t i = lane; i < d; i += lanes)
                use(i, coordinate<M>(in, row, position, i, form, params, unit));
        }
    };
    double factor = scale;
    RowVector v;
    if (unit) {
        double norm2 = 0;
        bool other = false;
        each_coordinate([&](std::int64_t, double x) {
            norm2 += x * x;
            other |= x != 0;
        });
        norm2 = group_sum<lanes>(norm2);
        v.zero = norm2 == 0;
        v.empty = !__any_sync(group_mask<lanes>(), other);
        factor = norm2 > 0 ? scale / O::sqrt(norm2) : 0.0;
        // Outside of these limits squares lose bits in binary64, here and in the canonical form.
        usable = usable && (norm2 == 0 || (norm2 >= smallest_square && norm2 <= largest_square));
    }
    const bool centred = unit && form.centre && form.gemm == metric::Gemm::l2;
    const bool shifts = M::traits.gemm == metric::Gemm::dot && form.shifts_products();
    const int terms = plain ? 1 : form.terms;
    const std::int64_t part = terms == 1 ? form.width : form.width / 3;
    if constexpr (M::traits.factored) {
        usable = usable && form.factor.rows;
        for (std::int64_t i = lane; usable && i < d; i += lanes) {
            const double y = weighted<M>(in, row, i, form);
            v.before2 += y * y;
        }
        v.before2 = group_sum<lanes>(v.before2);
        usable = usable && v.before2 <= largest_square;
    }
    bool finite = usable;
    const auto put = [&](std::int64_t i, __half first, __half second) {
        out[i] = first;
        if (terms == 1) return;
        out[part + i] = query ? first : second;
        out[2 * part + i] = query ? second : first;
    };
    each_coordinate([&](std::int64_t i, double raw) {
        double x = 0, rounded = 0;
        bool logarithm_of_zero = false;
        if constexpr (takes_logarithms<M>) {
            const double centre = form.centre ? form.centre[i] : 0.0;
            const EntropyCoordinate c = query ? entropy_query(raw, centre, factor, form.least)
                                              : entropy_point(raw, centre, factor);
            x = c.exact;
            rounded = c.rounded;
            v.weight += c.weight;
            finite &= c.covered;
            v.zeros |= logarithm_of_zero = c.zero;
        } else {
            x = raw * factor;
            if (centred) x -= __ldg(form.centre + i) * form.scale;
            if (shifts && !query) v.offset -= __ldg(form.centre + i) * form.scale * x;
            rounded = x;
        }
        __half first, second;
        double rest = round_terms(rounded, terms, first, second);
        if (terms == 2) {
            const auto low = static_cast<double>(__half2float(second));
            v.second2 += low * low;
        }
        if constexpr (takes_logarithms<M>) rest += x - rounded;
        v.norm2 += x * x;
        v.rho2 += rest * rest;
        if (logarithm_of_zero) first = __double2half(-entropy_norm);
        put(i, first, second);
    });
    for (std::int64_t i = d + lane; i < part; i += lanes) put(i, __half{}, __half{});
    v.norm2 = group_sum<lanes>(v.norm2);
    v.rho2 = group_sum<lanes>(v.rho2);
    if (terms == 2) v.second2 = group_sum<lanes>(v.second2);
    if (shifts) v.offset = group_sum<lanes>(v.offset);
    // A row of zeros is at distance 1 of all unit vectors.
    if (form.unit && centred && v.zero) v.offset = 0.5 * form.scale * form.scale;
    if constexpr (takes_logarithms<M>) {
        v.weight = group_sum<lanes>(v.weight);
        v.zeros = __any_sync(group_mask<lanes>(), v.zeros);
    }
    // Where anything is not finite, neither is what rounding has left.
    v.finite = __all_sync(group_mask<lanes>(), finite) && isfinite(v.rho2) && v.norm2 < 1e30;
    if (!v.finite) {
        __syncwarp(group_mask<lanes>());
        for (std::int64_t i = lane; i < form.width; i += lanes) out[i] = __half{};
    }
    return v;
}

template <class M, bool plain, int lanes>
__global__ void filter_points_kernel(PreparedRows in, FilterForm form, __half* vectors,
                                     float* half_norm, float* point_error, metric::Params params) {
    const std::int64_t at =
        form.factor.first +
        (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) / lanes;
    const int lane = threadIdx.x % lanes;
    const std::int64_t n = in.rows.count;
    const float infinity = __int_as_float(0x7f800000);
    if (at >= whole_tiles(n)) return;
    if (at >= n) {
        if (lane == 0) {
            half_norm[at] = infinity;
            point_error[at] = 0.0f;
        }
        return;
    }
    const std::int64_t row = row_at(form, at, n);
    const bool nan = in.nan[row];
    const RowVector v = round_row<M, plain, lanes>(in, row, at, form, params, form.scale,
                                                   plain ? unit_points<M> : form.unit, false,
                                                   vectors + at * form.width, !nan);
    if (lane != 0) return;
    const double bound = point_bound(form, v, M::traits.factored);
    const bool covered = v.finite && is_covered(form, v, bound);
    if (form.unknown && !nan &&
        (takes_logarithms<M> ? covered && !is_near(form, v, bound) : !isfinite(v.norm2)))
        *form.unknown = 1;
    // A NaN point is farther than everything, one that cannot be filtered nearer.
    half_norm[at] = covered ? __double2float_rd(exact_half_norm(form, v) - bound)
                            : (nan ? infinity : -infinity);
    point_error[at] = covered ? __double2float_ru(bound) : (nan ? 0.0f : infinity);
}

// `unmeasured`: where its nan is not null, rows are measured first, for `in`.
template <class M, bool plain>
__global__ void filter_queries_kernel(PreparedRows in, RowMeasures unmeasured, FilterForm form,
                                      __half* vectors, float* query_error, std::uint8_t* unfit,
                                      metric::Params params) {
    const std::int64_t row =
        form.factor.first + (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) / 32;
    if (row >= in.rows.count) return;
    if (unmeasured.nan) measure_row<M, plain>(in.rows, row, unmeasured, params);
    const bool nan = in.nan[row], l2 = form.gemm == metric::Gemm::l2,
               shifts = form.shifts_products(), unit = form.unit || !l2 || shifts;
    // A query's length does not change the order of its products: the bound is for those of one
    // norm.
    const double scale = shifts ? form.scale * form.product_norm
                         : l2   ? form.scale
                                : form.query_scale;
    const RowVector v = round_row<M, plain, 32>(in, row, row, form, params, scale, unit, true,
                                                vectors + row * form.width, !nan);
    if (threadIdx.x % 32 != 0) return;
    const double bound = query_bound(form, v, M::traits.factored);
    // One that cannot be rounded is scanned.
    const bool coarse = is_coarse(form, v);
    // As far from every point: squares may underflow without being 0, of which a cosine knows
    // nothing.
    const bool alike =
        v.zero && (M::traits.gemm == metric::Gemm::cosine || (takes_logarithms<M> && v.finite) ||
                   (v.empty && form.finite_points));
    const bool scan = !v.finite || v.zero || (!l2 && coarse);
    unfit[row] = nan ? no_neighbours : alike ? all_alike : scan ? to_scan : fit;
    // Only points that pass every threshold pass that of such a query.
    query_error[row] = nan || scan ? __int_as_float(0xff800000) : __double2float_ru(bound);
}

// out[s d + i] = coordinate i of sample s of evenly spaced rows, as the filter sees it. A block
// owns a row.
template <class M>
__global__ void sample_rows_kernel(PreparedRows in, std::int64_t samples, FilterForm form,
                                   double* out, metric::Params params) {
    const std::int64_t sample = form.factor.first + blockIdx.x,
                       row = sample * in.rows.count / samples;
    for (std::int64_t i = threadIdx.x; i < params.d; i += blockDim.x) {
        out[sample * params.d + i] = coordinate<M>(in, row, sample, i, form, params, false);
    }
}

template <class M>
void filter_points(const PreparedRows& rows, const FilterForm& form, __half* vectors,
                   float* half_norm, float* point_error, const metric::Params& params,
                   cudaStream_t stream) {
    const std::int64_t n = rows.rows.count;
    const auto launch = [&](auto kernel, int lanes, const FilterForm& some, std::int64_t count) {
        kernel<<<blocks_for(count, item_threads / lanes), item_threads, 0, stream>>>(
            rows, some, vectors, half_norm, point_error, params);
        check_launch("filter_points");
    };
    if constexpr (plain_metric<M>) {
        constexpr int few = 8;
        if (is_plain(rows.rows, form)) {
            if (params.d <=
                (unit_points<M> ? tuning::few_unit_coordinates : tuning::few_coordinates))
                launch(filter_points_kernel<M, true, few>, few, form, whole_tiles(n));
            else launch(filter_points_kernel<M, true, 32>, 32, form, whole_tiles(n));
            return;
        }
    }
    with_coordinates<M>(rows, {n, 0}, form, whole_tiles(n), params, stream,
                        [&](const FilterForm& some, std::int64_t count) {
                            launch(filter_points_kernel<M, false, 32>, 32, some, count);
                        });
}

template <class M>
void filter_queries(const PreparedRows& rows, const RowMeasures& unmeasured,
                    const FilterForm& points_form, __half* vectors, float* query_error,
                    std::uint8_t* unfit, const metric::Params& params, cudaStream_t stream) {
    const std::int64_t q = rows.rows.count;
    const FilterForm form = of_queries(points_form);
    const auto launch = [&](auto kernel, const FilterForm& some, std::int64_t count) {
        kernel<<<blocks_for(count, item_warps), item_threads, 0, stream>>>(
            rows, unmeasured, some, vectors, query_error, unfit, params);
        check_launch("filter_queries");
    };
    if constexpr (plain_metric<M>)
        if (is_plain(rows.rows, form)) return launch(filter_queries_kernel<M, true>, form, q);
    with_coordinates<M>(rows, {q, 0}, form, q, params, stream,
                        [&](const FilterForm& some, std::int64_t count) {
                            launch(filter_queries_kernel<M, false>, some, count);
                        });
}

template <class M>
void sample_rows(const PreparedRows& rows, std::int64_t samples, const FilterForm& form,
                 double* out, const metric::Params& params, cudaStream_t stream) {
    with_coordinates<M>(rows, {rows.rows.count, samples}, form, samples, params, stream,
                        [&](const FilterForm& some, std::int64_t count) {
                            sample_rows_kernel<M>
                                <<<static_cast<unsigned>(count), item_threads, 0, stream>>>(
                                    rows, samples, some, out, params);
                            check_launch("sample_rows");
                        });
}

}  // namespace kith::gpu
