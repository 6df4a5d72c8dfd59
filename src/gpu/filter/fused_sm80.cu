// The fused filter on what has mma.sync and asynchronous copies: no warp only copies, each copies its share ahead.
//
// grid      as many blocks as multiprocessors; persistent
// block     128 queries x tiles of 256 points: 2 x 4 warps
// warp      64 queries x 64 points, 128 accumulators a thread, that start from h and from which products are taken away
// unit      a block's queries x a segment of tiles; all blocks walk the segments together, so that points are in L2
//
// Vectors go through shared memory in chunks of 32 coordinates, in a ring of stages. Barriers, not __syncthreads, guard
// a stage: while one warp compares, others multiply what comes after. Where all chunks of the queries leave room for a
// ring they stay there for a unit, otherwise they come again with every tile.
#include <algorithm>
#include <array>

#include "gpu/check.h"
#include "gpu/filter/segments.h"
#include "gpu/filter/survivors.cuh"

namespace kith::gpu {

namespace {
namespace mma {

constexpr int tile_queries = static_cast<int>(filter_tile_queries), tile_points = static_cast<int>(filter_tile_points);
constexpr int warps = 8, threads = warps * 32, warp_tile = 64, chunk = 32, chunk_bytes = chunk * 2;
constexpr int query_chunk_bytes = tile_queries * chunk_bytes, point_chunk_bytes = tile_points * chunk_bytes;
constexpr int h_bytes = tile_points * 4;
// A warp's list and limits.
constexpr int own_bytes = WarpList::room * (static_cast<int>(sizeof(Survivor)) + 4) + warp_tile * 4;
constexpr int max_stages = 8, enough_stages = 4;
constexpr int barrier_bytes = 2 * max_stages * 8, front_bytes = barrier_bytes + warps * own_bytes;

// How a pass is cut. Shared memory: barriers, what warps have of their own, resident chunks of queries, the ring of
// stages. A stage: a chunk of points, a chunk of queries where they do not stay, h of a tile.
struct Cut {
    int chunks = 0;    // of 32 coordinates
    int stages = 0;    // of the ring
    int ahead = 0;     // so many chunks ahead is copied; the rest of the ring is how far warps may drift apart
    int resident = 0;  // chunks of queries that stay; 0: they come with every tile
    int stage_bytes = 0;
    int tiles = 0, segment = 0;
    std::int64_t groups = 0, units = 0;
};

// ---- instructions

__device__ __forceinline__ void barrier_init(std::uint32_t barrier, int arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void barrier_arrive(std::uint32_t barrier) {
    asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.shared.b64 state, [%0];\n}" ::"r"(barrier) : "memory");
}
// Arrives when this thread's copies so far are there.
__device__ __forceinline__ void barrier_arrive_copied(std::uint32_t barrier) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
}
// Waits until the phase of that parity is over.
__device__ __forceinline__ void barrier_wait(std::uint32_t barrier, int parity) {
    for (int over = 0; !over;)
        asm volatile("{\n.reg .pred p;\nmbarrier.test_wait.parity.shared.b64 p, [%1], %2;\nselp.b32 %0, 1, 0, p;\n}"
                     : "=r"(over)
                     : "r"(barrier), "r"(parity)
                     : "memory");
}
// 16 bytes: so many from there, then zeros.
__device__ __forceinline__ void copy_16(std::uint32_t to, const void* from, int bytes) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
// Four 8 x 8 matrices; the rows of matrix i are at the addresses of lanes 8 i to 8 i + 7.
__device__ __forceinline__ void load_matrices(std::uint32_t (&m)[4], std::uint32_t address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                 : "r"(address)
                 : "memory");
}
// d (16 x 8) += A (16 x 16) B' (8 x 16).
__device__ __forceinline__ void multiply_add(float* d, const std::uint32_t* a, const std::uint32_t* b) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Eight coordinates of a row of a chunk: two rows fill all banks once, and the four pieces of a row change places from
// one pair of rows to the next, so that the same piece of eight rows meets every bank once.
__device__ __forceinline__ std::uint32_t place(int row, int piece) {
    return static_cast<std::uint32_t>(row * chunk_bytes + (piece ^ (row / 2 % 4)) * 16);
}

// A position in the ring of stages, with the addresses of what lies there.
struct Place {
    const Cut& cut;
    std::uint32_t base;
    int stage = 0, parity = 0;
    __device__ void next() {
        if (++stage < cut.stages) return;
        stage = 0;
        parity ^= 1;
    }
    __device__ std::uint32_t full() const { return base + stage * 8; }
    __device__ std::uint32_t empty() const { return base + (max_stages + stage) * 8; }
    __device__ std::uint32_t resident(int c) const { return base + front_bytes + c * query_chunk_bytes; }
    __device__ std::uint32_t points() const { return resident(cut.resident) + stage * cut.stage_bytes; }
    __device__ std::uint32_t queries(int c) const { return cut.resident ? resident(c) : points() + point_chunk_bytes; }
    __device__ std::uint32_t h() const { return points() + cut.stage_bytes - h_bytes; }
};

// Chunk c of `Rows` vectors from `first` on, zeros for those that do not exist. A thread copies its part.
template <int Rows>
__device__ __forceinline__ void copy_chunk(std::uint32_t to, const __half* vectors, std::int64_t first,
                                           std::int64_t end, std::int64_t width, int c) {
    const int row = static_cast<int>(threadIdx.x / 4), piece = static_cast<int>(threadIdx.x % 4);
    const std::int64_t column = std::int64_t{c} * chunk + piece * 8;
    if (column >= width) return;
    const __half* const from = vectors + (first + row) * width + column;
#pragma unroll
    for (int i = 0; i < Rows; i += threads / 4) {
        const bool there = first + row + i < end;
        copy_16(to + place(row, piece) + i * chunk_bytes, there ? from + i * width : vectors, there ? 16 : 0);
    }
}

// A unit: its first query, its tiles.
struct Unit {
    std::int64_t id, query;
    int tile, end;
    __device__ Unit(const Cut& cut, std::int64_t i) : id(i), query(i % cut.groups * tile_queries) {
        tile = static_cast<int>(i / cut.groups) * cut.segment;
        end = min(tile + cut.segment, cut.tiles);
    }
};

// 16 coordinates of a warp's 64 queries, negated, and 64 points.
struct Fragments {
    std::uint32_t a[4][4], b[4][4];
    // The addresses of this lane's rows.
    __device__ __forceinline__ void load(std::uint32_t queries, std::uint32_t points) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            load_matrices(b[i], points + i * 16 * chunk_bytes);
            load_matrices(a[i], queries + i * 16 * chunk_bytes);
            for (std::uint32_t& two : a[i]) two ^= 0x80008000u;
        }
    }
    __device__ __forceinline__ void subtract_from(float (&d)[4][32]) const {
#pragma unroll
        for (int i = 0; i < 32; ++i) multiply_add(d[i / 8] + i % 8 * 4, a[i / 8], b[i % 8 / 2] + i % 2 * 2);
    }
};

