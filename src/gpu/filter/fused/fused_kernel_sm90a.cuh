// The fused filter on Hopper: a GEMM by TMA and wgmma whose epilogue compares the accumulators with
// thresholds. One kernel serves all forms. Its parameters are the arithmetic, the start of the
// accumulators and the epilogue.
//
// grid        as many blocks as multiprocessors, in clusters of one or two; persistent
// cluster     two blocks take the same points for different queries: each loads half of a tile of
//             points for both
// block       128 queries x tiles of 256 points: a producer warp, of which one thread loads, and
//             four consumer warpgroups
// warpgroup   64 queries x 128 points, 64 accumulators a thread
// work tile   a block's queries x a segment of tiles; all blocks walk the segments together, so
//             points are in L2
//
// Main loop: K-tiles of 64 halves or 128 int8 values go through a multistage pipeline in shared
// memory. If all K-tiles of the queries fit, they stay for a whole work tile; otherwise they are
// loaded again with every tile. The half norms of a tile (and, if columns are queries, the columns'
// thresholds) have a pipeline of their own, one slot for a tile. Bias columns come with a tile's
// first K-tile, into slots; the number of slots follows from that of the stages.
//
// A stage or slot is reused when its mbarrier `empty` has seen all of its readers, and all readers
// of the same stage of the cluster's other block. The reader decides what an arrival has to prove
// (PTX ISA, 8 and 9.7.13):
//
//   points,   read by wgmma (async proxy), written by TMA (async proxy) of both blocks. After
//   queries   wgmma.wait_group the MMAs of the whole warpgroup are over, and with them their reads.
//             An arrival after it needs no memory order; it only has to be seen. So one thread of a
//             warpgroup arrives at its own block's mbarrier and at the other's, there without a
//             release at cluster scope, as CUTLASS' consumer_release does.
//   slots     read by every thread (generic proxy), written by bulk copies of the own block only.
//             Each thread's reads -> its fence.proxy.async -> __syncwarp -> its warp's arrival,
//             .release.cta -> the producer's wait, .acquire.cta -> its next copy to the slot: an
//             unbroken chain of causality for a write after a read across proxies. Therefore every
//             warp arrives, not one of a warpgroup.
//
// The other direction: the wait for `full` sees complete_tx, which makes copied bytes visible to
// every waiter. The tool racecheck (compute-sanitizer 13.0) does not follow an arrival that one
// lane makes for its warp after __syncwarp. It reports a hazard of the half norms wherever a
// pipeline wraps, here and with sm_80's copies alike. It reports the same for a pipeline of twenty
// lines, but not if every thread of that pipeline arrives. It does not see TMA at all.
#pragma once

#include <type_traits>
#include <utility>

#include "gpu/filter/fused/fused_sm90a.cuh"
#include "gpu/filter/lists/candidates.cuh"
#include "gpu/filter/warp_exchange.cuh"

