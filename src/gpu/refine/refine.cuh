// Canonical distances of candidates.
//
// block   one query, or a slice of its candidates
// warp    four candidates at a time: their rows are read together, and their trees reduced together
// lane    one of the 32 partial sums of each candidate
#pragma once

#include "gpu/metric/kernels.h"
#include "gpu/metric/rank.cuh"

namespace kith::gpu {

// True if combine() must have the lower of two partial sums first.
template <class M>
concept CombinesInOrder = requires {
    requires M::combines_in_order;
};

// Reduces the partial accumulators of four candidates by xor 16, 8, 4, 2, 1. In the first two steps
// a lane sends the half that it does not keep. If combine() commutes, each pair's accumulators are
// the canonical ones; if not, a lane whose own partial sums are the higher ones puts the other's
// first. Lane 8 j ends with those of candidate j, in `out`.
template <class M>
__device__ __forceinline__ void combine_four(const double (&a)[4][M::accumulators],
                                             double (&out)[M::accumulators]) {
    constexpr int A = M::accumulators;
    // Joins `own` with what the other lane sends.
    const auto join = [](double(&own)[A], const double(&sent)[A], int half) {
        double other[A];
#pragma unroll
        for (int i = 0; i < A; ++i) other[i] = __shfl_xor_sync(0xffffffffu, sent[i], half);
        if (CombinesInOrder<M> && threadIdx.x & half) {
            M::template combine<ScalarOps<double>>(other, own);
#pragma unroll
            for (int i = 0; i < A; ++i) own[i] = other[i];
        } else {
            M::template combine<ScalarOps<double>>(own, other);
        }
    };
    const auto select = [](bool which, const double(&yes)[A], const double(&no)[A],
                           double(&to)[A]) {
#pragma unroll
        for (int i = 0; i < A; ++i) to[i] = which ? yes[i] : no[i];
    };
    const bool upper = threadIdx.x & 16, odd = threadIdx.x & 8;
    double first[A], second[A], sent[A];
    select(upper, a[2], a[0], first);
    select(upper, a[0], a[2], sent);
    join(first, sent, 16);
    select(upper, a[3], a[1], second);
    select(upper, a[1], a[3], sent);
    join(second, sent, 16);
    select(odd, second, first, out);
    select(odd, first, second, sent);
    join(out, sent, 8);
#pragma unroll
    for (int half = 4; half > 0; half /= 2) join(out, out, half);
}

// `plain`: contiguous f32 rows on both sides.
template <class M, bool plain>
__global__ void __launch_bounds__(256) refine_batches(RefineTask task, metric::Params params) {
    using O = ScalarOps<double>;
    constexpr int batch = 4;
    const std::int64_t q = blockIdx.x;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const double* const aux_q = task.queries.aux + q * metric::max_aux;
    const std::uint32_t* const ids = task.all > 0 ? nullptr : task.ids + q * task.capacity;
    const int count = task.all > 0 ? static_cast<int>(task.all) : task.counts[q],
              d = static_cast<int>(params.d);
    const std::int64_t self = task.self ? task.self[q] - task.first_point : -1;
    const float* const query =
        static_cast<const float*>(task.queries.rows.data) + q * task.queries.rows.row_stride;
    for (int c = (static_cast<int>(blockIdx.y) * warps + warp) * batch; c < count;
         c += static_cast<int>(gridDim.y) * warps * batch) {
        std::int64_t x[batch];
        const double* aux_x[batch];
        const float* row[batch];
#pragma unroll
        for (int j = 0; j < batch; ++j) {
            const int candidate = min(c + j, count - 1);
            x[j] = ids ? ids[candidate] : candidate;
            aux_x[j] = task.points.aux + x[j] * metric::max_aux;
            if (plain)
                row[j] = static_cast<const float*>(task.points.rows.data) +
                         x[j] * task.points.rows.row_stride;
        }
        double a[batch][M::accumulators] = {};
#pragma unroll 4
        for (int i = lane; i < d; i += 32) {
            const double constant = metric::constant<M>(params, i);
            const double qi = M::template map<O>(
                plain ? static_cast<double>(query[i]) : task.queries.rows.at(q, i), aux_q,
                constant);
#pragma unroll
            for (int j = 0; j < batch; ++j) {
                const double raw =
                    plain ? static_cast<double>(row[j][i]) : task.points.rows.at(x[j], i);
                M::template step<O>(a[j], qi, M::template map<O>(raw, aux_x[j], constant), params);
            }
        }
        double total[M::accumulators];
        combine_four<M>(a, total);
        const int own = lane / 8;
        if (lane % 8 == 0 && c + own < count) {
            const std::int64_t point = own & 2 ? (own & 1 ? x[3] : x[2]) : (own & 1 ? x[1] : x[0]);
            const double rank = exact::ordered_rank(
                M::finish(total, aux_q, task.points.aux + point * metric::max_aux, params));
            task.keys[q * task.capacity + c + own] =
                rank_key(rank, !task.queries.nan[q] && !task.points.nan[point] && point != self);
        }
    }
}

// Metrics that need all differences of a pair at once: a warp takes one candidate at a time.
template <class M>
__global__ void refine_whole(RefineTask task, metric::Params params) {
    extern __shared__ double differences[];
    const std::int64_t q = blockIdx.x;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const std::int32_t count = task.counts[q];
    double* const t = differences + warp * params.d;
    for (std::int64_t c = blockIdx.y * static_cast<std::int64_t>(warps) + warp; c < count;
         c += static_cast<std::int64_t>(gridDim.y) * warps) {
        const std::int64_t x = task.ids[q * task.capacity + c];
        for (std::int64_t i = lane; i < params.d; i += 32)
            t[i] = task.queries.rows.at(q, i) - task.points.rows.at(x, i);
        __syncwarp();
        const double rank = whole_rank<M>(t, params);
        __syncwarp();
        if (lane == 0)
            task.keys[q * task.capacity + c] =
                rank_key(rank, !task.queries.nan[q] && !task.points.nan[x]);
    }
}

}  // namespace kith::gpu
