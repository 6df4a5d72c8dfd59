// One metric's kernels: measuring rows, the scan of metrics of whole vectors, their launches.
// Included by the generated instances only; the scan of the others is in metric/scan_pairs.cuh, the
// filter's preparation in filter/vectors.cuh, the refinement of candidates in refine/refine.cuh.
#pragma once

#include "exact/canonical.h"
#include "exact/order.h"
#include "gpu/filter/direct/direct_rows.cuh"
#include "gpu/filter/vectors.cuh"
#include "gpu/metric/kernels.h"
#include "gpu/metric/measure_row.cuh"
#include "gpu/metric/rank.cuh"
#include "gpu/metric/scan_pairs.cuh"
#include "gpu/primitives/warp.cuh"
#include "gpu/refine/refine.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"
#include "gpu/runtime/memory/shared_memory.h"

namespace kith::gpu {

template <class M>
__global__ void measure_rows(Rows rows, RowMeasures out, metric::Params params) {
    const std::int64_t row =
        (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) / 32;
    if (row < rows.count) measure_row<M>(rows, row, out, params);
}

// A thread owns a coordinate.
template <class M>
__global__ void convert_rows(PreparedRows in, double* out, ScanOrder order, metric::Params params) {
    const std::int64_t cell = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (cell >= in.rows.count * params.d) return;
    const std::int64_t row = cell / params.d, col = cell % params.d;
    const double x = M::template map<ScalarOps<double>>(
        in.rows.at(row, col), in.aux + row * metric::max_aux, metric::constant<M>(params, col));
    std::int64_t to = col;
    if constexpr (!M::traits.whole_vector) to = scan_place(order, col);
    out[row * params.d + to] = x;
}

// The differences of a pair, made when they are asked for.
struct Differences {
    const double *q, *x;
    __device__ double operator[](std::int64_t i) const { return q[i] - x[i]; }
};

// `shared`: the differences of a warp's pair lie in shared memory; else, where that is too small,
// each lane makes them.
template <class M, bool shared>
__global__ void scan_whole(ScanTile tile, metric::Params params) {
    extern __shared__ double differences[];
    double* const t = differences + (threadIdx.x / 32) * params.d;
    const int lane = threadIdx.x % 32;
    const std::int64_t warps = static_cast<std::int64_t>(gridDim.x) * (blockDim.x / 32);
    for (std::int64_t pair =
             blockIdx.x * static_cast<std::int64_t>(blockDim.x / 32) + threadIdx.x / 32;
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
        const bool eligible = !tile.query_nan[q] && !tile.point_nan[x] &&
                              !(tile.self && tile.self[q] == tile.first_point + x);
        if (lane == 0) tile.keys[q * tile.ld + x] = rank_key(r, eligible);
        __syncwarp();
    }
}

template <class M, class T>
__global__ void report_keys(const std::uint64_t* keys, T* out, std::int64_t count,
                            metric::Params params) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i >= count) return;
    const bool missing = keys[i] == exact::Order<double>::nan;
    const double infinity = bits_to_double(0x7ff0000000000000ULL);
    out[i] = static_cast<T>(
        M::report(missing ? infinity : exact::Order<double>::value(keys[i]), params));
}

// Defined by the instance of M.
template <class M>
MetricKernels kernels_of();

template <class M>
struct Launch {
    // Warps per block of a kernel that keeps d doubles per warp, and its shared memory; no warps
    // where a block cannot have so much.
    template <class Kernel>
    static int whole_warps(Kernel kernel, std::int64_t d, std::size_t& bytes) {
        int warps = 8;
        while (warps > 1 && static_cast<std::int64_t>(warps) * d * 8 > 48 * 1024) warps /= 2;
        bytes = static_cast<std::size_t>(warps) * static_cast<std::size_t>(d) * 8;
        const auto most =
            static_cast<std::size_t>(most_shared_bytes.load(std::memory_order_relaxed));
        if (bytes > most || (bytes > 48 * 1024 && bytes > allow_shared_memory(kernel))) return 0;
        return warps;
    }

