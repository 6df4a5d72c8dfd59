// Words of the direct filter: coordinates as its step wants them, in panels, and which rows its
// bound covers (exact/direct_form.h). A block owns 32 rows; their words go through shared memory,
// 32 at a time, so that both sides are read and written in runs.
#pragma once

#include <cuda_fp16.h>

#include "gpu/filter/bit_rows.h"
#include "gpu/filter/direct.h"
#include "gpu/metric/kernels.h"
#include "gpu/primitives/warp.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

// What rounding took from a row, and of coordinates less a centre their length: squares, or the
// largest of these.
struct DirectResidual {
    double residual2 = 0, centred2 = 0;
    __device__ __forceinline__ void add(double rest, double x, bool largest) {
        residual2 = largest ? fmax(residual2, rest * rest) : residual2 + rest * rest;
        centred2 = largest ? fmax(centred2, x * x) : centred2 + x * x;
    }
    // Of a warp's lanes.
    __device__ __forceinline__ void reduce(bool largest) {
        residual2 = largest ? warp_max(residual2) : warp_sum(residual2);
        centred2 = largest ? warp_max(centred2) : warp_sum(centred2);
    }
};

// A coordinate as f32; false where the bound does not cover it. `rounds`: it covers what f32 does
// not hold.
__device__ __forceinline__ bool direct_coordinate(const exact::DirectForm& form, double x,
                                                  double scale, bool rounds, float& out,
                                                  DirectResidual& lost) {
    if (form.coordinates == exact::Coordinates::roots) {
        out = x < exact::smallest_root_of ? 0.0f : static_cast<float>(ScalarOps<double>::sqrt(x));
        return isfinite(out) && (x == 0 || x >= exact::smallest_covered);
    }
    const double scaled = x * scale;
    out = static_cast<float>(scaled);
    const double rest = scaled - static_cast<double>(out);
    lost.add(rest, scaled, form.rounding.largest);
    const bool held = rounds || rest == 0 || form.coordinates == exact::Coordinates::nearest;
    return isfinite(out) && held && form.covers(x);
}

// A coordinate less a centre as the bits of a whole number: a byte, or fp16.
__device__ __forceinline__ std::uint32_t rounded_whole(const exact::DirectForm& form, double x,
                                                       DirectResidual& lost) {
    const exact::WholeRange range = exact::whole_range(form.coordinates);
    const double whole = fmin(fmax(rint(x), range.least), range.most), rest = x - whole;
    lost.add(rest, x, form.rounding.largest);
    if (form.coordinates == exact::Coordinates::rounded_halves)
        return __half_as_ushort(__double2half(whole));
    return static_cast<std::uint32_t>(static_cast<int>(whole) + 128);
}

// A share as f32, and what it adds to its row's terms; false where the bound does not cover it.
__device__ __forceinline__ bool rounded_share_of(double x, double scale, float& out,
                                                 exact::ShareTerms& terms) {
    const double scaled = x * scale;
    out = fmaxf(static_cast<float>(scaled), static_cast<float>(exact::smallest_share));
    terms.add(scaled);
    return isfinite(out) && (x == 0 || x >= exact::smallest_covered);
}

// A row's share of the bound, by its kind.
struct DirectTerms {
    float* half_norm = nullptr;  // of points: tie_share and their own terms less point_error; +inf
                                 // of NaN and padding, -inf where the bound does not hold
    float* point_error = nullptr;  // what rounding took, or +inf
    float* query_error =
        nullptr;  // of queries: the same and `lost`, or -inf; behind those of all, their own terms
    std::uint8_t* unfit = nullptr;
};

