// One metric's kernels: measuring rows, the tiled canonical scan, their launches. Included by the generated instances
// only; the filter's preparation is in filter/vectors.cuh, the refinement of candidates in refine/refine.cuh.
#pragma once

#include "exact/canonical.h"
#include "exact/order.h"
#include "gpu/filter/direct_rows.cuh"
#include "gpu/filter/vectors.cuh"
#include "gpu/metric/kernels.h"
#include "gpu/metric/rank.cuh"
#include "gpu/primitives/warp.cuh"
#include "gpu/refine/refine.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"
#include "gpu/runtime/shared_memory.h"

namespace kith::gpu {

// Where the coordinates of each partial sum begin when the 32 partials are laid out in the order in which the tree
// joins them (bit-reversed): a scan in that order needs one running partial and five pending sums per pair instead
// of 32.
struct LeafOrder {
    std::int32_t start[exact::partials + 1];
};

// The partial of a leaf, and the leaf of a partial: reversing five bits undoes itself.
KITH_HD int leaf_partial(int leaf) {
    return ((leaf & 1) << 4) | ((leaf & 2) << 2) | (leaf & 4) | ((leaf & 8) >> 2) | ((leaf & 16) >> 4);
}

inline LeafOrder leaf_order(std::int64_t d) {
    LeafOrder o{};
    for (int leaf = 0; leaf < exact::partials; ++leaf) {
        const std::int64_t j = leaf_partial(leaf);
        o.start[leaf + 1] =
            o.start[leaf] + static_cast<std::int32_t>(d > j ? (d - j + exact::partials - 1) / exact::partials : 0);
    }
    return o;
}

// A warp owns a row, a lane one partial sum.
template <class M>
__global__ void measure_rows(Rows rows, double* aux, std::uint8_t* nan, metric::Params params) {
    using O = ScalarOps<double>;
    const std::int64_t row = (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) / 32;
    if (row >= rows.count) return;
    const int lane = threadIdx.x % 32;
    bool bad = false;
    for (std::int64_t i = lane; i < params.d; i += 32) {
        const double x = rows.at(row, i);
        bad |= x != x;
    }
    bad = __any_sync(0xffffffffu, bad);
    if (lane == 0) nan[row] = bad;
    double values[metric::max_aux] = {};
    for (int stage = 0; stage < M::aux; ++stage) {
        double a[1] = {0.0};
        for (std::int64_t i = lane; i < params.d; i += 32)
            a[0] = a[0] + M::template aux_term<O>(stage, rows.at(row, i), values, metric::constant<M>(params, i));
        warp_combine<exact::detail::Sum, 1>(a);
        values[stage] = M::aux_finish(stage, a[0], params);
    }
    if (lane == 0)
        for (int stage = 0; stage < M::aux; ++stage) aux[row * metric::max_aux + stage] = values[stage];
}

// A thread owns a coordinate.
template <class M>
__global__ void convert_rows(PreparedRows in, double* out, LeafOrder order, metric::Params params) {
    const std::int64_t cell = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (cell >= in.rows.count * params.d) return;
    const std::int64_t row = cell / params.d, col = cell % params.d;
    const double x = M::template map<ScalarOps<double>>(in.rows.at(row, col), in.aux + row * metric::max_aux,
                                                        metric::constant<M>(params, col));
    std::int64_t to = col;
    if constexpr (!M::traits.whole_vector) to = order.start[leaf_partial(static_cast<int>(col % 32))] + col / 32;
    out[row * params.d + to] = x;
}

// A block of 16 x 16 threads owns 32 queries x 16 P points; a thread 2 x P pairs, P = 4 with one accumulator, 2 with
// two.
template <class M, int P>
__global__ void __launch_bounds__(256) scan_pairs(ScanTile tile, LeafOrder order, metric::Params params) {
    using O = ScalarOps<double>;
    constexpr int depth = 16, tq = 32, tn = 16 * P, A = M::accumulators, levels = 5, pairs = 2 * P;
    __shared__ double qs[depth][tq + 1];
    __shared__ double xs[depth][tn + 1];
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    const std::int64_t n0 = static_cast<std::int64_t>(blockIdx.x) * tn;
    const int d = static_cast<int>(params.d);
    for (std::int64_t q0 = static_cast<std::int64_t>(blockIdx.y) * tq; q0 < tile.q;
         q0 += static_cast<std::int64_t>(gridDim.y) * tq) {
        double acc[pairs][A] = {}, pending[levels][pairs][A] = {};
        int leaf = 0;
        // The partial of `leaf` is complete: join it with the pending sums of its level and below.
        const auto finish_leaf = [&] {
            bool open = true;
#pragma unroll
            for (int level = 0; level < levels; ++level) {
                if (!open) continue;
                if ((leaf >> level) & 1) {
#pragma unroll
                    for (int p = 0; p < pairs; ++p) {
                        M::template combine<O>(pending[level][p], acc[p]);
#pragma unroll
                        for (int a = 0; a < A; ++a) acc[p][a] = pending[level][p][a];
                    }
                } else {
#pragma unroll
                    for (int p = 0; p < pairs; ++p)
#pragma unroll
                        for (int a = 0; a < A; ++a) {
                            pending[level][p][a] = acc[p][a];
                            acc[p][a] = 0.0;
                        }
                    open = false;
                }
            }
            ++leaf;
        };
        for (int k0 = 0; k0 < d; k0 += depth) {
            __syncthreads();
            for (int i = threadIdx.x; i < depth * tq; i += 256) {
                const int k = i % depth, r = i / depth;
                qs[k][r] = k0 + k < d && q0 + r < tile.q ? tile.queries[(q0 + r) * d + k0 + k] : 0.0;
            }
            for (int i = threadIdx.x; i < depth * tn; i += 256) {
                const int k = i % depth, r = i / depth;
                xs[k][r] = k0 + k < d && n0 + r < tile.n ? tile.points[(n0 + r) * d + k0 + k] : 0.0;
            }
            __syncthreads();
            const int end = min(depth, d - k0);
            for (int k = 0; k < end; ++k) {
                while (k0 + k == order.start[leaf + 1]) finish_leaf();
                const double q[2] = {qs[k][ty], qs[k][ty + 16]};
#pragma unroll
                for (int p = 0; p < P; ++p) {
                    const double x = xs[k][tx + 16 * p];
                    M::template step<O>(acc[p], q[0], x, params);
                    M::template step<O>(acc[P + p], q[1], x, params);
                }
            }
        }
        while (leaf < exact::partials) finish_leaf();
#pragma unroll
        for (int p = 0; p < pairs; ++p) {
            const std::int64_t q = q0 + ty + 16 * (p / P), x = n0 + tx + 16 * (p % P);
            if (q >= tile.q || x >= tile.n) continue;
            const bool eligible =
                !tile.query_nan[q] && !tile.point_nan[x] && !(tile.self && tile.self[q] == tile.first_point + x);
            const double r =
                M::finish(acc[p], tile.query_aux + q * metric::max_aux, tile.point_aux + x * metric::max_aux, params);
            tile.keys[q * tile.ld + x] = rank_key(exact::ordered_rank(r), eligible);
        }
    }
}

// The differences of a pair, made when they are asked for.
struct Differences {
    const double *q, *x;
    __device__ double operator[](std::int64_t i) const { return q[i] - x[i]; }
};

// `shared`: the differences of a warp's pair lie in shared memory; else, where that is too small, each lane makes them.
template <class M, bool shared>
__global__ void scan_whole(ScanTile tile, metric::Params params) {
    extern __shared__ double differences[];
    double* const t = differences + (threadIdx.x / 32) * params.d;
    const int lane = threadIdx.x % 32;
    const std::int64_t warps = static_cast<std::int64_t>(gridDim.x) * (blockDim.x / 32);
    for (std::int64_t pair = blockIdx.x * static_cast<std::int64_t>(blockDim.x / 32) + threadIdx.x / 32;
         pair < tile.q * tile.n; pair += warps) {
        const std::int64_t q = pair / tile.n, x = pair % tile.n;
        const Differences made{tile.queries + q * params.d, tile.points + x * params.d};
        double r = 0;
        if constexpr (shared) {
            for (std::int64_t i = lane; i < params.d; i += 32) t[i] = made[i];
            __syncwarp();
            r = whole_rank<M>(t, params);
        } else {
            r = whole_rank<M>(made, params);
        }
        const bool eligible =
            !tile.query_nan[q] && !tile.point_nan[x] && !(tile.self && tile.self[q] == tile.first_point + x);
        if (lane == 0) tile.keys[q * tile.ld + x] = rank_key(r, eligible);
        __syncwarp();
    }
}

template <class M, class T>
__global__ void report_keys(const std::uint64_t* keys, T* out, std::int64_t count, metric::Params params) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i >= count) return;
    const bool missing = keys[i] == exact::Order<double>::nan;
    const double infinity = bits_to_double(0x7ff0000000000000ULL);
    out[i] = static_cast<T>(M::report(missing ? infinity : exact::Order<double>::value(keys[i]), params));
}

