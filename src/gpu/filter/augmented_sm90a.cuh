// The fused filter of augmented vectors on Hopper (augmented.h): the mapping, the pipeline and the producer of
// fused_sm90a.cu, products whose sign says what passes.
//
// A tile's first K-tile brings the points' terms, and the first MMA multiplies these: it starts the accumulators, so
// that nothing is read into them. How many MMAs a tile has is known to the compiler, one kernel for each, and another
// for passes over lists of tiles.
#pragma once

#include <array>
#include <utility>

#include "gpu/filter/candidates.cuh"
#include "gpu/filter/fused_sm90a.cuh"

namespace kith::gpu::sm90a {

// The widest vectors with a kernel: all K-tiles of the queries stay in shared memory.
inline constexpr int most_steps = max_resident * k_tile / 16;

// What the matrix units add: products of halves in f32, which they subtract, or of whole numbers of 8 bits, of which
// those of queries are negated. The a of a candidate that passed with `difference` below its threshold.
struct Halves {
    using Sum = float;
    __device__ static int bits(float x) { return __float_as_int(x); }
    __device__ static float value(float difference, float threshold) { return difference + threshold; }
#if defined(KITH_SM_90A)
    __device__ static void start(float (&d)[64], std::uint64_t a, std::uint64_t b) {
        wgmma_start(d, a, b);
    }
    __device__ static void multiply(float (&d)[64], std::uint64_t a, std::uint64_t b) {
        wgmma_subtract(d, a, b);
    }
#endif
};
struct Bytes {
    using Sum = int;
    __device__ static int bits(int x) { return x; }
    __device__ static float value(int, float) { return 0; }
#if defined(KITH_SM_90A)
    __device__ static void start(int (&d)[64], std::uint64_t a, std::uint64_t b) {
        wgmma_start_bytes(d, a, b);
    }
    __device__ static void multiply(int (&d)[64], std::uint64_t a, std::uint64_t b) {
        wgmma_add_bytes(d, a, b);
    }
#endif
};

#if defined(KITH_SM_90A)

// Appends the pairs of a thread's tile whose values are negative: see append_candidates of candidates.cuh, whose layout
// this is. One vote tells whether any of a warp's values is.
template <class Arithmetic>
__device__ __forceinline__ void append_negative(const typename Arithmetic::Sum (&v)[64], const ThreadTile& tile,
                                                WarpList& list, const FilterPass& pass) {
    using Sum = typename Arithmetic::Sum;
    int signs[4] = {};
#pragma unroll
    for (int i = 0; i < 64; ++i) signs[i / 16] |= Arithmetic::bits(v[i]);
    if (!__any_sync(0xffffffffu, (signs[0] | signs[1] | signs[2] | signs[3]) < 0)) return;
#pragma unroll
    for (int group = 0; group < 4; ++group) {
        if (!__any_sync(0xffffffffu, signs[group] < 0)) continue;
        const Sum* const values = v + group * 16;
        std::uint32_t mask = 0;
#pragma unroll
        for (int i = 0; i < 16; ++i)
            if (values[i] < 0) mask |= 1u << i;
        append_to_list(mask, values, list, pass, [&](Sum difference, int i, Candidate& entry, std::uint32_t& query) {
            const bool lower = i & 2;
            entry = {Arithmetic::value(difference, lower ? tile.lower_threshold : tile.upper_threshold),
                     tile.column + static_cast<std::uint32_t>(group * 4 + i / 4) * 8 + i % 2};
            query = tile.row + (lower ? 8u : 0u);
        });
    }
}

// A consumer warpgroup: upper or lower half of the queries (`rows`), left or right half of the points (`half`).
template <class Arithmetic, int steps, bool listed>
__device__ __forceinline__ void consume_signs(const FilterPass& pass, const TileSchedule& schedule,
                                              const SharedStorage& s, char* shared, int cta_rank, int cluster, int rows,
                                              int half) {
    constexpr int k_tiles = (steps + 3) / 4;
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
    // Rows of eight numbers, and zeros for the other eight that an MMA multiplies.
    const auto terms_at = [&](std::uint32_t address) { return core_matrices(address, s.zeros() - address); };
    const std::uint64_t query_terms = terms_at(s.query_terms() + static_cast<std::uint32_t>(rows * 64 * term_bytes));
    PipelineState at;
    int loaded = -1, reload = 0;
    for (auto work = WorkTile<listed>::from(cluster, pass, schedule, cta_rank); work.number < schedule.work_tiles;) {
        const int query_tile = work.query_tile;
        const int upper = query_tile * tile_queries + rows * 64 + warp % 4 * 16 + lane / 4;
        ThreadTile tile{static_cast<std::uint32_t>(upper), 0, 0, 0};
        if (upper < pass.q) tile.upper_threshold = pass.threshold[upper];
        if (upper + 8 < pass.q) tile.lower_threshold = pass.threshold[upper + 8];
        if (query_tile != loaded) {
            mbarrier_wait(s.queries_full(), reload & 1);
            loaded = query_tile;
            ++reload;
        }
        for (int t = work.first; t < work.end; ++t) {
            typename Arithmetic::Sum d[64];
            int last = at.stage;
            mbarrier_wait(s.full(at.stage), at.parity);
            wgmma_fence();
            Arithmetic::start(d, query_terms,
                              terms_at(s.point_terms(at.stage) + static_cast<std::uint32_t>(half * 128 * term_bytes)));
#pragma unroll
            for (int c = 0; c < k_tiles; ++c) {
                if (c > 0) {
                    mbarrier_wait(s.full(at.stage), at.parity);
                    wgmma_fence();
                }
                const std::uint64_t a = wgmma_descriptor(s.query_k_tile(c) +
                                                         static_cast<std::uint32_t>(rows) * query_k_tile_bytes / 2),
                                    b = wgmma_descriptor(s.point_k_tile(at.stage) +
                                                         static_cast<std::uint32_t>(half) * point_k_tile_bytes / 2);
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    if (c * 4 + i < steps) Arithmetic::multiply(d, a + 2 * i, b + 2 * i);
                wgmma_commit();
                if (c > 0) {
                    wgmma_wait<1>();
                    release_stage(last);
                }
                last = at.stage;
                at.next(schedule.stages);
            }
            wgmma_wait<0>();
            release_stage(last);
            if (t + 1 == work.end && threadIdx.x % 128 == 0) {
                const WorkTile<listed> next = work.next(pass, schedule, cta_rank);
                if (next.number < schedule.work_tiles && next.query_tile != query_tile)
                    mbarrier_arrive(s.queries_empty());
            }
            tile.column = static_cast<std::uint32_t>(static_cast<int>(pass.first) + work.tile(t) * tile_points +
                                                     half * 128 + lane % 4 * 2);
            append_negative<Arithmetic>(d, tile, list, pass);
        }
        work = work.next(pass, schedule, cta_rank);
    }
    list.flush(pass);
}

#endif

template <class Arithmetic, int steps, bool listed>
__global__ void __launch_bounds__(threads, 1)
    augmented_sm_90a(const __grid_constant__ TensorMaps maps, const FilterPass pass, const TileSchedule schedule) {
#if defined(KITH_SM_90A)
    extern __shared__ char raw[];
    char* const shared = raw + (1024 - shared_address(raw) % 1024) % 1024;
    const SharedStorage s{shared_address(shared), schedule};
    const int cta_rank = schedule.cluster == 1 ? 0 : cluster_cta_rank();
    const int cluster = static_cast<int>(blockIdx.x) / schedule.cluster;
    init_shared(s, shared);
    if (threadIdx.x < 128) {
        setmaxnreg_dec<56>();
        if (threadIdx.x == 0) produce<true, listed>(maps, pass, schedule, s, cta_rank, cluster);
    } else {
        setmaxnreg_inc<104>();
        const int group = static_cast<int>(threadIdx.x) / 128 - 1;
        consume_signs<Arithmetic, steps, listed>(pass, schedule, s, shared, cta_rank, cluster, group / 2, group % 2);
    }
    __syncwarp();
    cluster_sync();  // the other block may still copy to this one, or arrive at its barriers
#endif
}

template <class Arithmetic, bool listed, int... i>
constexpr std::array<void (*)(TensorMaps, FilterPass, TileSchedule), sizeof...(i)> augmented_kernels(
    std::integer_sequence<int, i...>) {
    return {augmented_sm_90a<Arithmetic, i + 1, listed>...};
}

}  // namespace kith::gpu::sm90a
