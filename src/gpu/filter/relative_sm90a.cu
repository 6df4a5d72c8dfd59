// The pass over relative vectors on Hopper: the mapping, the pipeline and the producer of fused_sm90a.cu, over lists of
// tiles. Thresholds are those of a tile's cluster: while the matrix units multiply a tile, each thread reads its two
// rows' for the next one, and what it needs for that of the two after it, so that no read waits for another.
#include <array>

#include "gpu/filter/candidates.cuh"
#include "gpu/filter/fused_sm90a.cuh"
#include "gpu/filter/relative.h"

namespace kith::gpu {

namespace {

using namespace sm90a;

struct TileTable {
    const RelativeTile* tiles;
    const float* thresholds;  // of each group and cluster
    std::int64_t clusters;
    std::uint32_t first;  // position of row 0
};

#if defined(KITH_SM_90A)

struct TilePlaces {
    const RelativeTile* tiles;
    __device__ int row(const FilterPass&, int tile) const { return static_cast<int>(__ldg(&tiles[tile].row)); }
    __device__ int half_norms(const FilterPass&, int tile) const { return tile * tile_points; }
};

// A tile, and the thresholds of a thread's rows.
struct TileLimits {
    std::uint32_t row;
    float upper, lower;
};

// A consumer warpgroup: upper or lower half of the queries (`rows`), left or right half of the points (`half`).
template <int Tail>
__device__ void consume(const FilterPass& pass, const TileTable& table, const TileSchedule& schedule,
                        const SharedStorage& s, char* shared, int cta_rank, int cluster, int rows, int half) {
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
    const auto release_slot = [&](int slot) {
        fence_proxy_async();
        __syncwarp();
        if (lane == 0) mbarrier_arrive(s.half_norms_empty(slot));
    };
    PipelineState at, slot;
    int loaded = -1, reload = 0;
    for (auto work = WorkTile<true>::from(cluster, pass, schedule, cta_rank); work.number < schedule.work_tiles;) {
        const int query_tile = work.query_tile;
        const int upper = query_tile * tile_queries + rows * 64 + warp % 4 * 16 + lane / 4;
        const float* const thresholds =
            table.thresholds + upper / listed_queries * table.clusters * listed_queries + upper % listed_queries;
        const auto number_of = [&](int t) { return work.tile(min(t, work.end - 1)); };
        const auto tile_at = [&](int number) {
            const uint2 tile = __ldg(reinterpret_cast<const uint2*>(table.tiles + number));
            return RelativeTile{tile.x, tile.y};
        };
        const auto limits_of = [&](const RelativeTile& tile) {
            const float* const own = thresholds + std::int64_t{tile.cluster} * listed_queries;
            return TileLimits{tile.row, __ldg(own), __ldg(own + 8)};
        };
        TileLimits limits = limits_of(tile_at(number_of(work.first)));
        RelativeTile second = tile_at(number_of(work.first + 1));
        int third = number_of(work.first + 2);
        if (query_tile != loaded) {
            mbarrier_wait(s.queries_full(), reload & 1);
            loaded = query_tile;
            ++reload;
        }
        for (int t = work.first; t < work.end; ++t, slot.next(schedule.slots)) {
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
                const std::uint64_t a = wgmma_descriptor(s.query_k_tile(c) +
                                                         static_cast<std::uint32_t>(rows) * query_k_tile_bytes / 2),
                                    b = wgmma_descriptor(s.point_k_tile(at.stage) +
                                                         static_cast<std::uint32_t>(half) * point_k_tile_bytes / 2);
                wgmma_fence();
#pragma unroll
                for (int i = 0; i < Steps; ++i) wgmma_subtract(d, a + 2 * i, b + 2 * i);
                wgmma_commit();
                if (c == 0) release_slot(slot.stage);
                if (c > 0) {
                    wgmma_wait<1>();
                    release_stage(last);
                }
                last = at.stage;
                at.next(schedule.stages);
            };
            for (int c = 0; c < schedule.steps / 4; ++c) multiply.template operator()<4>(c);
            if constexpr (Tail > 0) multiply.template operator()<Tail>(schedule.steps / 4);
            const TileLimits next = limits_of(second);
            second = tile_at(third);
            third = number_of(t + 3);
            wgmma_wait<0>();
            release_stage(last);
            if (t + 1 == work.end && threadIdx.x % 128 == 0) {
                const WorkTile<true> following = work.next(pass, schedule, cta_rank);
                if (following.number < schedule.work_tiles && following.query_tile != query_tile)
                    mbarrier_arrive(s.queries_empty());
            }
            const std::uint32_t column =
                table.first + limits.row + static_cast<std::uint32_t>(half * 128 + lane % 4 * 2);
            append_candidates<64>(d, {static_cast<std::uint32_t>(upper), column, limits.upper, limits.lower}, list,
                                  pass);
            limits = next;
        }
        work = work.next(pass, schedule, cta_rank);
    }
    list.flush(pass);
}

#endif

template <int Tail>
__global__ void __launch_bounds__(threads, 1)
    relative_sm_90a(const __grid_constant__ TensorMaps maps, const FilterPass pass, const TileTable table,
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
        if (threadIdx.x == 0) produce<false, true>(maps, pass, schedule, s, cta_rank, cluster, TilePlaces{table.tiles});
    } else {
        setmaxnreg_inc<104>();
        const int group = static_cast<int>(threadIdx.x) / 128 - 1;
        consume<Tail>(pass, table, schedule, s, shared, cta_rank, cluster, group / 2, group % 2);
    }
    __syncwarp();
    cluster_sync();  // the other block may still copy to this one, or arrive at its barriers
#endif
}

}  // namespace

void relative_pass_sm_90a(FilterPass pass, const ClusterView& view, const RelativeView& relative,
                          const RelativeLists& lists, cudaStream_t stream) {
    // Tiles begin anywhere; the tensor map's rows end with the last that there may be, of which none lies past the
    // vectors.
    pass.points = relative.vectors;
    pass.half_norm = relative.half_norm;
    pass.width = view.width;
    pass.first = 0;
    pass.count = relative.most_tiles * filter_tile_points;
    pass.tiles = lists.tiles;
    pass.tile_counts = lists.tile_counts;
    pass.tile_stride = relative.most_tiles;
    const TileTable table{relative.tiles, lists.thresholds, view.count, static_cast<std::uint32_t>(view.first)};
    const TileSchedule schedule = make_schedule(pass, device_attributes().multiprocessors);
    static constexpr std::array kernels = {relative_sm_90a<0>, relative_sm_90a<1>, relative_sm_90a<2>,
                                           relative_sm_90a<3>};
    launch_pass(kernels.at(static_cast<std::size_t>(schedule.steps % 4)), pass, schedule, stream, table);
}

}  // namespace kith::gpu