// Odd: the last chunk has 16 coordinates.
template <bool All, bool Odd>
__global__ void __launch_bounds__(threads, 1)
    fused_sm_80(const __grid_constant__ FilterPass pass, const __grid_constant__ Cut cut) {
    extern __shared__ __align__(128) char mma_shared[];
    Place at{cut, static_cast<std::uint32_t>(__cvta_generic_to_shared(mma_shared))}, to = at;
    if (threadIdx.x < max_stages) {
        barrier_init(at.full() + threadIdx.x * 8, threads);
        barrier_init(at.empty() + threadIdx.x * 8, warps);
    }
    __syncthreads();

    // What copies: a walk of its own, `ahead` chunks before the one that multiplies.
    Unit source(cut, blockIdx.x);
    int next_chunk = 0;
    const auto feed = [&] {
        if (source.id >= cut.units) return;
        barrier_wait(to.empty(), to.parity ^ 1);
        const std::int64_t row = pass.first + std::int64_t{source.tile} * tile_points;
        copy_chunk<tile_points>(to.points(), pass.points, row, pass.n, pass.width, next_chunk);
        if (!cut.resident)
            copy_chunk<tile_queries>(to.queries(0), pass.queries, source.query, pass.q, pass.width, next_chunk);
        if (next_chunk == 0 && threadIdx.x < h_bytes / 16)
            copy_16(to.h() + threadIdx.x * 16, pass.h + row + threadIdx.x * 4, 16);
        barrier_arrive_copied(to.full());
        to.next();
        if (++next_chunk < cut.chunks) return;
        next_chunk = 0;
        if (++source.tile == source.end) source = Unit(cut, source.id + gridDim.x);
    };
    for (int i = 0; i < cut.ahead; ++i) feed();

    const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
    const int row = warp / 4 * warp_tile, column = warp % 4 * warp_tile;
    // A: rows 0 to 7 and 8 to 15 of the first piece, then of the second. B: both pieces of points 0 to 7, then 8 to 15.
    const std::uint32_t query_place = place(row + lane % 16, lane / 16);
    const std::uint32_t point_place = place(column + lane / 16 * 8 + lane % 8, lane / 8 % 2);
    auto* const entries = reinterpret_cast<Survivor*>(mma_shared + barrier_bytes + warp * own_bytes);
    auto* const queries = reinterpret_cast<std::uint32_t*>(entries + WarpList::room);
    auto* const limits = reinterpret_cast<float*>(queries + WarpList::room);
    WarpList list{entries, queries};
    std::int64_t loaded = -1;
    for (Unit unit(cut, blockIdx.x); unit.id < cut.units; unit = Unit(cut, unit.id + gridDim.x)) {
        if (cut.resident && unit.query != loaded) {
            __syncthreads();
            for (int c = 0; c < cut.chunks; ++c)
                copy_chunk<tile_queries>(at.resident(c), pass.queries, unit.query, pass.q, pass.width, c);
            asm volatile("cp.async.wait_all;" ::: "memory");
            __syncthreads();
            loaded = unit.query;
        }
        const std::int64_t first_query = unit.query + row;
        __syncwarp();
        for (int i = lane; i < warp_tile && !All; i += 32)
            limits[i] = first_query + i < pass.q ? pass.limit[first_query + i] : __int_as_float(0x7fffffff);
        __syncwarp();
        for (; unit.tile < unit.end; ++unit.tile) {
            float d[4][32];
            barrier_wait(at.full(), at.parity);
            const auto* h = reinterpret_cast<const float2*>(mma_shared + (at.h() - at.base) + column * 4) + lane % 4;
#pragma unroll
            for (int j = 0; j < 32; ++j) {
                const float2 two = h[j / 4 * 4];
                d[0][j] = d[1][j] = d[2][j] = d[3][j] = j % 2 ? two.y : two.x;
            }
            const auto multiply = [&]<int Steps>(int c) {
                barrier_wait(at.full(), at.parity);
                const std::uint32_t a = at.queries(c), b = at.points();
                Fragments f;
                f.load(a + query_place, b + point_place);
                feed();
                f.subtract_from(d);
                if constexpr (Steps == 2) f.load(a + (query_place ^ 32), b + (point_place ^ 32));
                __syncwarp();
                if (lane == 0) barrier_arrive(at.empty());
                at.next();
                if constexpr (Steps == 2) f.subtract_from(d);
            };
            for (int c = 0; c + Odd < cut.chunks; ++c) multiply.template operator()<2>(c);
            if constexpr (Odd) multiply.template operator()<1>(cut.chunks - 1);

            const std::int64_t first = std::int64_t{unit.tile} * tile_points + column + lane % 4 * 2;
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int upper = i * 16 + lane / 4;
                const std::int64_t query = first_query + upper;
                if constexpr (All)
                    keep_all<32>(d[i], pass.all + query * pass.ld + first, pass.ld, query < pass.q, query + 8 < pass.q);
                else
                    keep_survivors<32>(
                        d[i],
                        {static_cast<std::uint32_t>(query), static_cast<std::uint32_t>(pass.first + first),
                         limits[upper], limits[upper + 8]},
                        list, pass);
            }
        }
    }
    if (!All) list.flush(pass);
}