template <class M>
struct Launch {
    // Warps per block of a kernel that keeps d doubles per warp, and its shared memory; no warps where a block cannot
    // have so much.
    template <class Kernel>
    static int whole_warps(Kernel kernel, std::int64_t d, std::size_t& bytes) {
        int warps = 8;
        while (warps > 1 && static_cast<std::int64_t>(warps) * d * 8 > 48 * 1024) warps /= 2;
        bytes = static_cast<std::size_t>(warps) * static_cast<std::size_t>(d) * 8;
        const auto most = static_cast<std::size_t>(most_shared_bytes.load(std::memory_order_relaxed));
        if (bytes > most || (bytes > 48 * 1024 && bytes > allow_shared_memory(kernel))) return 0;
        return warps;
    }

    static void measure(const Rows& rows, double* aux, std::uint8_t* nan, const metric::Params& params,
                        cudaStream_t stream) {
        measure_rows<M><<<blocks_for(rows.count, item_warps), item_threads, 0, stream>>>(rows, aux, nan, params);
        check_launch("measure_rows");
    }
    static void convert(const PreparedRows& rows, double* out, const metric::Params& params, cudaStream_t stream) {
        convert_rows<M><<<item_blocks(rows.rows.count * params.d), item_threads, 0, stream>>>(
            rows, out, leaf_order(params.d), params);
        check_launch("convert_rows");
    }
    static void scan(const ScanTile& tile, const metric::Params& params, cudaStream_t stream) {
        if constexpr (M::traits.whole_vector) {
            std::size_t bytes = 0;
            const int warps = whole_warps(scan_whole<M, true>, params.d, bytes), some = warps > 0 ? warps : 8;
            const std::int64_t wanted = (tile.q * tile.n + some - 1) / some;
            const auto grid = static_cast<unsigned>(wanted < (1 << 20) ? wanted : (1 << 20));
            if (warps > 0) scan_whole<M, true><<<grid, some * 32, bytes, stream>>>(tile, params);
            else scan_whole<M, false><<<grid, some * 32, 0, stream>>>(tile, params);
        } else {
            constexpr int P = M::accumulators == 1 ? 4 : 2;
            const unsigned rows = blocks_for(tile.q, 32);
            scan_pairs<M, P><<<dim3(blocks_for(tile.n, 16 * P), rows < 65535 ? rows : 65535), 256, 0, stream>>>(
                tile, leaf_order(params.d), params);
        }
        check_launch("scan");
    }
    static void refine(const RefineTask& task, const metric::Params& params, cudaStream_t stream) {
        const std::int64_t q = task.queries.rows.count;
        const auto splits = static_cast<unsigned>(q >= 512 ? 1 : (q >= 64 ? 4 : 32));
        const dim3 grid(static_cast<unsigned>(q), splits);
        if constexpr (M::traits.whole_vector) {
            std::size_t bytes = 0;
            const int warps = whole_warps(refine_whole<M>, params.d, bytes);
            refine_whole<M><<<grid, warps * 32, bytes, stream>>>(task, params);
        } else {
            const unsigned threads = task.expected <= 16 ? 128 : 256;
            const auto of_f32 = [](const Rows& rows) { return rows.type == ElementType::f32 && rows.col_stride == 1; };
            const bool plain = of_f32(task.points.rows) && of_f32(task.queries.rows);
            if (plain) refine_batches<M, true><<<grid, threads, 0, stream>>>(task, params);
            else refine_batches<M, false><<<grid, threads, 0, stream>>>(task, params);
        }
        check_launch("refine");
    }
    template <class T>
    static void report(const std::uint64_t* keys, T* out, std::int64_t count, const metric::Params& params,
                       cudaStream_t stream) {
        report_keys<M, T><<<item_blocks(count), item_threads, 0, stream>>>(keys, out, count, params);
        check_launch("report_keys");
    }

