// What lies round the consumers of the fused filter of sm_90a: the tile schedule and the layout of
// shared memory, the producer, tensor maps, the launch. fused_kernel_sm90a.cuh says what a grid, a
// block and a warpgroup own.
#pragma once

#include <algorithm>
#include <atomic>
#include <string>

#include "gpu/filter/augmented.h"
#include "gpu/filter/candidates.cuh"
#include "gpu/filter/segments.h"
#include "gpu/filter/sure_pairs.h"
#include "gpu/filter/warp_exchange.cuh"
#include "gpu/primitives/async_copy.cuh"
#include "gpu/primitives/wgmma.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"

namespace kith::gpu::sm90a {

inline constexpr int tile_queries = static_cast<int>(filter_tile_queries);
inline constexpr int tile_points = static_cast<int>(filter_tile_points);
inline constexpr int k_tile = 64,
                     k_tile_bytes = k_tile * 2;  // a row of a K-tile: what one swizzle spans
inline constexpr int query_k_tile_bytes = tile_queries * k_tile_bytes,
                     point_k_tile_bytes = tile_points * k_tile_bytes;
inline constexpr int half_norm_bytes = tile_points * 4;
inline constexpr int term_bytes = augmented_terms * 2;  // of a row of a plane of terms
inline constexpr int consumers = 4, warps = consumers * 4, threads = 128 * (1 + consumers);
// Entries that a warp's list has room for, and groups of its exchange.
struct WarpRoom {
    int list, exchange;
    KITH_HD constexpr int bytes() const {
        return (list * WarpList::entry_bytes + WarpExchange::bytes(exchange) + 15) / 16 * 16;
    }
};
inline constexpr int max_stages = 8, max_resident = 4, max_slots = 8;
inline constexpr int most_resident_steps = max_resident * k_tile / 16;
inline constexpr int shared_limit = 227 * 1024;

// The tile schedule of a pass, and the layout of shared memory.
struct TileSchedule {
    int cluster = 1;             // blocks per cluster
    int steps = 0;               // of an MMA: 16 coordinates
    int k_tiles = 0;             // of 64 coordinates
    int stages = 0;              // of the pipeline of K-tiles
    int resident = 0;            // K-tiles of queries that stay; 0: they are loaded with every tile
    int tiles = 0, segment = 0;  // tiles of points, and how many a work tile has
    int query_tiles = 0, work_tiles = 0;  // of a cluster
    int pipeline = 0, half_norms = 0, lists = 0, barriers = 0,
        bytes = 0;        // offsets from the first multiple of 1,024
    int stage_bytes = 0;  // of a stage's K-tiles
    int slots = 0;        // of the pipeline of half norms, or for a tile's terms
    WarpRoom room{};
    int half_norm_stride =
        0;  // of a slot: the half norms of a tile and, where columns are queries, their thresholds
    // Of augmented vectors: planes of terms, and offsets of the points' terms, of the queries' and,
    // where there is one plane, of as many zeros as a half of a tile's points has terms.
    int planes = 0, point_terms = 0, query_terms = 0, zeros = 0;
};

struct TensorMaps {
    CUtensorMap queries, points;
};

#if defined(KITH_SM_90A)

// A pipeline state: stage and mbarrier parity.
struct PipelineState {
    int stage = 0, parity = 0;
    __device__ void next(int stages) {
        if (++stage == stages) {
            stage = 0;
            parity ^= 1;
        }
    }
};

// A work tile of a cluster. `listed`: of the tiles that its queries have a list of.
template <bool listed = false>
struct WorkTile {
    int number, first, end;      // tiles [first, end), or entries of the list
    int query_tile;              // this block's
    const std::uint32_t* tiles;  // the list