int attribute(cudaDeviceAttr which) {
    int device = 0, value = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
    return value;
}

Cut cut_for(const FilterPass& p, int blocks, int room) {
    Cut c;
    c.chunks = static_cast<int>((p.width + chunk - 1) / chunk);
    c.groups = (p.q + tile_queries - 1) / tile_queries;
    c.tiles = static_cast<int>((p.count + tile_points - 1) / tile_points);
    const auto stages = [&](std::int64_t resident_bytes, int stage_bytes) {
        return std::min<std::int64_t>(max_stages, (room - front_bytes - resident_bytes) / stage_bytes);
    };
    const int lean = point_chunk_bytes + h_bytes, full = lean + query_chunk_bytes;
    const std::int64_t beside = stages(std::int64_t{c.chunks} * query_chunk_bytes, lean), with = stages(0, full);
    const bool stay = beside >= std::min<std::int64_t>(with, enough_stages);
    c.resident = stay ? c.chunks : 0;
    c.stage_bytes = stay ? lean : full;
    c.stages = static_cast<int>(stay ? beside : with);
    c.ahead = (c.stages + 1) / 2;
    c.segment = segment_length(c.tiles, c.groups, blocks, stay && c.groups > 1 ? 0.7 : 0.05);
    c.units = std::int64_t{(c.tiles + c.segment - 1) / c.segment} * c.groups;
    return c;
}

}  // namespace mma
}  // namespace

void filter_pass_sm_80(const FilterPass& pass, cudaStream_t stream) {
    const int blocks = mma::attribute(cudaDevAttrMultiProcessorCount);
    const int room = mma::attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    const mma::Cut cut = mma::cut_for(pass, blocks, room);
    const int bytes = mma::front_bytes + cut.resident * mma::query_chunk_bytes + cut.stages * cut.stage_bytes;
    static constexpr std::array kernels = {mma::fused_sm_80<false, false>, mma::fused_sm_80<false, true>,
                                           mma::fused_sm_80<true, false>, mma::fused_sm_80<true, true>};
    auto* const kernel = kernels.at((pass.all ? 2 : 0) + static_cast<std::size_t>(pass.width / 16 % 2));
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, room), "cudaFuncSetAttribute");
    kernel<<<static_cast<unsigned>(std::min<std::int64_t>(blocks, cut.units)), mma::threads,
             static_cast<std::size_t>(bytes), stream>>>(pass, cut);
    check_launch("fused filter");
}

}  // namespace kith::gpu
