// The fused filter of whole numbers of 8 bits on Hopper (bytes.h): the mapping, the pipeline and the producer of
// fused_sm90a.cu, with twice the coordinates in an MMA and sums that are exact. A row of a K-tile is 128 bytes either
// way, so the schedule counts two numbers as one half.
//
// The first MMA starts the accumulators, and half norms are added where values are compared: an addition and a minimum
// are one instruction.
#include <array>

#include "gpu/filter/bytes.h"
#include "gpu/filter/candidates.cuh"
#include "gpu/filter/fused_sm90a.cuh"

namespace kith::gpu {

namespace {

using namespace sm90a;

#if defined(KITH_SM_90A)

// Appends the pairs of a thread's tile whose sums and the half norm of the column are within the threshold of the row.
// Values lie as append_candidates of candidates.cuh has them. One vote tells which 16 values of a thread hold any;
// mostly none do.
__device__ __forceinline__ void append_sums(const int (&d)[64], const int2* columns, int upper_row, int lower_row,
                                            std::uint32_t row, std::uint32_t column, WarpList& list,
                                            const FilterPass& pass) {
    std::uint32_t hit = 0;
#pragma unroll
    for (int group = 0; group < 4; ++group) {
        int upper = ByteLimits::largest, lower = ByteLimits::largest;
#pragma unroll
        for (int i = 0; i < 16; i += 4) {
            const int* const x = d + group * 16 + i;
            const int2 two = columns[(group * 4 + i / 4) * 4];
            upper = __viaddmin_s32(x[1], two.y, __viaddmin_s32(x[0], two.x, upper));
            lower = __viaddmin_s32(x[3], two.y, __viaddmin_s32(x[2], two.x, lower));
        }
        if (upper <= upper_row || lower <= lower_row) hit |= 1u << group;
    }
    hit = __reduce_or_sync(0xffffffffu, hit);
    if (hit == 0) return;
#pragma unroll
    for (int group = 0; group < 4; ++group) {
        if (!(hit >> group & 1u)) continue;
        std::uint32_t mask = 0;
#pragma unroll
        for (int i = 0; i < 16; i += 4) {
            const int* const x = d + group * 16 + i;
            const int2 two = columns[(group * 4 + i / 4) * 4];
            if (x[0] + two.x <= upper_row) mask |= 1u << i;
            if (x[1] + two.y <= upper_row) mask |= 2u << i;
            if (x[2] + two.x <= lower_row) mask |= 4u << i;
            if (x[3] + two.y <= lower_row) mask |= 8u << i;
        }
        append_to_list(mask, d + group * 16, list, pass, [&](int, int i, Candidate& entry, std::uint32_t& query) {
            entry = {0, column + static_cast<std::uint32_t>(group * 4 + i / 4) * 8 + i % 2};
            query = row + (i & 2 ? 8u : 0u);
        });
    }
}

// A consumer warpgroup: upper or lower half of the queries (`rows`), left or right half of the points (`half`).
template <int Tail>
__device__ void consume(const FilterPass& pass, const TileSchedule& schedule, const SharedStorage& s, char* shared,
                        int cta_rank, int cluster, int rows, int half) {
    const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32) - 4;
    const bool elected = warp % 4 == 0 && lane == 0;
    WarpList list{reinterpret_cast<Candidate*>(shared + schedule.lists + warp * list_bytes),
                  reinterpret_cast<std::uint32_t*>(shared + schedule.lists + warp * list_bytes +
                                                   WarpList::room * static_cast<int>(sizeof(Candidate)))};
    const auto release_stage = [&](int stage) {
        if (!elected) return;
        mbarrier_arrive(s.empty(stage));
        if (schedule.cluster > 1) mbarrier_arrive_remote(s.empty(stage), cta_rank ^ 1);
    };
    const auto* const thresholds = reinterpret_cast<const int*>(pass.threshold);
    PipelineState at, slot;
    int loaded = -1, reload = 0;
    for (auto work = WorkTile<>::from(cluster, pass, schedule, cta_rank); work.number < schedule.work_tiles;) {
        const int query_tile = work.query_tile;
        const int upper = query_tile * tile_queries + rows * 64 + warp % 4 * 16 + lane / 4;
        const int upper_row = upper < pass.q ? thresholds[upper] : ByteLimits::never,
                  lower_row = upper + 8 < pass.q ? thresholds[upper + 8] : ByteLimits::never;
        if (schedule.resident && query_tile != loaded) {
            mbarrier_wait(s.queries_full(), reload & 1);
            loaded = query_tile;
            ++reload;
        }
        for (int tile = work.first; tile < work.end; ++tile, slot.next(schedule.slots)) {
            int d[64];
            int last = at.stage;
            const auto multiply = [&]<int Steps>(int c) {
                mbarrier_wait(s.full(at.stage), at.parity);
                const std::uint64_t a = wgmma_descriptor(s.query_k_tile(schedule.resident ? c : at.stage) +
                                                         static_cast<std::uint32_t>(rows) * query_k_tile_bytes / 2),
                                    b = wgmma_descriptor(s.point_k_tile(at.stage) +
                                                         static_cast<std::uint32_t>(half) * point_k_tile_bytes / 2);
                wgmma_fence();
                if (c == 0) wgmma_start_bytes(d, a, b);
                else wgmma_add_bytes(d, a, b);
#pragma unroll
                for (int i = 1; i < Steps; ++i) wgmma_add_bytes(d, a + 2 * i, b + 2 * i);
                wgmma_commit();
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
            const int column = static_cast<int>(pass.first) + tile * tile_points + half * 128 + lane % 4 * 2;
            const auto* const columns =
                reinterpret_cast<const int2*>(shared + schedule.half_norms + slot.stage * schedule.half_norm_stride) +
                half * 64 + lane % 4;
            append_sums(d, columns, upper_row, lower_row, static_cast<std::uint32_t>(upper),
                        static_cast<std::uint32_t>(column), list, pass);
            fence_proxy_async();
            __syncwarp();
            if (lane == 0) mbarrier_arrive(s.half_norms_empty(slot.stage));
        }
        work = work.next(pass, schedule, cta_rank);
    }
    list.flush(pass);
}

#endif

template <int Tail>
__global__ void __launch_bounds__(threads, 1)
    bytes_sm_90a(const __grid_constant__ TensorMaps maps, const FilterPass pass, const TileSchedule schedule) {
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
        consume<Tail>(pass, schedule, s, shared, cta_rank, cluster, group / 2, group % 2);
    }
    __syncwarp();
    cluster_sync();  // the other block may still copy to this one, or arrive at its barriers
#endif
}

}  // namespace

void bytes_pass_sm_90a(const FilterPass& pass, cudaStream_t stream) {
    if (pass.point_terms) {
        augmented_bytes_pass_sm_90a(pass, stream);
        return;
    }
    static constexpr std::array kernels = {bytes_sm_90a<0>, bytes_sm_90a<1>, bytes_sm_90a<2>, bytes_sm_90a<3>};
    const TileSchedule schedule = make_schedule(pass, device_attributes().multiprocessors);
    launch_pass(kernels.at(static_cast<std::size_t>(schedule.steps % 4)), pass, schedule, stream);
}

}  // namespace kith::gpu
