// The fused filter on Hopper: a GEMM by TMA and wgmma whose epilogue compares the accumulators with thresholds.
//
// grid        as many blocks as multiprocessors, in clusters of one or two; persistent
// cluster     two blocks take the same points for different queries: each loads half of a tile of points for both
// block       128 queries x tiles of 256 points: a producer warp, of which one thread loads, four consumer warpgroups
// warpgroup   64 queries x 128 points, 64 accumulators a thread, initialised to the half norms; each MMA subtracts
// work tile   a block's queries x a segment of tiles; all blocks walk the segments together, so points are in L2
//
// Main loop: K-tiles of 64 coordinates go through a multistage pipeline in shared memory. Where all K-tiles of the
// queries fit they stay for a whole work tile, otherwise they are loaded again with every tile. The half norms of a
// tile, and where columns are queries the columns' thresholds, have a pipeline of their own, one slot for a tile.
//
// A stage or slot is reused when its mbarrier `empty` has seen all of its readers, and all readers of the same stage of
// the cluster's other block. Who reads what decides what an arrival has to prove (PTX ISA, 8 and 9.7.13):
//
//   points,   read by wgmma (async proxy), written by TMA (async proxy) of both blocks. wgmma.wait_group: the MMAs of
//   queries   the whole warpgroup are over, and with them their reads; an arrival after it needs no memory order, only
//             to be seen. So one thread of a warpgroup arrives at its own block's mbarrier and at the other's, there
//             without a release at cluster scope, as CUTLASS' consumer_release does.
//   slots     read by every thread (generic proxy), written by bulk copies of the own block only. Each thread's reads
//             -> its fence.proxy.async -> __syncwarp -> its warp's arrival, .release.cta -> the producer's wait,
//             .acquire.cta -> its next copy to the slot: an unbroken chain of causality for a write after a read
//             across proxies. Therefore every warp arrives, not one of a warpgroup.
//
// The other direction: the wait for `full` sees complete_tx, which makes copied bytes visible to whoever waits for it.
// racecheck (compute-sanitizer 13.0) does not follow an arrival that one lane makes for its warp behind __syncwarp: it
// reports a hazard of the half norms wherever a pipeline wraps, here and with sm_80's copies alike, and of a pipeline
// of twenty lines; of the same twenty lines with every thread arriving it reports none. TMA it does not see at all.
#include <algorithm>
#include <array>

#include "gpu/filter/candidates.cuh"
#include "gpu/filter/segments.h"
#include "gpu/filter/sure_pairs.h"
#include "gpu/filter/wgmma.cuh"
#include "gpu/primitives/async_copy.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"

namespace kith::gpu {

namespace {

constexpr int tile_queries = static_cast<int>(filter_tile_queries), tile_points = static_cast<int>(filter_tile_points);
constexpr int k_tile = 64, k_tile_bytes = k_tile * 2;  // a row of a K-tile: what one swizzle spans
constexpr int query_k_tile_bytes = tile_queries * k_tile_bytes, point_k_tile_bytes = tile_points * k_tile_bytes;
constexpr int half_norm_bytes = tile_points * 4;
constexpr int consumers = 4, warps = consumers * 4, threads = 128 * (1 + consumers);
constexpr int list_bytes = WarpList::room * (static_cast<int>(sizeof(Candidate)) + 4);
constexpr int max_stages = 8, max_resident = 4, max_slots = 8;
constexpr int shared_limit = 227 * 1024;

// The tile schedule of a pass, and the layout of shared memory.
struct TileSchedule {
    int cluster = 1;                      // blocks per cluster
    int steps = 0;                        // of an MMA: 16 coordinates
    int k_tiles = 0;                      // of 64 coordinates
    int stages = 0;                       // of the pipeline of K-tiles
    int resident = 0;                     // K-tiles of queries that stay; 0: they are loaded with every tile
    int tiles = 0, segment = 0;           // tiles of points, and how many a work tile has
    int query_tiles = 0, work_tiles = 0;  // of a cluster
    int pipeline = 0, half_norms = 0, lists = 0, barriers = 0, bytes = 0;  // offsets from the first multiple of 1,024
    int stage_bytes = 0;                                                   // of a stage's K-tiles
    int slots = 0;                                                         // of the pipeline of half norms
    int half_norm_stride = 0;  // of a slot: the half norms of a tile and, where columns are queries, their thresholds
};

// What the epilogue does with the values: appends candidates of the rows, of rows and columns, stores all of them, or
// counts sure ones of the rows and appends the others.
enum class Epilogue { rows, both, all, counts };

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

// A work tile of a cluster.
struct WorkTile {
    int number, first, end;  // tiles [first, end)
    int query_tile;          // this block's