namespace kith::gpu::sm90a {

// The arithmetic of a kernel: halves, accumulated in f32, with products subtracted; or int8,
// accumulated in int, with negated queries. Function start() overwrites d with a product of bias
// columns (augmented.h) or of int8 values.
struct Halves {
    using Sum = float;
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
#if defined(KITH_SM_90A)
    __device__ static void start(int (&d)[64], std::uint64_t a, std::uint64_t b) {
        wgmma_start_bytes(d, a, b);
    }
    __device__ static void multiply(int (&d)[64], std::uint64_t a, std::uint64_t b) {
        wgmma_add_bytes(d, a, b);
    }
#endif
};

// The start of a tile's accumulators: the half norms are read into them, or the first product
// overwrites them, or the product of the bias columns does. `terms` has one plane or two;
// `wide_terms` has wide_planes, in two products.
enum class Start { half_norms, first_product, terms, wide_terms };

// The K-tiles of a tile: calls multiply<steps>(c, is_first) for each, in order. The number of MMA
// steps is known at compile time.
template <int steps>
struct FixedSteps {
    static constexpr bool resident = true;
    static_assert(steps <= most_resident_steps);
#if defined(KITH_SM_90A)
    template <class Multiply>
    __device__ __forceinline__ static void each(const TileSchedule&, const Multiply& multiply) {
        [&]<int... c>(std::integer_sequence<int, c...>) {
            (multiply.template operator()<std::min(4, steps - 4 * c)>(c,
                                                                      std::bool_constant<c == 0>{}),
             ...);
        }
        (std::make_integer_sequence<int, (steps + 3) / 4>{});
    }
#endif
};

// Only the number of steps of a partial last K-tile is known at compile time; 0 means there is
// none.
template <int tail>
struct AnySteps {
    static constexpr bool resident = false;
#if defined(KITH_SM_90A)
    template <class Multiply>
    __device__ __forceinline__ static void each(const TileSchedule& schedule,
                                                const Multiply& multiply) {
        for (int c = 0; c < schedule.steps / 4; ++c) multiply.template operator()<4>(c, c == 0);
        if constexpr (tail > 0)
            multiply.template operator()<tail>(schedule.steps / 4, schedule.steps / 4 == 0);
    }
#endif
};

// Like AnySteps, with at least one whole K-tile. That one is peeled, so that the loop has no branch
// for the work of the first K-tile.
template <int tail>
struct ManySteps {
    static constexpr bool resident = false;
#if defined(KITH_SM_90A)
    template <class Multiply>
    __device__ __forceinline__ static void each(const TileSchedule& schedule,
                                                const Multiply& multiply) {
        multiply.template operator()<4>(0, std::true_type{});
        for (int c = 1; c < schedule.steps / 4; ++c)
            multiply.template operator()<4>(c, std::false_type{});
        if constexpr (tail > 0)
            multiply.template operator()<tail>(schedule.steps / 4, std::false_type{});
    }
#endif
};

template <class ArithmeticOf, Start how, class StepsOf, bool is_listed = false>
struct Mainloop {
    using Arithmetic = ArithmeticOf;
    using Steps = StepsOf;
    static constexpr Start start = how;
    static constexpr bool has_terms = how == Start::terms || how == Start::wide_terms;
    static constexpr bool listed = is_listed;  // passes over lists of tiles
    static_assert(start != Start::first_product || std::is_same_v<Arithmetic, Bytes>);
};

// A thread's values of a tile: 32 columns each of rows `row` and `row + 8`, in the layout of
// append_candidates.
struct ThreadValues {
    int query_tile, row;
    int tile, column;        // counted from the pass' first; the first column of the thread
    const char* half_norms;  // of its columns, in shared memory: two of every eight columns
    WarpExchange exchange;   // the warp's; no room if the schedule was not asked for it or has none
};

// Epilogues derive from this, and have
//   Epilogue(const FilterPass&, int row)                         before the tiles of a work tile
//   apply(d, const ThreadValues&, WarpList&, const FilterPass&)  after the products of a tile
struct Epilogue {
    static constexpr bool appends = true;            // to lists
    static constexpr bool reads_half_norms = false;  // or the column thresholds after them
    __device__ void end(const FilterPass&, int) {}   // after the tiles of a work tile, with the row
};

#if defined(KITH_SM_90A)

// A warp of the consumers. Its warpgroup has the upper or lower half of the queries (`rows`), and
// the left or right half of the points (`half`).
template <class Mainloop, class Epilogue>
__device__ __forceinline__ void consume(const FilterPass& pass, const TileSchedule& schedule,
                                        const SharedStorage& s, char* shared, int cta_rank,
                                        int cluster, int warp) {
    using Arithmetic = typename Mainloop::Arithmetic;
    using Steps = typename Mainloop::Steps;
    using Work = WorkTile<Mainloop::listed>;
    constexpr Start start = Mainloop::start;
    const int lane = static_cast<int>(threadIdx.x % 32), rows = warp / 8, half = warp / 4 % 2;
    const bool elected = warp % 4 == 0 && lane == 0;
    char* const own_list = shared + schedule.lists + warp * schedule.room.bytes();
    const WarpExchange exchange(own_list + schedule.room.list * WarpList::entry_bytes,
                                schedule.room.exchange);
    WarpList list{reinterpret_cast<Candidate*>(own_list),
                  reinterpret_cast<std::uint32_t*>(
                      own_list + schedule.room.list * static_cast<int>(sizeof(Candidate))),
                  schedule.room.list};
    // Releases a stage after the warpgroup has multiplied its K-tile.
    const auto release_stage = [&](int stage) {
        if (!elected) return;
        mbarrier_arrive(s.empty(stage));
        if (schedule.cluster > 1) mbarrier_arrive_remote(s.empty(stage), cta_rank ^ 1);
    };
    // Releases a slot that this warp has read.
    const auto release_slot = [&](int slot) {
        fence_proxy_async();
        __syncwarp();
        if (lane == 0) mbarrier_arrive(s.half_norms_empty(slot));
    };
    // Rows of eight terms in bf16 or 16 in int8, followed by a second set of rows that the MMA
    // reads: zeros if there is one plane, else another plane.
    const bool one_plane = start != Start::wide_terms && schedule.planes == 1;
    const auto terms_at = [&](std::uint32_t address, int plane_rows) {
        return core_matrices(address, one_plane
                                          ? s.zeros() - address
                                          : static_cast<std::uint32_t>(plane_rows * term_bytes));
    };
    const std::uint64_t query_terms = terms_at(
        s.query_terms() + static_cast<std::uint32_t>(rows * 64 * term_bytes), tile_queries);
    // For wide terms: the descriptor distance from the first two planes to the others.
    constexpr std::uint64_t other_query_planes = 2 * tile_queries * term_bytes >> 4,
                            other_point_planes = 2 * tile_points * term_bytes >> 4;
    const bool resident = Steps::resident || schedule.resident;
    PipelineState at, slot;
    int loaded = -1, reload = 0;
    for (auto work = Work::from(cluster, pass, schedule, cta_rank);
         work.number < schedule.work_tiles;) {
        const int query_tile = work.query_tile;
        const int row = query_tile * tile_queries + rows * 64 + warp % 4 * 16 + lane / 4;
        Epilogue epilogue(pass, row);
        if (resident && query_tile != loaded) {
            mbarrier_wait(s.queries_full(), reload & 1);
            loaded = query_tile;
            ++reload;
        }
        for (int t = work.first; t < work.end; ++t) {
            typename Arithmetic::Sum d[64];
            const char* const half_norms =
                shared + schedule.half_norms + slot.stage * schedule.half_norm_stride +
                (half * 64 + lane % 4) * static_cast<int>(sizeof(float2));
            mbarrier_wait(s.full(at.stage), at.parity);
            if constexpr (start == Start::half_norms) {
#pragma unroll
                for (int j = 0; j < 16; ++j) {
                    const float2 two = reinterpret_cast<const float2*>(half_norms)[j * 4];
                    d[j * 4] = d[j * 4 + 2] = two.x;
                    d[j * 4 + 1] = d[j * 4 + 3] = two.y;
                }
            }
            int last = at.stage;
            Steps::each(schedule, [&]<int steps>(int c, auto is_first) {
                if (!is_first) mbarrier_wait(s.full(at.stage), at.parity);
                const std::uint64_t a = wgmma_descriptor(s.query_k_tile(resident ? c : at.stage) +
                                                         static_cast<std::uint32_t>(rows) *
                                                             query_k_tile_bytes / 2),
                                    b = wgmma_descriptor(s.point_k_tile(at.stage) +
                                                         static_cast<std::uint32_t>(half) *
                                                             point_k_tile_bytes / 2);
                wgmma_fence();
                if (Mainloop::has_terms && is_first) {
                    const std::uint64_t point_terms =
                        terms_at(s.point_terms(slot.stage) +
                                     static_cast<std::uint32_t>(half * 128 * term_bytes),
                                 tile_points);
                    Arithmetic::start(d, query_terms, point_terms);
                    if constexpr (start == Start::wide_terms)
                        Arithmetic::multiply(d, query_terms + other_query_planes,
                                             point_terms + other_point_planes);
                }
                if (start == Start::first_product && is_first) Arithmetic::start(d, a, b);
                else Arithmetic::multiply(d, a, b);
#pragma unroll
                for (int i = 1; i < steps; ++i) Arithmetic::multiply(d, a + 2 * i, b + 2 * i);
                wgmma_commit();
                if (start == Start::half_norms && !Epilogue::reads_half_norms && is_first)
                    release_slot(slot.stage);
                if (!is_first) {
                    wgmma_wait<1>();
                    release_stage(last);
                }
                last = at.stage;
                at.next(schedule.stages);
            });
            wgmma_wait<0>();
            release_stage(last);
            if (resident && t + 1 == work.end && elected) {
                const Work next = work.next(pass, schedule, cta_rank);
                if (next.number < schedule.work_tiles && next.query_tile != query_tile)
                    mbarrier_arrive(s.queries_empty());
            }
            const int tile = work.tile(t);
            epilogue.apply(
                d,
                ThreadValues{query_tile, row, tile, tile * tile_points + half * 128 + lane % 4 * 2,
                             half_norms, exchange},
                list, pass);
            if (Epilogue::reads_half_norms) release_slot(slot.stage);
            slot.next(schedule.slots);
        }
        epilogue.end(pass, row);
        work = work.next(pass, schedule, cta_rank);
    }
    if (Epilogue::appends) list.flush(pass);
}

#endif

template <class Mainloop, class Epilogue>
__global__ void __launch_bounds__(threads, 1)
    fused_sm_90a(const __grid_constant__ TensorMaps maps, const FilterPass pass,
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
        if (threadIdx.x == 0)
            produce<Mainloop::has_terms, Mainloop::listed>(maps, pass, schedule, s, cta_rank,
                                                           cluster);
    } else {
        setmaxnreg_inc<104>();
        // From a shuffle, so that the compiler knows that the number is uniform in the warp. It
        // then computes descriptors and addresses in uniform registers: 3 instructions for an MMA
        // instead of 13.
        const int warp = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 32, 0) - 4;
        consume<Mainloop, Epilogue>(pass, schedule, s, shared, cta_rank, cluster, warp);
    }
    __syncwarp();
    cluster_sync();  // the other block may still copy to this one, or arrive at its barriers
#endif
}

}  // namespace kith::gpu::sm90a