    static constexpr bool multiplied = metric::product_form(M::traits) != metric::Gemm::none;
    static constexpr bool direct = M::traits.direct != metric::Direct::none;
    static void points(const PreparedRows& rows, const FilterForm& form, void* vectors, float* half_norm,
                       float* point_error, const metric::Params& params, cudaStream_t stream) {
        if constexpr (direct)
            if (form.is_direct())
                return direct_points<M>(rows, form, static_cast<float*>(vectors), half_norm, point_error, params,
                                        stream);
        if constexpr (multiplied)
            filter_points<M>(rows, form, static_cast<__half*>(vectors), half_norm, point_error, params, stream);
    }
    static void queries(const PreparedRows& rows, const FilterForm& form, void* vectors, float* query_error,
                        std::uint8_t* unfit, const metric::Params& params, cudaStream_t stream) {
        if constexpr (direct)
            if (form.is_direct())
                return direct_queries<M>(rows, form, static_cast<float*>(vectors), query_error, unfit, params, stream);
        if constexpr (multiplied)
            filter_queries<M>(rows, form, static_cast<__half*>(vectors), query_error, unfit, params, stream);
    }

    static MetricKernels table() {
        MetricKernels t{};
        t.traits = M::traits;
        t.aux = M::aux;
        t.measure = measure;
        t.convert = convert;
        t.scan = scan;
        t.refine = refine;
        t.report_f32 = report<float>;
        t.report_f64 = report<double>;
        if constexpr (multiplied || direct) {
            t.sample = sample_rows<M>;
            t.filter_points = points;
            t.filter_queries = queries;
        }
        return t;
    }
};

}  // namespace kith::gpu
