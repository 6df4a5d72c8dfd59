// The canonical scan of all pairs in tiles, and the coordinate order that it needs.
//
// A block of 16 x 16 threads owns 32 queries x 16 P points, a thread 2 x P pairs; P is 4 with one
// accumulator, 2 with two. Each pair accumulates four partial sums at a time, numbers r, r + 8, r +
// 16 and r + 24: a *group*. A group's sum is then joined with the pending sums of three levels,
// which are in shared memory. Coordinates are staged there, too, 16 slots at a time, in two
// buffers.
//
// Four partial sums at a time need an eighth of the joins that one at a time needs (1.5 times the
// rate). Pending sums out of registers leave room for twice the pairs (1.4 times;
// lab/*-full-scans-gpu).
#pragma once

#include "exact/canonical.h"
#include "gpu/metric/kernels.h"
#include "gpu/metric/rank.cuh"
#include "gpu/runtime/launch.h"
#include "gpu/runtime/memory/shared_memory.h"

namespace kith::gpu {

// The start of each group's coordinates. Groups are in the order in which the reduction tree joins
// them (r with its bits reversed). Within a group the coordinates of its partial sums are
// interleaved. Slots pad each group to a multiple of four.
struct ScanOrder {
    static constexpr int groups = exact::partials / 4;
    std::int32_t start[groups + 1];
    std::int32_t slot[groups + 1];
};

// The r of a group, and the group of an r.
KITH_HD int reversed_group(int group) {
    return (group & 1) << 2 | (group & 2) | (group & 4) >> 2;
}

inline ScanOrder scan_order(std::int64_t d) {
    ScanOrder o{};
    for (int group = 0; group < ScanOrder::groups; ++group) {
        std::int64_t count = 0;
        for (std::int64_t j = reversed_group(group); j < exact::partials; j += ScanOrder::groups)
            count += d > j ? (d - j + exact::partials - 1) / exact::partials : 0;
        o.start[group + 1] = o.start[group] + static_cast<std::int32_t>(count);
        o.slot[group + 1] = o.slot[group] + static_cast<std::int32_t>((count + 3) / 4 * 4);
    }
    return o;
}

// The index of coordinate `col` within a row in scan order.
KITH_HD std::int64_t scan_place(const ScanOrder& order, std::int64_t col) {
    const int partial = static_cast<int>(col % exact::partials);
    return order.start[reversed_group(partial % ScanOrder::groups)] + 4 * (col / exact::partials) +
           partial / ScanOrder::groups;
}

// ScalarOps with fabs(): its own abs() costs two comparisons in binary64. They differ only in the
// sign of a NaN, which no distance key has.
struct ScanOps : ScalarOps<double> {
    KITH_HD static double abs(double a) {
#if defined(__CUDA_ARCH__)
        return fabs(a);
#else
        return __builtin_fabs(a);
#endif
    }
};

namespace detail {

constexpr int scan_threads = 256, scan_depth = 16, scan_columns = 16;

// The slots of a slice of `rows` rows: a thread reads one slot of every 16th row. Counterpart of
// StepTiles::Slice in kith/functor_tile.h, which reads coordinates in natural order. That text is
// compiled at run time and includes nothing, so the two cannot share code.
template <int rows>
struct ScanSlice {
    static constexpr int share = rows * scan_depth / scan_threads, padding = 2;
    double values[share];
    // `place`: the index of the slot's coordinate, or -1 if it has none.
    __device__ void read(const double* from, std::int64_t first, std::int64_t count, std::int64_t d,
                         int place) {
        if (place < 0) return;
#pragma unroll
        for (int i = 0; i < share; ++i) {
            const std::int64_t row =
                first + threadIdx.x / scan_depth + i * (scan_threads / scan_depth);
            values[i] = from[(row < count ? row : count - 1) * d + place];
        }
    }
    __device__ void write(double (*to)[rows + padding]) const {
#pragma unroll
        for (int i = 0; i < share; ++i)
            to[threadIdx.x % scan_depth]
              [threadIdx.x / scan_depth + i * (scan_threads / scan_depth)] = values[i];
    }
};

}  // namespace detail

// The dynamic shared memory of scan_pairs().
template <class M, int P>
struct ScanMemory {
    static constexpr int Q = 2, queries = 16 * Q, points = detail::scan_columns * P, levels = 3,
                         pairs = Q * P, padding = detail::ScanSlice<queries>::padding;
    double qs[2][detail::scan_depth][queries + padding];
    double xs[2][detail::scan_depth][points + padding];
    double pending[levels][pairs][M::accumulators][detail::scan_threads];
};

template <class M, int P>
__global__ void __launch_bounds__(detail::scan_threads, 2)
    scan_pairs(ScanTile tile, ScanOrder of_host, metric::Params params) {
    using O = ScanOps;
    using Memory = ScanMemory<M, P>;
    using detail::scan_columns, detail::scan_depth;
    constexpr int Q = Memory::Q, tq = Memory::queries, tn = Memory::points, A = M::accumulators,
                  levels = Memory::levels, pairs = Memory::pairs;
    extern __shared__ __align__(16) unsigned char bytes[];
    Memory& memory = *reinterpret_cast<Memory*>(bytes);
    // In shared memory: an indexed access to a parameter is a chain of selections.
    __shared__ ScanOrder order;
    if (threadIdx.x == 0) order = of_host;
    __syncthreads();
    const int tx = threadIdx.x % scan_columns, ty = threadIdx.x / scan_columns;
    const std::int64_t n0 = static_cast<std::int64_t>(blockIdx.x) * tn;
    const std::int64_t d = params.d;
    const int slots = of_host.slot[ScanOrder::groups];
    for (std::int64_t q0 = static_cast<std::int64_t>(blockIdx.y) * tq; q0 < tile.q;
         q0 += static_cast<std::int64_t>(gridDim.y) * tq) {
        double acc[pairs][4][A] = {};
        int group = 0, left = order.start[1];  // coordinates of the group
        int buffer = 0;
        const auto step = [&](int g, int k) {
            double q[Q], x[P];
#pragma unroll
            for (int i = 0; i < Q; ++i) q[i] = memory.qs[buffer][k][ty * Q + i];
#pragma unroll
            for (int j = 0; j < P; ++j) x[j] = memory.xs[buffer][k][tx + scan_columns * j];
#pragma unroll
            for (int p = 0; p < pairs; ++p)
                M::template step<O>(acc[p][g], q[p / P], x[p % P], params);
        };
        // The group is complete: join its partial sums, then the result with the pending sums of
        // its level and below.
        const auto finish_group = [&] {
#pragma unroll
            for (int p = 0; p < pairs; ++p) {
                M::template combine<O>(acc[p][0], acc[p][2]);
                M::template combine<O>(acc[p][1], acc[p][3]);
                M::template combine<O>(acc[p][0], acc[p][1]);
            }
            int level = 0;
            for (; level < levels && (group >> level & 1); ++level) {
#pragma unroll
                for (int p = 0; p < pairs; ++p) {
                    double joined[A];
#pragma unroll
                    for (int a = 0; a < A; ++a)
                        joined[a] = memory.pending[level][p][a][threadIdx.x];
                    M::template combine<O>(joined, acc[p][0]);
#pragma unroll
                    for (int a = 0; a < A; ++a) acc[p][0][a] = joined[a];
                }
            }
            if (level < levels) {
#pragma unroll
                for (int p = 0; p < pairs; ++p)
#pragma unroll
                    for (int a = 0; a < A; ++a)
                        memory.pending[level][p][a][threadIdx.x] = acc[p][0][a];
            }
            if (++group == ScanOrder::groups) return;
            left = order.start[group + 1] - order.start[group];
#pragma unroll
            for (int p = 0; p < pairs; ++p)
#pragma unroll
                for (int g = 0; g < 4; ++g)
#pragma unroll
                    for (int a = 0; a < A; ++a) acc[p][g][a] = 0.0;
        };
        // This thread's slot of the slice that starts at `first`.
        int slot_group = 0;
        const auto place_of = [&](int first) {
            const int slot = first + static_cast<int>(threadIdx.x) % scan_depth;
            if (slot >= slots) return -1;
            while (slot >= order.slot[slot_group + 1]) ++slot_group;
            const int place = order.start[slot_group] + slot - order.slot[slot_group];
            return place < order.start[slot_group + 1] ? place : -1;
        };
        detail::ScanSlice<tq> q_next;
        detail::ScanSlice<tn> x_next;
        const auto read = [&](int first) {
            const int place = place_of(first);
            q_next.read(tile.queries, q0, tile.q, d, place);
            x_next.read(tile.points, n0, tile.n, d, place);
        };
        read(0);
        __syncthreads();  // the slices of the queries before
        for (int first = 0; first < slots; first += scan_depth, buffer ^= 1) {
            q_next.write(memory.qs[buffer]);
            x_next.write(memory.xs[buffer]);
            __syncthreads();
            read(first + scan_depth);
            const int end = min(scan_depth, slots - first);
#pragma unroll 1
            for (int k = 0; k < end; k += 4) {
                while (left <= 0) finish_group();
                if (left >= 4) {
#pragma unroll
                    for (int g = 0; g < 4; ++g) step(g, k + g);
                } else {
#pragma unroll
                    for (int g = 0; g < 3; ++g)
                        if (g < left) step(g, k + g);
                }
                left -= 4;
            }
        }
        while (group < ScanOrder::groups) finish_group();
#pragma unroll
        for (int p = 0; p < pairs; ++p) {
            const std::int64_t q = q0 + ty * Q + p / P, x = n0 + tx + scan_columns * (p % P);
            if (q >= tile.q || x >= tile.n) continue;
            const bool eligible = !tile.query_nan[q] && !tile.point_nan[x] &&
                                  !(tile.self && tile.self[q] == tile.first_point + x);
            const double r = M::finish(acc[p][0], tile.query_aux + q * metric::max_aux,
                                       tile.point_aux + x * metric::max_aux, params);
            tile.keys[q * tile.ld + x] = rank_key(exact::ordered_rank(r), eligible);
        }
    }
}

template <class M, int P>
inline constinit SharedMemoryPermit scan_permit{};

// Enqueues the scan of a tile.
template <class M>
void launch_scan_pairs(const ScanTile& tile, const metric::Params& params, cudaStream_t stream) {
    constexpr int P = 4 / M::accumulators;
    using Memory = ScanMemory<M, P>;
    scan_permit<M, P>.require(scan_pairs<M, P>);
    const unsigned rows = blocks_for(tile.q, Memory::queries);
    const dim3 grid(blocks_for(tile.n, Memory::points), rows < 65535 ? rows : 65535);
    scan_pairs<M, P><<<grid, detail::scan_threads, sizeof(Memory), stream>>>(
        tile, scan_order(params.d), params);
}

}  // namespace kith::gpu