template <class M>
__global__ void __launch_bounds__(256)
    direct_rows_kernel(PreparedRows in, FilterForm form, float* words, DirectTerms terms,
                       metric::Params params) {
    constexpr int rows = 32, warps = 8;
    __shared__ float tile[rows][rows + 1];
    const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
    const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * rows, n = in.rows.count;
    const int per_word = exact::coordinates_per_word(form.direct);
    const bool centred = exact::has_centre(form.direct.coordinates);
    constexpr bool may_be_shares = M::traits.direct == metric::Direct::divergence;
    const bool shares = may_be_shares && form.direct.coordinates == exact::Coordinates::shares;
    const bool rounds =
        !shares && (centred || (terms.query_error && in.rows.type == ElementType::f64 &&
                                form.rounded_weight > 0));
    bool covered[rows / warps];
#pragma unroll
    for (bool& c : covered) c = true;
    DirectResidual lost[rows / warps];
    exact::ShareTerms own[rows / warps];
    for (std::int64_t word = 0; word < form.width; word += 32) {
#pragma unroll
        for (int r = 0; r < rows / warps; ++r) {
            const std::int64_t at = first + warp + r * warps,
                               row = at < n ? row_at(form, at, n) : 0;
            const double* const aux = in.aux + row * metric::max_aux;
            const auto coordinate = [&](std::int64_t i) {
                return M::template map<ScalarOps<double>>(in.rows.at(row, i), aux,
                                                          metric::constant<M>(params, i));
            };
            float value = 0;
            if (at < n && per_word == 1) {
                if (const std::int64_t i = word + lane; i < params.d) {
                    const double x = coordinate(i);
                    if (shares) covered[r] &= rounded_share_of(x, form.scale, value, own[r]);
                    else
                        covered[r] &=
                            direct_coordinate(form.direct, centred ? x - form.centre[i] : x,
                                              form.scale, rounds, value, lost[r]);
                }
            } else if (at < n) {
                std::uint32_t parts = 0;
                for (int b = 0; b < per_word; ++b) {
                    const std::int64_t i = (word + lane) * per_word + b;
                    if (i >= params.d) break;
                    const double x = coordinate(i);
                    if (centred) {
                        parts |=
                            rounded_whole(form.direct, (x - form.centre[i]) * form.scale, lost[r])
                            << (32 / per_word * b);
                        continue;
                    }
                    const bool fits = form.direct.coordinates == exact::Coordinates::u8
                                          ? x >= 0 && x <= 255
                                          : x >= -128 && x <= 127;
                    const int whole = fits ? static_cast<int>(x) : 0;
                    covered[r] &= fits && static_cast<double>(whole) == x;
                    parts |= (static_cast<std::uint32_t>(whole) & 0xffu) << (8 * b);
                }
                value = __uint_as_float(parts);
            }
            tile[warp + r * warps][lane] = value;
        }
        __syncthreads();
        for (int w = warp; w < 32 && word + w < form.width; w += warps)
            words[direct_place(first + lane, word + w, form.width)] = tile[lane][w];
        __syncthreads();
    }
    const float infinity = __int_as_float(0x7f800000);
#pragma unroll
    for (int r = 0; r < rows / warps; ++r) {
        const std::int64_t at = first + warp + r * warps;
        bool fits = __all_sync(0xffffffffu, covered[r]);
        const bool there = at < n, nan = there && in.nan[row_at(form, at, n)];
        float share = 0;
        double term = 0;
        if (rounds) {
            lost[r].reduce(form.direct.rounding.largest);
            share = __double2float_ru(exact::rounded_share(form.direct.rounding,
                                                           form.rounded_weight, lost[r].residual2,
                                                           centred ? lost[r].centred2 : 0));
            fits &= isfinite(share);
        }
        if (shares) {
            term = warp_sum(own[r].own) * exact::share_factor(form.scale);
            share = __double2float_ru(warp_sum(own[r].size) * form.rounded_weight);
            fits &= isfinite(share);
        }
        if (lane != 0) continue;
        if (terms.half_norm) {
            // A NaN point is farther than everything, one that cannot be filtered nearer.
            const double share_of_ties =
                static_cast<double>(tie_share(form, row_at(form, at, n), n));
            terms.half_norm[at] = !there || nan ? infinity
                                  : fits        ? __double2float_rd(share_of_ties + term - share)
                                                : -infinity;
            terms.point_error[at] = !there || nan ? 0.0f : fits ? share : infinity;
        } else if (there) {
            terms.unfit[at] = nan ? no_neighbours : fits ? fit : to_scan;
            // Only points that pass every threshold pass that of such a query.
            terms.query_error[at] = nan || !fits ? -infinity : __fadd_ru(form.lost, share);
            terms.query_error[n + at] = static_cast<float>(term);
        }
    }
}

// Whether all of a metric's steps count bits, as those of sets do.
template <class M>
inline constexpr bool only_bits =
    M::traits.direct == metric::Direct::jaccard || M::traits.direct == metric::Direct::dice;

template <class M>
void direct_points(const PreparedRows& rows, const FilterForm& form, float* words, float* half_norm,
                   float* point_error, const metric::Params& params, cudaStream_t stream) {
    if (exact::counts_bits(form.direct.step))
        return bit_points(rows, form, words, half_norm, point_error, params.d, stream);
    if constexpr (!only_bits<M>) {
        direct_rows_kernel<M>
            <<<blocks_for(whole_tiles(rows.rows.count), 32), item_threads, 0, stream>>>(
                rows, form, words, {half_norm, point_error, nullptr, nullptr}, params);
        check_launch("direct_points");
    }
}

template <class M>
void direct_queries(const PreparedRows& rows, const FilterForm& points_form, float* words,
                    float* query_error, std::uint8_t* unfit, const metric::Params& params,
                    cudaStream_t stream) {
    if (exact::counts_bits(points_form.direct.step))
        return bit_queries(rows, points_form, words, query_error, unfit, params.d, stream);
    if constexpr (!only_bits<M>) {
        const FilterForm form = of_queries(points_form);
        const std::int64_t panels =
            (rows.rows.count + filter_tile_queries - 1) / filter_tile_queries;
        direct_rows_kernel<M>
            <<<blocks_for(panels * filter_tile_queries, 32), item_threads, 0, stream>>>(
                rows, form, words, {nullptr, nullptr, query_error, unfit}, params);
        check_launch("direct_queries");
    }
}

}  // namespace kith::gpu