    // The first work tile from `index` on that has tiles of points, or one past the last.
    __device__ static WorkTile from(int index, const FilterPass& pass, const TileSchedule& schedule, int cta_rank) {
        const int step = static_cast<int>(gridDim.x) / schedule.cluster;
        for (; index < schedule.work_tiles; index += step) {
            const int segment = index / schedule.query_tiles, group = index % schedule.query_tiles;
            int first = segment * schedule.segment;
            const int end = min(first + schedule.segment, schedule.tiles);
            // Tiles left of the group's diagonal have been served by others.
            if (pass.column_threshold)
                first = max(first, group * schedule.cluster * tile_queries / tile_points -
                                       static_cast<int>(pass.first / filter_tile_points));
            if (first < end) return {index, first, end, group * schedule.cluster + cta_rank};
        }
        return {index, 0, 0, -1};
    }
    __device__ WorkTile next(const FilterPass& pass, const TileSchedule& schedule, int cta_rank) const {
        return from(number + static_cast<int>(gridDim.x) / schedule.cluster, pass, schedule, cta_rank);
    }
};

struct SharedStorage {
    std::uint32_t base;
    const TileSchedule& schedule;
    __device__ std::uint32_t query_k_tile(int stage_or_k_tile) const {
        return schedule.resident ? base + static_cast<std::uint32_t>(stage_or_k_tile * query_k_tile_bytes)
                                 : point_k_tile(stage_or_k_tile) + point_k_tile_bytes;
    }
    __device__ std::uint32_t point_k_tile(int stage) const {
        return base + static_cast<std::uint32_t>(schedule.pipeline + stage * schedule.stage_bytes);
    }
    __device__ std::uint32_t half_norms(int slot) const {
        return base + static_cast<std::uint32_t>(schedule.half_norms + slot * schedule.half_norm_stride);
    }
    __device__ std::uint32_t full(int stage) const {
        return base + static_cast<std::uint32_t>(schedule.barriers + stage * 8);
    }
    __device__ std::uint32_t empty(int stage) const { return full(max_stages + stage); }
    __device__ std::uint32_t queries_full() const { return full(2 * max_stages); }
    __device__ std::uint32_t queries_empty() const { return full(2 * max_stages + 1); }
    __device__ std::uint32_t half_norms_empty(int slot) const { return full(2 * max_stages + 2 + slot); }
};

// The producer: one thread.
__device__ void produce(const CUtensorMap* queries, const CUtensorMap* points, const FilterPass& pass,
                        const TileSchedule& schedule, const SharedStorage& s, int cta_rank, int cluster) {
    PipelineState at, slot;
    int loaded = -1;
    int reload = 0;
    const int halves = 2 / schedule.cluster;
    for (WorkTile work = WorkTile::from(cluster, pass, schedule, cta_rank); work.number < schedule.work_tiles;
         work = work.next(pass, schedule, cta_rank)) {
        const int query_tile = work.query_tile;
        if (schedule.resident && query_tile != loaded) {
            mbarrier_wait(s.queries_empty(), (reload & 1) ^ 1);
            mbarrier_expect_tx(s.queries_full(), schedule.k_tiles * query_k_tile_bytes);
            for (int c = 0; c < schedule.k_tiles; ++c)
                tma_load(s.query_k_tile(c), queries, s.queries_full(), c * k_tile, query_tile * tile_queries);
            loaded = query_tile;
            ++reload;
        }
        for (int tile = work.first; tile < work.end; ++tile) {
            const auto row = static_cast<int>(pass.first) + tile * tile_points;
            for (int c = 0; c < schedule.k_tiles; ++c) {
                mbarrier_wait(s.empty(at.stage), at.parity ^ 1);
                const std::uint32_t full = s.full(at.stage);
                mbarrier_expect_tx(full, point_k_tile_bytes + (schedule.resident ? 0 : query_k_tile_bytes) +
                                             (c == 0 ? schedule.half_norm_stride : 0));
                for (int i = 0; i < halves; ++i) {
                    const int half = cta_rank * halves + i;
                    const std::uint32_t to =
                        s.point_k_tile(at.stage) + static_cast<std::uint32_t>(half) * point_k_tile_bytes / 2;
                    const int from = row + half * tile_points / 2;
                    if (schedule.cluster == 1) tma_load(to, points, full, c * k_tile, from);
                    else tma_load_multicast(to, points, full, c * k_tile, from, 3);
                }
                if (!schedule.resident)
                    tma_load(s.query_k_tile(at.stage), queries, full, c * k_tile, query_tile * tile_queries);
                if (c == 0) {
                    mbarrier_wait(s.half_norms_empty(slot.stage), slot.parity ^ 1);
                    bulk_copy(s.half_norms(slot.stage), pass.half_norm + row, half_norm_bytes, full);
                    if (pass.column_threshold)
                        bulk_copy(s.half_norms(slot.stage) + half_norm_bytes, pass.column_threshold + row,
                                  half_norm_bytes, full);
                    slot.next(schedule.slots);
                }
                at.next(schedule.stages);
            }
        }
    }
}

// A consumer warpgroup: upper or lower half of the queries (`rows`), left or right half of the points (`half`).
template <Epilogue epilogue, int Tail>
__device__ void consume(const FilterPass& pass, const SurePairs& sure, const TileSchedule& schedule,
                        const SharedStorage& s, char* shared, int cta_rank, int cluster, int rows, int half) {
    const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32) - 4;
    const bool elected = warp % 4 == 0 && lane == 0;
    WarpList list{reinterpret_cast<Candidate*>(shared + schedule.lists + warp * list_bytes),
                  reinterpret_cast<std::uint32_t*>(shared + schedule.lists + warp * list_bytes +
                                                   WarpList::room * static_cast<int>(sizeof(Candidate)))};
    // A stage whose K-tile the warpgroup has multiplied.
    const auto release_stage = [&](int stage) {
        if (!elected) return;
        mbarrier_arrive(s.empty(stage));
        if (schedule.cluster > 1) mbarrier_arrive_remote(s.empty(stage), cta_rank ^ 1);
    };
    // A slot that this warp has read.
    const auto release_slot = [&](int slot) {
        fence_proxy_async();
        __syncwarp();
        if (lane == 0) mbarrier_arrive(s.half_norms_empty(slot));
    };
    const auto queries_at = [&](int c, int stage) {
        return wgmma_descriptor(s.query_k_tile(schedule.resident ? c : stage) +
                                static_cast<std::uint32_t>(rows) * query_k_tile_bytes / 2);
    };
    PipelineState at, slot;
    int loaded = -1;
    int reload = 0;
    for (WorkTile work = WorkTile::from(cluster, pass, schedule, cta_rank); work.number < schedule.work_tiles;) {
        const int query_tile = work.query_tile;
        const int upper = query_tile * tile_queries + rows * 64 + warp % 4 * 16 + lane / 4;
        const float nothing = __int_as_float(0x7fffffff);
        float upper_threshold = nothing, lower_threshold = nothing;
        if (epilogue != Epilogue::all) {
            if (upper < pass.q) upper_threshold = pass.threshold[upper];
            if (upper + 8 < pass.q) lower_threshold = pass.threshold[upper + 8];
        }
        ThreadCounts counted{nothing, nothing};
        if constexpr (epilogue == Epilogue::counts) {
            if (upper < pass.q) counted.upper_sure = sure.up_to[upper];
            if (upper + 8 < pass.q) counted.lower_sure = sure.up_to[upper + 8];
        }
        if (schedule.resident && query_tile != loaded) {
            mbarrier_wait(s.queries_full(), reload & 1);
            loaded = query_tile;
            ++reload;
        }
        for (int tile = work.first; tile < work.end; ++tile, slot.next(schedule.slots)) {
            float d[64];
            mbarrier_wait(s.full(at.stage), at.parity);
            const auto* const h =
                reinterpret_cast<const float2*>(shared + schedule.half_norms + slot.stage * schedule.half_norm_stride) +
                half * 64 + lane % 4;
#pragma unroll
            for (int j = 0; j < 16; ++j) {
                const float2 two = h[j * 4];
                d[j * 4] = d[j * 4 + 2] = two.x;
                d[j * 4 + 1] = d[j * 4 + 3] = two.y;
            }
            int last = at.stage;
            const auto multiply = [&]<int Steps>(int c) {
                if (c > 0) mbarrier_wait(s.full(at.stage), at.parity);
                const std::uint64_t a = queries_at(c, at.stage),
                                    b = wgmma_descriptor(s.point_k_tile(at.stage) +
                                                         static_cast<std::uint32_t>(half) * point_k_tile_bytes / 2);
                wgmma_fence();
#pragma unroll
                for (int i = 0; i < Steps; ++i) wgmma_subtract(d, a + 2 * i, b + 2 * i);
                wgmma_commit();
                if (epilogue != Epilogue::both && c == 0) release_slot(slot.stage);
                if (c > 0) {
                    wgmma_wait<1>();
                    release_stage(last);
                }
                last = at.stage;
                at.next(schedule.stages);
            };
            for (int c = 0; c < schedule.steps / 4; ++c) multiply.template operator()<4>(c);
            if constexpr (Tail > 0) multiply.template operator()<Tail>(schedule.steps / 4);
            wgmma_wait<0>();
            release_stage(last);
            if (schedule.resident && tile + 1 == work.end && threadIdx.x % 128 == 0) {
                const WorkTile next = work.next(pass, schedule, cta_rank);
                if (next.number < schedule.work_tiles && next.query_tile != query_tile)
                    mbarrier_arrive(s.queries_empty());
            }
            const int column = tile * tile_points + half * 128 + lane % 4 * 2;
            if constexpr (epilogue == Epilogue::all) {
                store_all<64>(d, pass.all + static_cast<std::int64_t>(upper) * pass.ld + column, pass.ld,
                              upper < pass.q, upper + 8 < pass.q);
            } else {
                const auto position = static_cast<std::uint32_t>(static_cast<int>(pass.first) + column);
                ThreadTile thread_tile{static_cast<std::uint32_t>(upper), position, upper_threshold, lower_threshold};
                // Rows of an earlier pass have been compared with these columns, those on the diagonal with each other.
                const int rows_tile = query_tile * tile_queries / tile_points,
                          first_tile = static_cast<int>(pass.first) / tile_points;
                if (epilogue == Epilogue::both) {
                    // Half norms have room for whole tiles, so the rows past q are there.
                    const bool columns = rows_tile >= first_tile && rows_tile != first_tile + tile;
                    thread_tile.upper_point_threshold =
                        columns ? point_threshold(__ldg(pass.half_norm + upper)) : nothing;
                    thread_tile.lower_point_threshold =
                        columns ? point_threshold(__ldg(pass.half_norm + upper + 8)) : nothing;
                    thread_tile.column_threshold =
                        reinterpret_cast<const float2*>(shared + schedule.half_norms +
                                                        slot.stage * schedule.half_norm_stride + half_norm_bytes) +
                        half * 64 + lane % 4;
                }
                append_candidates<64, epilogue == Epilogue::both, epilogue == Epilogue::counts>(d, thread_tile, list,
                                                                                                pass, &counted);
                if (epilogue == Epilogue::both) release_slot(slot.stage);  // its columns' thresholds have been read now
            }
        }
        if constexpr (epilogue == Epilogue::counts) {
            // Four lanes have the same rows; those past q have counted nothing.
#pragma unroll
            for (int step = 1; step < 4; step *= 2) {
                counted.upper += __shfl_xor_sync(0xffffffffu, counted.upper, step);
                counted.lower += __shfl_xor_sync(0xffffffffu, counted.lower, step);
            }
            if (lane % 4 == 0 && counted.upper > 0) atomicAdd(&sure.counts[upper], counted.upper);
            if (lane % 4 == 1 && counted.lower > 0) atomicAdd(&sure.counts[upper + 8], counted.lower);
        }
        work = work.next(pass, schedule, cta_rank);
    }
    if (epilogue != Epilogue::all) list.flush(pass);
}

#endif

template <Epilogue epilogue, int Tail>
__global__ void __launch_bounds__(threads, 1)
    fused_sm_90a(const __grid_constant__ CUtensorMap queries, const __grid_constant__ CUtensorMap points,
                 const FilterPass pass, const SurePairs sure, const TileSchedule schedule) {
#if defined(KITH_SM_90A)
    extern __shared__ char raw[];
    char* const shared = raw + (1024 - shared_address(raw) % 1024) % 1024;
    const SharedStorage s{shared_address(shared), schedule};
    const int cta_rank = schedule.cluster == 1 ? 0 : cluster_cta_rank();
    const int cluster = static_cast<int>(blockIdx.x) / schedule.cluster;
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
    cluster_sync();
    if (threadIdx.x < 128) {
        setmaxnreg_dec<56>();
        if (threadIdx.x == 0) produce(&queries, &points, pass, schedule, s, cta_rank, cluster);
    } else {
        setmaxnreg_inc<104>();
        const int group = static_cast<int>(threadIdx.x) / 128 - 1;
        consume<epilogue, Tail>(pass, sure, schedule, s, shared, cta_rank, cluster, group / 2, group % 2);
    }
    __syncwarp();
    cluster_sync();  // the other block may still copy to this one, or arrive at its barriers
#endif
}

TileSchedule make_schedule(const FilterPass& p, int multiprocessors) {
    TileSchedule c;
    c.steps = static_cast<int>(p.width / 16);
    c.k_tiles = (c.steps + 3) / 4;
    const std::int64_t blocks = (p.q + tile_queries - 1) / tile_queries;
    c.cluster = blocks > 1 && p.most_cluster > 1 ? 2 : 1;
    c.query_tiles = static_cast<int>((blocks + c.cluster - 1) / c.cluster);
    c.tiles = static_cast<int>((p.count + tile_points - 1) / tile_points);
    // The diagonal of a symmetric pass makes work tiles shorter: many of them even that out.
    c.segment = segment_length(c.tiles, c.query_tiles, multiprocessors / c.cluster, c.query_tiles > 1 ? 0.7 : 0.05,
                               p.column_threshold ? 16 : 64);
    c.work_tiles = (c.tiles + c.segment - 1) / c.segment * c.query_tiles;
    c.resident = c.k_tiles <= max_resident ? c.k_tiles : 0;
    c.stage_bytes = point_k_tile_bytes + (c.resident ? 0 : query_k_tile_bytes);
    // As many tiles in flight as stages, where a tile is one of these.
    c.slots = c.k_tiles == 1 ? max_slots : max_slots / 2;
    c.half_norm_stride = p.column_threshold ? 2 * half_norm_bytes : half_norm_bytes;
    const int fixed = c.resident * query_k_tile_bytes + c.slots * c.half_norm_stride + warps * list_bytes + 1024 + 256;
    c.stages = std::min(max_stages, (shared_limit - fixed) / c.stage_bytes);
    c.pipeline = c.resident * query_k_tile_bytes;
    c.half_norms = c.pipeline + c.stages * c.stage_bytes;
    c.lists = c.half_norms + c.slots * c.half_norm_stride;
    c.barriers = c.lists + warps * list_bytes;
    c.bytes = c.barriers + 256 + 1024;
    return c;
}

// The driver's function that encodes a tensor map; the library does not link the driver.
using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*, const cuuint64_t*,
                            const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                            CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
Encode encoder() {
    static const Encode found = [] {
        void* function = nullptr;
        cudaDriverEntryPointQueryResult result{};
        check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &result),
              "cuTensorMapEncodeTiled");
        if (result != cudaDriverEntryPointSuccess)
            throw Error(ErrorCode::device, "device: the driver has no tensor maps");
        return reinterpret_cast<Encode>(function);
    }();
    return found;
}

