// The fused filter with mma.sync and cp.async (compute capability 8.0 and later): a GEMM whose
// epilogue compares. There is no producer warp: every thread copies its share of the K-tiles ahead.
//
// grid       as many blocks as multiprocessors; persistent
// block      128 queries x tiles of 256 points: 2 x 4 warps
// warp       64 queries x 64 points, 128 accumulators a thread, initialised to the half norms; each
// MMA subtracts work tile  a block's queries x a segment of tiles; all blocks walk the segments
// together, so that points are in L2
//
// Main loop: K-tiles of 32 coordinates go through a multistage pipeline in shared memory.
// mbarriers, not __syncthreads, guard a stage: while one warp compares, others multiply the next
// tile. Where all K-tiles of the queries leave room for the pipeline they stay for a whole work
// tile, otherwise they are loaded again with every tile.
#include <algorithm>
#include <array>

#include "gpu/filter/candidates.cuh"
#include "gpu/filter/segments.h"
#include "gpu/primitives/async_copy.cuh"
#include "gpu/primitives/ldmatrix.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"

namespace kith::gpu {

namespace {
namespace mma {

constexpr int tile_queries = static_cast<int>(filter_tile_queries),
              tile_points = static_cast<int>(filter_tile_points);
constexpr int warps = 8, threads = warps * 32, warp_tile = 64, k_tile = 32,
              k_tile_bytes = k_tile * 2;
constexpr int query_k_tile_bytes = tile_queries * k_tile_bytes,
              point_k_tile_bytes = tile_points * k_tile_bytes;
constexpr int half_norm_bytes = tile_points * 4;
// Per warp: its candidate list and its thresholds.
constexpr int warp_bytes = WarpList::most_room * WarpList::entry_bytes + warp_tile * 4;
constexpr int max_stages = 8, enough_stages = 4;
constexpr int barrier_bytes = 2 * max_stages * 8, front_bytes = barrier_bytes + warps * warp_bytes;

// The tile schedule of a pass. Shared memory: barriers, each warp's storage, resident K-tiles of
// queries, stages. A stage: a K-tile of points, a K-tile of queries where they are not resident,
// the half norms of a tile.
struct TileSchedule {
    int k_tiles = 0;  // of 32 coordinates
    int stages = 0;   // of the pipeline
    int ahead =
        0;  // K-tiles that are copied ahead; the other stages are how far warps may drift apart
    int resident = 0;  // K-tiles of queries that stay; 0: they are loaded with every tile
    int stage_bytes = 0;
    int tiles = 0, segment = 0;
    std::int64_t query_tiles = 0, work_tiles = 0;
};

// ---- instructions

// d (16 x 8) += A (16 x 16) B' (8 x 16).
__device__ __forceinline__ void mma_m16n8k16(float* d, const std::uint32_t* a,
                                             const std::uint32_t* b) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// The swizzled offset of a vector of eight coordinates (16 bytes) in a K-tile. Two rows fill all
// banks once; the four vectors of a row are permuted from one pair of rows to the next, so that
// ldmatrix, which reads the same vector of eight rows, has no bank conflicts.
__device__ __forceinline__ std::uint32_t swizzled(int row, int vector) {
    return static_cast<std::uint32_t>(row * k_tile_bytes + (vector ^ (row / 2 % 4)) * 16);
}

// A pipeline state: stage and mbarrier parity, with the addresses of the stage.
struct PipelineState {
    const TileSchedule& schedule;
    std::uint32_t base;
    int stage = 0, parity = 0;
    __device__ void next() {
        if (++stage < schedule.stages) return;
        stage = 0;
        parity ^= 1;
    }
    __device__ std::uint32_t full() const { return base + stage * 8; }
    __device__ std::uint32_t empty() const { return base + (max_stages + stage) * 8; }
    __device__ std::uint32_t resident(int c) const {
        return base + front_bytes + c * query_k_tile_bytes;
    }
    __device__ std::uint32_t points() const {
        return resident(schedule.resident) + stage * schedule.stage_bytes;
    }
    __device__ std::uint32_t queries(int c) const {
        return schedule.resident ? resident(c) : points() + point_k_tile_bytes;
    }
    __device__ std::uint32_t half_norms() const {
        return points() + schedule.stage_bytes - half_norm_bytes;
    }
};

// K-tile c of `Rows` vectors from `first` on, zeros beyond `end`. Each thread copies its share.
template <int Rows>
__device__ __forceinline__ void load_k_tile(std::uint32_t to, const void* rows, std::int64_t first,
                                            std::int64_t end, std::int64_t width, int c) {
    const int row = static_cast<int>(threadIdx.x / 4), vector = static_cast<int>(threadIdx.x % 4);
    const std::int64_t column = std::int64_t{c} * k_tile + vector * 8;
    if (column >= width) return;
    const auto* const vectors = static_cast<const __half*>(rows);
    const __half* const from = vectors + (first + row) * width + column;
#pragma unroll
    for (int i = 0; i < Rows; i += threads / 4) {
        const bool there = first + row + i < end;
        cp_async_16(to + swizzled(row, vector) + i * k_tile_bytes,
                    there ? from + i * width : vectors, there ? 16 : 0);
    }
}

// A work tile: its first query, its tiles of points.
struct WorkTile {
    std::int64_t id, query;
    int tile, end;
    __device__ WorkTile(const TileSchedule& schedule, std::int64_t i)
        : id(i), query(i % schedule.query_tiles * tile_queries) {
        tile = static_cast<int>(i / schedule.query_tiles) * schedule.segment;
        end = min(tile + schedule.segment, schedule.tiles);
    }
};

// 16 coordinates of a warp's 64 queries, negated, and 64 points.
struct Fragments {
    std::uint32_t a[4][4], b[4][4];
    // The addresses of this lane's rows.
    __device__ __forceinline__ void load(std::uint32_t queries, std::uint32_t points) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            ldmatrix_x4(b[i], points + i * 16 * k_tile_bytes);
            ldmatrix_x4(a[i], queries + i * 16 * k_tile_bytes);
            for (std::uint32_t& two : a[i]) two ^= 0x80008000u;
        }
    }
    __device__ __forceinline__ void subtract_from(float (&d)[4][32]) const {
#pragma unroll
        for (int i = 0; i < 32; ++i)
            mma_m16n8k16(d[i / 8] + i % 8 * 4, a[i / 8], b[i % 8 / 2] + i % 2 * 2);
    }
};

// Odd: the last K-tile has 16 coordinates.
template <bool All, bool Odd>
__global__ void __launch_bounds__(threads, 1)
    fused_sm_80(const __grid_constant__ FilterPass pass,
                const __grid_constant__ TileSchedule schedule) {
    extern __shared__ __align__(128) char mma_shared[];
    PipelineState consumer{schedule, shared_address(mma_shared)}, producer = consumer;
    if (threadIdx.x < max_stages) {
        mbarrier_init(consumer.full() + threadIdx.x * 8, threads);
        mbarrier_init(consumer.empty() + threadIdx.x * 8, warps);
    }
    __syncthreads();

    // The producer's state runs `ahead` K-tiles before the consumer's.
    WorkTile loading(schedule, blockIdx.x);
    int next_k_tile = 0;
    const auto produce = [&] {
        if (loading.id >= schedule.work_tiles) return;
        mbarrier_spin(producer.empty(), producer.parity ^ 1);
        const std::int64_t row = pass.first + std::int64_t{loading.tile} * tile_points;
        load_k_tile<tile_points>(producer.points(), pass.points, row, pass.n, pass.width,
                                 next_k_tile);
        if (!schedule.resident)
            load_k_tile<tile_queries>(producer.queries(0), pass.queries, loading.query, pass.q,
                                      pass.width, next_k_tile);
        if (next_k_tile == 0 && threadIdx.x < half_norm_bytes / 16)
            cp_async_16(producer.half_norms() + threadIdx.x * 16,
                        pass.half_norm + row + threadIdx.x * 4, 16);
        mbarrier_arrive_cp_async(producer.full());
        producer.next();
        if (++next_k_tile < schedule.k_tiles) return;
        next_k_tile = 0;
        if (++loading.tile == loading.end) loading = WorkTile(schedule, loading.id + gridDim.x);
    };
    for (int i = 0; i < schedule.ahead; ++i) produce();

    const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
    const int row = warp / 4 * warp_tile, column = warp % 4 * warp_tile;
    // A: rows 0 to 7 and 8 to 15 of the first vector, then of the second. B: both vectors of points
    // 0 to 7, then 8 to 15.
    const std::uint32_t query_offset = swizzled(row + lane % 16, lane / 16);
    const std::uint32_t point_offset = swizzled(column + lane / 16 * 8 + lane % 8, lane / 8 % 2);
    auto* const entries =
        reinterpret_cast<Candidate*>(mma_shared + barrier_bytes + warp * warp_bytes);
    auto* const queries = reinterpret_cast<std::uint32_t*>(entries + WarpList::most_room);
    auto* const thresholds = reinterpret_cast<float*>(queries + WarpList::most_room);
    WarpList list{entries, queries};
    std::int64_t loaded = -1;
    for (WorkTile work(schedule, blockIdx.x); work.id < schedule.work_tiles;
         work = WorkTile(schedule, work.id + gridDim.x)) {
        if (schedule.resident && work.query != loaded) {
            __syncthreads();
            for (int c = 0; c < schedule.k_tiles; ++c)
                load_k_tile<tile_queries>(consumer.resident(c), pass.queries, work.query, pass.q,
                                          pass.width, c);
            cp_async_wait_all();
            __syncthreads();
            loaded = work.query;
        }
        const std::int64_t first_query = work.query + row;
        __syncwarp();
        for (int i = lane; i < warp_tile && !All; i += 32)
            thresholds[i] = first_query + i < pass.q ? pass.threshold[first_query + i]
                                                     : __int_as_float(0x7fffffff);
        __syncwarp();
        for (; work.tile < work.end; ++work.tile) {
            float d[4][32];
            mbarrier_spin(consumer.full(), consumer.parity);
            const auto* h = reinterpret_cast<const float2*>(
                                mma_shared + (consumer.half_norms() - consumer.base) + column * 4) +
                            lane % 4;
#pragma unroll
            for (int j = 0; j < 32; ++j) {
                const float2 two = h[j / 4 * 4];
                d[0][j] = d[1][j] = d[2][j] = d[3][j] = j % 2 ? two.y : two.x;
            }
            const auto multiply = [&]<int Steps>(int c) {
                mbarrier_spin(consumer.full(), consumer.parity);
                const std::uint32_t a = consumer.queries(c), b = consumer.points();
                Fragments f;
                f.load(a + query_offset, b + point_offset);
                produce();
                f.subtract_from(d);
                if constexpr (Steps == 2) f.load(a + (query_offset ^ 32), b + (point_offset ^ 32));
                __syncwarp();
                if (lane == 0) mbarrier_arrive(consumer.empty());
                consumer.next();
                if constexpr (Steps == 2) f.subtract_from(d);
            };
            for (int c = 0; c + Odd < schedule.k_tiles; ++c) multiply.template operator()<2>(c);
            if constexpr (Odd) multiply.template operator()<1>(schedule.k_tiles - 1);

            const std::int64_t first =
                std::int64_t{work.tile} * tile_points + column + lane % 4 * 2;
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int upper = i * 16 + lane / 4;
                const std::int64_t query = first_query + upper;
                if constexpr (All)
                    store_all<32>(d[i], pass.all + query * pass.ld + first, pass.ld, query < pass.q,
                                  query + 8 < pass.q);
                else
                    append_candidates<32>(d[i],
                                          {static_cast<std::uint32_t>(query),
                                           static_cast<std::uint32_t>(pass.first + first),
                                           thresholds[upper], thresholds[upper + 8]},
                                          list, pass);
            }
        }
    }
    if (!All) list.flush(pass);
}

