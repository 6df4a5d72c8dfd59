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
#include <array>

#include "gpu/filter/candidates.cuh"
#include "gpu/filter/fused_sm90a.cuh"
#include "gpu/filter/sure_pairs.h"

namespace kith::gpu {

namespace {

using namespace sm90a;

// What the epilogue does with the values: appends candidates of the rows, of rows and columns, stores all of them, or
// counts sure ones of the rows and appends the others.
enum class Epilogue { rows, both, all, counts };

#if defined(KITH_SM_90A)

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
    for (auto work = WorkTile<>::from(cluster, pass, schedule, cta_rank); work.number < schedule.work_tiles;) {
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
                const WorkTile<> next = work.next(pass, schedule, cta_rank);
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
    fused_sm_90a(const __grid_constant__ TensorMaps maps, const FilterPass pass, const SurePairs sure,
                 const TileSchedule schedule) {
#if defined(KITH_SM_90A)
    extern __shared__ char raw[];
    char* const shared = raw + (1024 - shared_address(raw) % 1024) % 1024;
    const SharedStorage s{shared_address(shared), schedule};
    const int cta_rank = schedule.cluster == 1 ? 0 : cluster_cta_rank();
    const int cluster = static_cast<int>(blockIdx.x) / schedule.cluster;
    init_shared(s, shared);
    if (threadIdx.x < 128) {
        setmaxnreg_dec<56>();
        if (threadIdx.x == 0) produce<false>(maps, pass, schedule, s, cta_rank, cluster);
    } else {
        setmaxnreg_inc<104>();
        const int group = static_cast<int>(threadIdx.x) / 128 - 1;
        consume<epilogue, Tail>(pass, sure, schedule, s, shared, cta_rank, cluster, group / 2, group % 2);
    }
    __syncwarp();
    cluster_sync();  // the other block may still copy to this one, or arrive at its barriers
#endif
}

}  // namespace

void filter_pass_sm_90a(const FilterPass& pass, cudaStream_t stream) {
    if (pass.point_terms) augmented_pass_sm_90a(pass, stream);
    else filter_pass_counting_sm_90a(pass, {}, stream);
}

void filter_pass_counting_sm_90a(const FilterPass& pass, const SurePairs& sure, cudaStream_t stream) {
    const TileSchedule schedule = make_schedule(pass, device_attributes().multiprocessors);
    using enum Epilogue;
    static constexpr std::array kernels = {
        fused_sm_90a<rows, 0>,   fused_sm_90a<rows, 1>,   fused_sm_90a<rows, 2>,   fused_sm_90a<rows, 3>,
        fused_sm_90a<both, 0>,   fused_sm_90a<both, 1>,   fused_sm_90a<both, 2>,   fused_sm_90a<both, 3>,
        fused_sm_90a<all, 0>,    fused_sm_90a<all, 1>,    fused_sm_90a<all, 2>,    fused_sm_90a<all, 3>,
        fused_sm_90a<counts, 0>, fused_sm_90a<counts, 1>, fused_sm_90a<counts, 2>, fused_sm_90a<counts, 3>};
    const Epilogue epilogue = pass.all ? all : pass.column_threshold ? both : sure.up_to ? counts : rows;
    auto* const kernel = kernels.at(static_cast<std::size_t>(static_cast<int>(epilogue) * 4 + schedule.steps % 4));
    launch_pass(kernel, pass, schedule, stream, sure);
}

}  // namespace kith::gpu