    static void measure(const Rows& rows, const RowMeasures& out, const metric::Params& params,
                        cudaStream_t stream) {
        measure_rows<M>
            <<<blocks_for(rows.count, item_warps), item_threads, 0, stream>>>(rows, out, params);
        check_launch("measure_rows");
    }
    static void convert(const PreparedRows& rows, double* out, const metric::Params& params,
                        cudaStream_t stream) {
        convert_rows<M><<<item_blocks(rows.rows.count * params.d), item_threads, 0, stream>>>(
            rows, out, scan_order(params.d), params);
        check_launch("convert_rows");
    }
    static void scan(const ScanTile& tile, const metric::Params& params, cudaStream_t stream) {
        if constexpr (M::traits.whole_vector) {
            std::size_t bytes = 0;
            const int warps = whole_warps(scan_whole<M, true>, params.d, bytes),
                      some = warps > 0 ? warps : 8;
            const std::int64_t wanted = (tile.q * tile.n + some - 1) / some;
            const auto grid = static_cast<unsigned>(wanted < (1 << 20) ? wanted : (1 << 20));
            if (warps > 0) scan_whole<M, true><<<grid, some * 32, bytes, stream>>>(tile, params);
            else scan_whole<M, false><<<grid, some * 32, 0, stream>>>(tile, params);
        } else {
            launch_scan_pairs<M>(tile, params, stream);
        }
        check_launch("scan");
    }
    static void refine(const RefineTask& task, const metric::Params& params, cudaStream_t stream) {
        const std::int64_t q = task.queries.rows.count;
        // Each of the 8 warps of a block takes 4 candidates at a time, of all points 4 times.
        constexpr std::int64_t of_block = 8 * 4 * 4;
        const auto splits = static_cast<unsigned>(
            task.all > 0 ? std::min<std::int64_t>((task.all + of_block - 1) / of_block, 65535)
            : q >= 512   ? 1
            : q >= 64    ? 4
                         : 32);
        const dim3 grid(static_cast<unsigned>(q), splits);
        if constexpr (M::traits.whole_vector) {
            std::size_t bytes = 0;
            const int warps = whole_warps(refine_whole<M>, params.d, bytes);
            refine_whole<M><<<grid, warps * 32, bytes, stream>>>(task, params);
        } else {
            const unsigned threads = task.all == 0 && task.expected <= 16 ? 128 : 256;
            const auto of_f32 = [](const Rows& rows) {
                return rows.type == ElementType::f32 && rows.col_stride == 1;
            };
            const bool plain = of_f32(task.points.rows) && of_f32(task.queries.rows);
            if (plain) refine_batches<M, true><<<grid, threads, 0, stream>>>(task, params);
            else refine_batches<M, false><<<grid, threads, 0, stream>>>(task, params);
        }
        check_launch("refine");
    }
    template <class T>
    static void report(const std::uint64_t* keys, T* out, std::int64_t count,
                       const metric::Params& params, cudaStream_t stream) {
        report_keys<M, T>
            <<<item_blocks(count), item_threads, 0, stream>>>(keys, out, count, params);
        check_launch("report_keys");
    }

    static constexpr bool multiplied = metric::product_form(M::traits) != metric::Gemm::none;
    static constexpr bool direct = M::traits.direct != metric::Direct::none;
    static void points(const PreparedRows& rows, const FilterForm& form, void* vectors,
                       float* half_norm, float* point_error, const metric::Params& params,
                       cudaStream_t stream) {
        if constexpr (direct)
            if (form.is_direct())
                return direct_points<M>(rows, form, static_cast<float*>(vectors), half_norm,
                                        point_error, params, stream);
        if constexpr (multiplied)
            filter_points<M>(rows, form, static_cast<__half*>(vectors), half_norm, point_error,
                             params, stream);
    }
    static void queries(const PreparedRows& rows, const FilterForm& form, void* vectors,
                        float* query_error, std::uint8_t* unfit, const metric::Params& params,
                        cudaStream_t stream) {
        if constexpr (direct)
            if (form.is_direct())
                return direct_queries<M>(rows, form, static_cast<float*>(vectors), query_error,
                                         unfit, params, stream);
        if constexpr (multiplied)
            filter_queries<M>(rows, {}, form, static_cast<__half*>(vectors), query_error, unfit,
                              params, stream);
    }
    static void unmeasured(const Rows& rows, const RowMeasures& out, const FilterForm& form,
                           void* vectors, float* query_error, std::uint8_t* unfit,
                           const metric::Params& params, cudaStream_t stream) {
        const PreparedRows prepared{rows, out.aux, out.nan};
        if constexpr (multiplied && !M::traits.factored)
            if (!form.is_direct())
                return filter_queries<M>(prepared, out, form, static_cast<__half*>(vectors),
                                         query_error, unfit, params, stream);
        measure(rows, out, params, stream);
        queries(prepared, form, vectors, query_error, unfit, params, stream);
    }

    static MetricKernels table() {
        MetricKernels t{};
        if constexpr (requires { typename M::Keys; }) {
            t = kernels_of<typename M::Keys>();
        } else {
            t.aux = M::aux;
            t.measure = measure;
            t.convert = convert;
            t.scan = scan;
            t.refine = refine;
            if constexpr (multiplied || direct) {
                t.sample = sample_rows<M>;
                t.filter_points = points;
                t.filter_queries = queries;
                t.filter_unmeasured = unmeasured;
            }
        }
        t.traits = M::traits;
        t.report_f32 = report<float>;
        t.report_f64 = report<double>;
        return t;
    }
};

}  // namespace kith::gpu