CUtensorMap map_of(const void* vectors, std::int64_t rows, std::int64_t width) {
    CUtensorMap map{};
    const cuuint64_t sizes[2] = {static_cast<cuuint64_t>(width), static_cast<cuuint64_t>(rows)};
    const cuuint64_t strides[1] = {static_cast<cuuint64_t>(width) * 2};
    const cuuint32_t box[2] = {k_tile, tile_queries}, steps[2] = {1, 1};
    const CUresult status = encoder()(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, const_cast<void*>(vectors), sizes,
                                      strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (status != CUDA_SUCCESS)
        throw Error(ErrorCode::device, "device: cuTensorMapEncodeTiled: " + std::to_string(static_cast<int>(status)));
    return map;
}

}  // namespace

void filter_pass_sm_90a(const FilterPass& pass, cudaStream_t stream) {
    filter_pass_counting_sm_90a(pass, {}, stream);
}

void filter_pass_counting_sm_90a(const FilterPass& pass, const SurePairs& sure, cudaStream_t stream) {
    const int blocks = device_attributes().multiprocessors;
    const TileSchedule schedule = make_schedule(pass, blocks);
    using enum Epilogue;
    static constexpr std::array kernels = {
        fused_sm_90a<rows, 0>,   fused_sm_90a<rows, 1>,   fused_sm_90a<rows, 2>,   fused_sm_90a<rows, 3>,
        fused_sm_90a<both, 0>,   fused_sm_90a<both, 1>,   fused_sm_90a<both, 2>,   fused_sm_90a<both, 3>,
        fused_sm_90a<all, 0>,    fused_sm_90a<all, 1>,    fused_sm_90a<all, 2>,    fused_sm_90a<all, 3>,
        fused_sm_90a<counts, 0>, fused_sm_90a<counts, 1>, fused_sm_90a<counts, 2>, fused_sm_90a<counts, 3>};
    const Epilogue epilogue = pass.all ? all : pass.column_threshold ? both : sure.up_to ? counts : rows;
    auto* const kernel = kernels.at(static_cast<std::size_t>(static_cast<int>(epilogue) * 4 + schedule.steps % 4));
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_limit),
          "shared memory of the fused filter");
    cudaLaunchConfig_t config{};
    config.gridDim =
        dim3(static_cast<unsigned>(std::min(blocks / schedule.cluster, schedule.work_tiles) * schedule.cluster));
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = static_cast<std::size_t>(schedule.bytes);
    config.stream = stream;
    cudaLaunchAttribute cluster{};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {static_cast<unsigned>(schedule.cluster), 1, 1};
    config.attrs = &cluster;
    config.numAttrs = 1;
    check(cudaLaunchKernelEx(&config, kernel, map_of(pass.queries, pass.q, pass.width),
                             map_of(pass.points, pass.first + pass.count, pass.width), pass, sure, schedule),
          "fused filter");
}

}  // namespace kith::gpu