    // The first work tile from `index` on that has tiles of points, or one past the last.
    __device__ static WorkTile from(int index, const FilterPass& pass, const TileSchedule& schedule,
                                    int cta_rank) {
        const int step = static_cast<int>(gridDim.x) / schedule.cluster;
        for (; index < schedule.work_tiles; index += step) {
            const int segment = index / schedule.query_tiles, group = index % schedule.query_tiles;
            int first = segment * schedule.segment, tiles = schedule.tiles;
            const std::uint32_t* list = nullptr;
            if constexpr (listed) {
                const std::int64_t own =
                    group * schedule.cluster * filter_tile_queries / listed_queries;
                tiles = static_cast<int>(pass.tile_counts[own]);
                list = pass.tiles + own * pass.tile_stride;
            }
            const int end = min(first + schedule.segment, tiles);
            // Tiles left of the group's diagonal have been served by others.
            if (pass.column_threshold)
                first = max(first, group * schedule.cluster * tile_queries / tile_points -
                                       static_cast<int>(pass.first / filter_tile_points));
            if (first < end) return {index, first, end, group * schedule.cluster + cta_rank, list};
        }
        return {index, 0, 0, -1, nullptr};
    }
    __device__ WorkTile next(const FilterPass& pass, const TileSchedule& schedule,
                             int cta_rank) const {
        return from(number + static_cast<int>(gridDim.x) / schedule.cluster, pass, schedule,
                    cta_rank);
    }
    // The number, from the pass' first, of a tile in [first, end).
    __device__ int tile(int t) const {
        if constexpr (listed) return static_cast<int>(__ldg(tiles + t));
        return t;
    }
};

struct SharedStorage {
    std::uint32_t base;
    const TileSchedule& schedule;
    __device__ std::uint32_t query_k_tile(int stage_or_k_tile) const {
        return schedule.resident
                   ? base + static_cast<std::uint32_t>(stage_or_k_tile * query_k_tile_bytes)
                   : point_k_tile(stage_or_k_tile) + point_k_tile_bytes;
    }
    __device__ std::uint32_t point_k_tile(int stage) const {
        return base + static_cast<std::uint32_t>(schedule.pipeline + stage * schedule.stage_bytes);
    }
    __device__ std::uint32_t query_terms() const {
        return base + static_cast<std::uint32_t>(schedule.query_terms);
    }
    __device__ std::uint32_t zeros() const {
        return base + static_cast<std::uint32_t>(schedule.zeros);
    }
    __device__ std::uint32_t point_terms(int slot) const {
        return base + static_cast<std::uint32_t>(schedule.point_terms +
                                                 slot * schedule.planes * tile_points * term_bytes);
    }
    __device__ std::uint32_t half_norms(int slot) const {
        return base +
               static_cast<std::uint32_t>(schedule.half_norms + slot * schedule.half_norm_stride);
    }
    __device__ std::uint32_t full(int stage) const {
        return base + static_cast<std::uint32_t>(schedule.barriers + stage * 8);
    }
    __device__ std::uint32_t empty(int stage) const { return full(max_stages + stage); }
    __device__ std::uint32_t queries_full() const { return full(2 * max_stages); }
    __device__ std::uint32_t queries_empty() const { return full(2 * max_stages + 1); }
    __device__ std::uint32_t half_norms_empty(int slot) const {
        return full(2 * max_stages + 2 + slot);
    }
};

// Rows [first, first + rows) of the planes of terms.
__device__ __forceinline__ void copy_terms(const void* terms, std::int64_t plane, int first,
                                           int rows, int planes, std::uint32_t to,
                                           std::uint32_t full) {
    const char* from = static_cast<const char*>(terms) + std::int64_t{first} * term_bytes;
    for (int i = 0; i < planes;
         ++i, from += plane, to += static_cast<std::uint32_t>(rows * term_bytes))
        bulk_copy(to, from, rows * term_bytes, full);
}

// The producer: one thread. Of augmented vectors the terms come with a tile's first K-tile, else
// the half norms do.
template <bool augmented, bool listed = false>
__device__ __forceinline__ void produce(const TensorMaps& maps, const FilterPass& pass,
                                        const TileSchedule& schedule, const SharedStorage& s,
                                        int cta_rank, int cluster) {
    PipelineState at, slot;
    int loaded = -1;
    int reload = 0;
    const int halves = 2 / schedule.cluster;
    for (auto work = WorkTile<listed>::from(cluster, pass, schedule, cta_rank);
         work.number < schedule.work_tiles; work = work.next(pass, schedule, cta_rank)) {
        const int query_tile = work.query_tile;
        if (schedule.resident && query_tile != loaded) {
            mbarrier_wait(s.queries_empty(), (reload & 1) ^ 1);
            mbarrier_expect_tx(s.queries_full(), schedule.k_tiles * query_k_tile_bytes +
                                                     schedule.planes * tile_queries * term_bytes);
            for (int c = 0; c < schedule.k_tiles; ++c)
                tma_load(s.query_k_tile(c), &maps.queries, s.queries_full(), c * k_tile,
                         query_tile * tile_queries);
            if constexpr (augmented)
                copy_terms(pass.query_terms, pass.query_plane, query_tile * tile_queries,
                           tile_queries, schedule.planes, s.query_terms(), s.queries_full());
            loaded = query_tile;
            ++reload;
        }
        const int first_bytes =
            augmented ? schedule.planes * tile_points * term_bytes : schedule.half_norm_stride;
        for (int t = work.first; t < work.end; ++t) {
            const auto row = static_cast<int>(pass.first) + work.tile(t) * tile_points;
            for (int c = 0; c < schedule.k_tiles; ++c) {
                mbarrier_wait(s.empty(at.stage), at.parity ^ 1);
                const std::uint32_t full = s.full(at.stage);
                mbarrier_expect_tx(full, point_k_tile_bytes +
                                             (schedule.resident ? 0 : query_k_tile_bytes) +
                                             (c == 0 ? first_bytes : 0));
                for (int i = 0; i < halves; ++i) {
                    const int half = cta_rank * halves + i;
                    const std::uint32_t to =
                        s.point_k_tile(at.stage) +
                        static_cast<std::uint32_t>(half) * point_k_tile_bytes / 2;
                    const int from = row + half * tile_points / 2;
                    if (schedule.cluster == 1) tma_load(to, &maps.points, full, c * k_tile, from);
                    else tma_load_multicast(to, &maps.points, full, c * k_tile, from, 3);
                }
                if (!schedule.resident)
                    tma_load(s.query_k_tile(at.stage), &maps.queries, full, c * k_tile,
                             query_tile * tile_queries);
                if (augmented && c == 0) {
                    // The stage of the last tile's first K-tile with this slot has been released:
                    // there are so many slots.
                    copy_terms(pass.point_terms, pass.point_plane, row, tile_points,
                               schedule.planes, s.point_terms(slot.stage), full);
                    slot.next(schedule.slots);
                } else if (c == 0) {
                    mbarrier_wait(s.half_norms_empty(slot.stage), slot.parity ^ 1);
                    bulk_copy(s.half_norms(slot.stage), pass.half_norm + row, half_norm_bytes,
                              full);
                    if (pass.column_threshold)
                        bulk_copy(s.half_norms(slot.stage) + half_norm_bytes,
                                  pass.column_threshold + row, half_norm_bytes, full);
                    slot.next(schedule.slots);
                }
                at.next(schedule.stages);
            }
        }
    }
}

// Initialises barriers and zeros; every thread of the block calls, and none goes on before its
// cluster's blocks have.
__device__ __forceinline__ void init_shared(const SharedStorage& s, char* shared) {
    const TileSchedule& schedule = s.schedule;
    if (threadIdx.x == 0) {
        for (int i = 0; i < schedule.stages; ++i) {
            mbarrier_init(s.full(i), 1);
            mbarrier_init(s.empty(i), consumers * schedule.cluster);
        }
        for (int i = 0; i < schedule.slots; ++i) mbarrier_init(s.half_norms_empty(i), warps);
        mbarrier_init(s.queries_full(), 1);
        mbarrier_init(s.queries_empty(), consumers);
        fence_mbarrier_init();
    }
    if (schedule.zeros > 0) {
        for (int i = static_cast<int>(threadIdx.x); i < tile_points / 2; i += threads)
            reinterpret_cast<uint4*>(shared + schedule.zeros)[i] = uint4{};
        fence_proxy_async();
    }
    cluster_sync();
}

#endif

// `exchanges`: the epilogue appends by exchange, if there is room.
inline TileSchedule make_schedule(const FilterPass& p, int multiprocessors,
                                  bool exchanges = false) {
    TileSchedule c;
    c.steps = static_cast<int>(p.width / 16);
    c.k_tiles = (c.steps + 3) / 4;
    const std::int64_t blocks = (p.q + tile_queries - 1) / tile_queries;
    c.cluster = blocks > 1 && p.most_cluster > 1 ? 2 : 1;
    c.query_tiles = static_cast<int>((blocks + c.cluster - 1) / c.cluster);
    c.tiles = static_cast<int>(p.tiles ? p.tile_stride : (p.count + tile_points - 1) / tile_points);
    // The diagonal of a symmetric pass makes work tiles shorter, as lists do: many of them even
    // that out.
    c.segment = segment_length(c.tiles, c.query_tiles, multiprocessors / c.cluster,
                               c.query_tiles > 1 ? 0.7 : 0.05,
                               p.row_query          ? 64
                               : p.tiles            ? 8
                               : p.column_threshold ? 16
                                                    : 64);
    c.work_tiles = (c.tiles + c.segment - 1) / c.segment * c.query_tiles;
    c.resident = c.k_tiles <= max_resident ? c.k_tiles : 0;
    c.stage_bytes = point_k_tile_bytes + (c.resident ? 0 : query_k_tile_bytes);
    const bool augmented = p.point_terms != nullptr;
    if (augmented) {
        c.planes = p.term_planes;
    } else {
        // As many tiles in flight as stages, where a tile is one of these.
        c.slots = c.k_tiles == 1 ? max_slots : max_slots / 2;
        c.half_norm_stride = p.column_threshold ? 2 * half_norm_bytes : half_norm_bytes;
    }
    const int query_bytes = c.resident * query_k_tile_bytes,
              zeros = c.planes == 1 ? tile_points / 2 * term_bytes : 0,
              terms = c.planes * tile_queries * term_bytes + zeros;
    // A tile whose first K-tile has a stage again has its terms in a slot again, at the soonest.
    const auto slots_of = [&](int stages) {
        return augmented ? (stages + c.k_tiles - 1) / c.k_tiles : c.slots;
    };
    const auto slot_bytes = [&](int stages) {
        return slots_of(stages) * c.planes * tile_points * term_bytes;
    };
    const auto stages_with = [&](const WarpRoom& room) {
        const int fixed =
            query_bytes + terms + c.slots * c.half_norm_stride + warps * room.bytes() + 1024 + 256;
        int stages = max_stages;
        while (fixed + stages * c.stage_bytes + slot_bytes(stages) > shared_limit) --stages;
        return stages;
    };
    // The warpgroups go through tiles at their own pace where one tile is not all that is in
    // flight: lists pay for that.
    constexpr int beside_exchange = 80;  // what the most entries take, less an exchange
    constexpr WarpRoom most{WarpList::most_room, 0}, both{beside_exchange, WarpExchange::most_room},
        least{WarpList::least_room, 0};
    static_assert(both.bytes() <= most.bytes() &&
                  beside_exchange * WarpList::entry_bytes % sizeof(int4) == 0);
    c.room = exchanges ? both : most;
    c.stages = stages_with(c.room);
    if (c.resident && c.stages <= c.k_tiles && stages_with(least) > c.stages) {
        c.room = least;
        c.stages = stages_with(c.room);
    }
    c.slots = slots_of(c.stages);
    c.pipeline = query_bytes;
    c.point_terms = c.pipeline + c.stages * c.stage_bytes;
    c.query_terms = c.point_terms + slot_bytes(c.stages);
    c.zeros = zeros > 0 ? c.query_terms + tile_queries * term_bytes : 0;
    c.half_norms = c.query_terms + terms;
    c.lists = c.half_norms + c.slots * c.half_norm_stride;
    c.barriers = c.lists + warps * c.room.bytes();
    c.bytes = c.barriers + 256 + 1024;
    return c;
}

// The driver's function that encodes a tensor map; the library does not link the driver.
using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                            const cuuint64_t*, const cuuint32_t*, const cuuint32_t*,
                            CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                            CUtensorMapFloatOOBfill);