TileSchedule make_schedule(const FilterPass& p, int blocks, int room) {
    TileSchedule c;
    c.k_tiles = static_cast<int>((p.width + k_tile - 1) / k_tile);
    c.query_tiles = (p.q + tile_queries - 1) / tile_queries;
    c.tiles = static_cast<int>((p.count + tile_points - 1) / tile_points);
    const auto stages = [&](std::int64_t resident_bytes, int stage_bytes) {
        return std::min<std::int64_t>(max_stages,
                                      (room - front_bytes - resident_bytes) / stage_bytes);
    };
    const int lean = point_k_tile_bytes + half_norm_bytes, full = lean + query_k_tile_bytes;
    const std::int64_t beside = stages(std::int64_t{c.k_tiles} * query_k_tile_bytes, lean),
                       with = stages(0, full);
    const bool stay = beside >= std::min<std::int64_t>(with, enough_stages);
    c.resident = stay ? c.k_tiles : 0;
    c.stage_bytes = stay ? lean : full;
    c.stages = static_cast<int>(stay ? beside : with);
    c.ahead = (c.stages + 1) / 2;
    c.segment =
        segment_length(c.tiles, c.query_tiles, blocks, stay && c.query_tiles > 1 ? 0.7 : 0.05);
    c.work_tiles = std::int64_t{(c.tiles + c.segment - 1) / c.segment} * c.query_tiles;
    return c;
}

}  // namespace mma
}  // namespace

void filter_pass_sm_80(const FilterPass& pass, cudaStream_t stream) {
    const int blocks = device_attributes().multiprocessors, room = device_attributes().shared_bytes;
    const mma::TileSchedule schedule = mma::make_schedule(pass, blocks, room);
    const int bytes = mma::front_bytes + schedule.resident * mma::query_k_tile_bytes +
                      schedule.stages * schedule.stage_bytes;
    static constexpr std::array kernels = {
        mma::fused_sm_80<false, false>, mma::fused_sm_80<false, true>,
        mma::fused_sm_80<true, false>, mma::fused_sm_80<true, true>};
    auto* const kernel =
        kernels.at((pass.all ? 2 : 0) + static_cast<std::size_t>(pass.width / 16 % 2));
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, room),
          "cudaFuncSetAttribute");
    kernel<<<static_cast<unsigned>(std::min<std::int64_t>(blocks, schedule.work_tiles)),
             mma::threads, static_cast<std::size_t>(bytes), stream>>>(pass, schedule);
    check_launch("fused filter");
}

}  // namespace kith::gpu