inline constinit std::atomic<Encode> found_encoder = nullptr;
inline Encode encoder() {
    if (const Encode found = found_encoder.load(std::memory_order_relaxed)) return found;
    void* function = nullptr;
    cudaDriverEntryPointQueryResult result{};
    check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                           cudaEnableDefault, &result),
          "cuTensorMapEncodeTiled");
    if (result != cudaDriverEntryPointSuccess)
        throw Error(ErrorCode::device, "device: the driver has no tensor maps");
    const auto found = reinterpret_cast<Encode>(function);
    found_encoder.store(found, std::memory_order_relaxed);
    return found;
}

// Boxes of tile_queries rows of a K-tile of vectors.
inline CUtensorMap map_of(const void* vectors, std::int64_t rows, std::int64_t width) {
    CUtensorMap map{};
    const cuuint64_t sizes[2] = {static_cast<cuuint64_t>(width), static_cast<cuuint64_t>(rows)};
    const cuuint64_t strides[1] = {static_cast<cuuint64_t>(width) * 2};
    const cuuint32_t box[2] = {k_tile, tile_queries}, steps[2] = {1, 1};
    const CUresult status =
        encoder()(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, const_cast<void*>(vectors), sizes,
                  strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                  CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (status != CUDA_SUCCESS)
        throw Error(ErrorCode::device,
                    "device: cuTensorMapEncodeTiled: " + std::to_string(static_cast<int>(status)));
    return map;
}

using FusedKernel = void(TensorMaps, FilterPass, SurePairs, TileSchedule);

inline void launch_pass(FusedKernel* kernel, const FilterPass& pass, const SurePairs& sure,
                        const TileSchedule& schedule, cudaStream_t stream) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_limit),
          "shared memory of the fused filter");
    cudaLaunchConfig_t config{};
    const int clusters =
        std::min(device_attributes().multiprocessors / schedule.cluster, schedule.work_tiles);
    config.gridDim = dim3(static_cast<unsigned>(clusters * schedule.cluster));
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = static_cast<std::size_t>(schedule.bytes);
    config.stream = stream;
    cudaLaunchAttribute cluster{};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {static_cast<unsigned>(schedule.cluster), 1, 1};
    config.attrs = &cluster;
    config.numAttrs = 1;
    const TensorMaps maps{map_of(pass.queries, pass.q, pass.width),
                          map_of(pass.points, pass.first + pass.count, pass.width)};
    check(cudaLaunchKernelEx(&config, kernel, maps, pass, sure, schedule), "fused filter");
}

}  // namespace kith::gpu::sm90a
