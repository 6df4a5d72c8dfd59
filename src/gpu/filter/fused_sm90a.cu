// The fused filter on Hopper: bulk tensor copies feed wgmma, and what the accumulators hold is compared where it lies.
//
// grid      as many blocks as multiprocessors, in clusters of one or two; persistent
// cluster   two blocks take the same points for different queries: each copies half of a tile of points to both
// block     128 queries x tiles of 256 points: a thread copies, four groups of four warps multiply and compare
// group     64 queries x 128 points, 64 accumulators a thread, which start from h and lose products
// unit      a block's queries x a segment of tiles; all blocks walk the segments together, so points are in L2
//
// Vectors go through shared memory in chunks of 64 coordinates, in a ring of stages. Where all chunks of the queries
// fit they stay there for a unit, otherwise they come again with every tile.
//
// A stage is copied to again when its barrier `empty` has seen everyone who reads it, and everyone who reads the same
// stage of the other block of the cluster. Who writes what decides what an arrival has to prove (PTX ISA, 8
// and 9.7.13):
//
//   points    read by wgmma (async proxy), written by the copies (async proxy) of both blocks. wgmma.wait_group: the
//             products of the whole group of warps are over, and with them their reads; an arrival after it needs no
//             memory order, only to be seen. So one warp of a group tells the other block, without a release at its
//             scope, as CUTLASS' consumer_release does.
//   h and     read by every thread (generic proxy), written by the copies of the own block only. Each thread's reads
//   limits    -> its fence.proxy.async -> __syncwarp -> its warp's arrival, .release.cta -> the wait of the copying
//   of        thread, .acquire.cta -> its next copy to the stage: an unbroken chain of causality for a write after a
//   columns   read across proxies. Therefore every warp arrives at its own block's barrier, not one of a group.
//   queries   as points, by copies of the own block; one thread of a group arrives.
//
// The other direction: the wait for `full` sees complete_tx, which makes copied bytes visible to whoever waits for it.
// racecheck (compute-sanitizer 13.0) does not follow an arrival that one lane makes for its warp behind __syncwarp: it
// reports a hazard of h wherever a ring wraps, here and with sm_80's copies alike, and of a ring of twenty lines; of
// the same twenty lines with every thread arriving it reports none. Tensor copies it does not see at all.
#include <algorithm>
#include <array>

#include "gpu/check.h"
#include "gpu/filter/hopper.cuh"
#include "gpu/filter/segments.h"
#include "gpu/filter/survivors.cuh"

namespace kith::gpu {

namespace {

constexpr int tile_queries = static_cast<int>(filter_tile_queries), tile_points = static_cast<int>(filter_tile_points);
constexpr int chunk = 64, chunk_bytes = chunk * 2;  // a row of a chunk: what one swizzle spans
constexpr int query_chunk_bytes = tile_queries * chunk_bytes, point_chunk_bytes = tile_points * chunk_bytes;
constexpr int h_bytes = tile_points * 4;
constexpr int consumers = 4, warps = consumers * 4, threads = 128 * (1 + consumers);
constexpr int list_bytes = WarpList::room * (static_cast<int>(sizeof(Survivor)) + 4);
constexpr int max_stages = 8, max_resident = 4;
constexpr int shared_limit = 227 * 1024;

// How a pass is cut and what lies where in shared memory.
struct Cut {
    int cluster = 1;   // blocks per cluster
    int steps = 0;     // of 16 coordinates
    int chunks = 0;    // of 64 coordinates
    int stages = 0;    // of the ring of chunks
    int resident = 0;  // chunks of queries that stay; 0: they come with every tile
    int tiles = 0, segment = 0, groups = 0, units = 0;
    int ring = 0, h = 0, lists = 0, barriers = 0, bytes = 0;  // offsets from the first multiple of 1,024
    int stage_bytes = 0, h_stride = 0;  // of a stage's chunks; of its h and, where columns are queries, their limits
};

// What becomes of the values: survivors of the rows, of rows and columns, or all of them.
enum class Keep { rows, both, all };

#if defined(KITH_SM_90A)

// A position in the ring of stages.
struct Place {
    int stage = 0, parity = 0;
    __device__ void next(int stages) {
        if (++stage == stages) {
            stage = 0;
            parity ^= 1;
        }
    }
};

// A unit of work of a cluster.
struct Unit {
    int number, first, end;  // tiles [first, end)
    int block;               // of queries, this block's

    // The first unit from `index` on that has tiles, or one past the last.
    __device__ static Unit from(int index, const FilterPass& pass, const Cut& cut, int rank) {
        const int step = static_cast<int>(gridDim.x) / cut.cluster;
        for (; index < cut.units; index += step) {
            const int segment = index / cut.groups, group = index % cut.groups;
            int first = segment * cut.segment;
            const int end = min(first + cut.segment, cut.tiles);
            // Tiles left of the group's diagonal have been served by others.
            if (pass.column_limit)
                first = max(first, group * cut.cluster * tile_queries / tile_points -
                                       static_cast<int>(pass.first / filter_tile_points));
            if (first < end) return {index, first, end, group * cut.cluster + rank};
        }
        return {index, 0, 0, -1};
    }
    __device__ Unit next(const FilterPass& pass, const Cut& cut, int rank) const {
        return from(number + static_cast<int>(gridDim.x) / cut.cluster, pass, cut, rank);
    }
};

struct Shared {
    std::uint32_t base;
    const Cut& cut;
    __device__ std::uint32_t query_chunk(int stage_or_chunk) const {
        return cut.resident ? base + static_cast<std::uint32_t>(stage_or_chunk * query_chunk_bytes)
                            : point_chunk(stage_or_chunk) + point_chunk_bytes;
    }
    __device__ std::uint32_t point_chunk(int stage) const {
        return base + static_cast<std::uint32_t>(cut.ring + stage * cut.stage_bytes);
    }
    __device__ std::uint32_t h(int stage) const {
        return base + static_cast<std::uint32_t>(cut.h + stage * cut.h_stride);
    }
    __device__ std::uint32_t full(int stage) const {
        return base + static_cast<std::uint32_t>(cut.barriers + stage * 8);
    }
    __device__ std::uint32_t empty(int stage) const { return full(max_stages + stage); }
    __device__ std::uint32_t queries_full() const { return full(2 * max_stages); }
    __device__ std::uint32_t queries_empty() const { return full(2 * max_stages + 1); }
};

// One thread of the copying warp.
__device__ void copy(const CUtensorMap* queries, const CUtensorMap* points, const FilterPass& pass, const Cut& cut,
                     const Shared& s, int rank, int cluster) {
    using namespace hopper;
    Place at;
    int loaded = -1;
    int reload = 0;
    const int halves = 2 / cut.cluster;
    for (Unit unit = Unit::from(cluster, pass, cut, rank); unit.number < cut.units; unit = unit.next(pass, cut, rank)) {
        const int block = unit.block;
        if (cut.resident && block != loaded) {
            barrier_wait(s.queries_empty(), (reload & 1) ^ 1);
            barrier_expect(s.queries_full(), cut.chunks * query_chunk_bytes);
            for (int c = 0; c < cut.chunks; ++c)
                copy_box(s.query_chunk(c), queries, s.queries_full(), c * chunk, block * tile_queries);
            loaded = block;
            ++reload;
        }
        for (int tile = unit.first; tile < unit.end; ++tile) {
            const auto row = static_cast<int>(pass.first) + tile * tile_points;
            for (int c = 0; c < cut.chunks; ++c) {
                barrier_wait(s.empty(at.stage), at.parity ^ 1);
                const std::uint32_t full = s.full(at.stage);
                barrier_expect(
                    full, point_chunk_bytes + (cut.resident ? 0 : query_chunk_bytes) + (c == 0 ? cut.h_stride : 0));
                for (int i = 0; i < halves; ++i) {
                    const int half = rank * halves + i;
                    const std::uint32_t to =
                        s.point_chunk(at.stage) + static_cast<std::uint32_t>(half) * point_chunk_bytes / 2;
                    const int from = row + half * tile_points / 2;
                    if (cut.cluster == 1) copy_box(to, points, full, c * chunk, from);
                    else copy_box_multicast(to, points, full, c * chunk, from, 3);
                }
                if (!cut.resident) copy_box(s.query_chunk(at.stage), queries, full, c * chunk, block * tile_queries);
                if (c == 0) {
                    copy_bytes(s.h(at.stage), pass.h + row, h_bytes, full);
                    if (pass.column_limit) copy_bytes(s.h(at.stage) + h_bytes, pass.column_limit + row, h_bytes, full);
                }
                at.next(cut.stages);
            }
        }
    }
}

// A warpgroup: upper or lower half of the queries (`rows`), left or right half of the points (`half`).
template <Keep keep, int Tail>
__device__ void multiply_and_compare(const FilterPass& pass, const Cut& cut, const Shared& s, char* shared, int rank,
                                     int cluster, int rows, int half) {
    using namespace hopper;
    const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32) - 4;
    const bool tells_other = cut.cluster > 1 && warp % 4 == 0 && lane == 0;
    WarpList list{reinterpret_cast<Survivor*>(shared + cut.lists + warp * list_bytes),
                  reinterpret_cast<std::uint32_t*>(shared + cut.lists + warp * list_bytes +
                                                   WarpList::room * static_cast<int>(sizeof(Survivor)))};
    const auto release = [&](int stage) {
        __syncwarp();
        if (lane == 0) barrier_arrive(s.empty(stage));
    };
    // A stage whose chunk `c` of a tile has been multiplied. The first also holds the limits of columns, which are read
    // after that: this warp keeps it until the next tile's fence.
    int held = -1;
    const auto done = [&](int c, int stage) {
        if (tells_other) barrier_arrive_at(s.empty(stage), rank ^ 1);
        if (keep == Keep::both && c == 0) {
            if (held >= 0) release(held);
            held = stage;
        } else {
            release(stage);
        }
    };
    const auto queries_at = [&](int c, int stage) {
        return descriptor(s.query_chunk(cut.resident ? c : stage) +
                          static_cast<std::uint32_t>(rows) * query_chunk_bytes / 2);
    };
    Place at;
    int loaded = -1;
    int reload = 0;
    for (Unit unit = Unit::from(cluster, pass, cut, rank); unit.number < cut.units;) {
        const int block = unit.block;
        const int upper = block * tile_queries + rows * 64 + warp % 4 * 16 + lane / 4;
        const float nothing = __int_as_float(0x7fffffff);
        float upper_limit = nothing, lower_limit = nothing;
        if (keep != Keep::all) {
            if (upper < pass.q) upper_limit = pass.limit[upper];
            if (upper + 8 < pass.q) lower_limit = pass.limit[upper + 8];
        }
        if (cut.resident && block != loaded) {
            barrier_wait(s.queries_full(), reload & 1);
            loaded = block;
            ++reload;
        }
        for (int tile = unit.first; tile < unit.end; ++tile) {
            float d[64];
            barrier_wait(s.full(at.stage), at.parity);
            const auto* const h =
                reinterpret_cast<const float2*>(shared + cut.h + at.stage * cut.h_stride) + half * 64 + lane % 4;
#pragma unroll
            for (int j = 0; j < 16; ++j) {
                const float2 two = h[j * 4];
                d[j * 4] = d[j * 4 + 2] = two.x;
                d[j * 4 + 1] = d[j * 4 + 3] = two.y;
            }
            const int first_stage = at.stage;
            int last = first_stage;
            const auto multiply = [&]<int Steps>(int c) {
                if (c > 0) barrier_wait(s.full(at.stage), at.parity);
                const std::uint64_t a = queries_at(c, at.stage),
                                    b = descriptor(s.point_chunk(at.stage) +
                                                   static_cast<std::uint32_t>(half) * point_chunk_bytes / 2);
                wgmma_fence();
#pragma unroll
                for (int i = 0; i < Steps; ++i) wgmma_subtract(d, a + 2 * i, b + 2 * i);
                wgmma_commit();
                if (c == 0) fence_before_copies();  // h, and the columns' limits of the tile before
                if (c > 0) {
                    wgmma_wait<1>();
                    done(c - 1, last);
                }
                last = at.stage;
                at.next(cut.stages);
            };
            for (int c = 0; c < cut.steps / 4; ++c) multiply.template operator()<4>(c);
            if constexpr (Tail > 0) multiply.template operator()<Tail>(cut.steps / 4);
            wgmma_wait<0>();
            done(cut.chunks - 1, last);
            if (cut.resident && tile + 1 == unit.end && threadIdx.x % 128 == 0) {
                const Unit next = unit.next(pass, cut, rank);
                if (next.number < cut.units && next.block != block) barrier_arrive(s.queries_empty());
            }
            const int column = tile * tile_points + half * 128 + lane % 4 * 2;
            if constexpr (keep == Keep::all) {
                keep_all<64>(d, pass.all + static_cast<std::int64_t>(upper) * pass.ld + column, pass.ld, upper < pass.q,
                             upper + 8 < pass.q);
            } else {
                const auto position = static_cast<std::uint32_t>(static_cast<int>(pass.first) + column);
                Piece piece{static_cast<std::uint32_t>(upper), position, upper_limit, lower_limit};
                // Rows of an earlier pass have been compared with these columns, those on the diagonal with each other.
                const int rows_tile = block * tile_queries / tile_points,
                          first_tile = static_cast<int>(pass.first) / tile_points;
                if (keep == Keep::both) {
                    // h has room for whole tiles, so the rows behind the last are there.
                    const bool columns = rows_tile >= first_tile && rows_tile != first_tile + tile;
                    piece.upper_bar = columns ? row_bar(__ldg(pass.h + upper)) : nothing;
                    piece.lower_bar = columns ? row_bar(__ldg(pass.h + upper + 8)) : nothing;
                    piece.column_limit =
                        reinterpret_cast<const float2*>(shared + cut.h + first_stage * cut.h_stride + h_bytes) +
                        half * 64 + lane % 4;
                }
                keep_survivors<64, keep == Keep::both>(d, piece, list, pass);
            }
        }
        unit = unit.next(pass, cut, rank);
    }
    if (keep != Keep::all) list.flush(pass);
}

#endif

template <Keep keep, int Tail>
__global__ void __launch_bounds__(threads, 1)
    fused_sm_90a(const __grid_constant__ CUtensorMap queries, const __grid_constant__ CUtensorMap points,
                 const FilterPass pass, const Cut cut) {
#if defined(KITH_SM_90A)
    using namespace hopper;
    extern __shared__ char raw[];
    char* const shared = raw + (1024 - shared_address(raw) % 1024) % 1024;
    const Shared s{shared_address(shared), cut};
    const int rank = cut.cluster == 1 ? 0 : cluster_rank();
    const int cluster = static_cast<int>(blockIdx.x) / cut.cluster;
    if (threadIdx.x == 0) {
        for (int i = 0; i < cut.stages; ++i) {
            barrier_init(s.full(i), 1);
            barrier_init(s.empty(i), warps + consumers * (cut.cluster - 1));
        }
        barrier_init(s.queries_full(), 1);
        barrier_init(s.queries_empty(), consumers);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    cluster_sync();
    if (threadIdx.x < 128) {
        lower_registers<56>();
        if (threadIdx.x == 0) copy(&queries, &points, pass, cut, s, rank, cluster);
    } else {
        raise_registers<104>();
        const int group = static_cast<int>(threadIdx.x) / 128 - 1;
        multiply_and_compare<keep, Tail>(pass, cut, s, shared, rank, cluster, group / 2, group % 2);
    }
    __syncwarp();
    cluster_sync();  // the other block may still copy to this one, or arrive at its barriers
#endif
}

int multiprocessors() {
    int device = 0, count = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
    return count;
}

Cut cut_of(const FilterPass& p, int blocks_there) {
    Cut c;
    c.steps = static_cast<int>(p.width / 16);
    c.chunks = (c.steps + 3) / 4;
    const std::int64_t blocks = (p.q + tile_queries - 1) / tile_queries;
    c.cluster = blocks > 1 && p.most_cluster > 1 ? 2 : 1;
    c.groups = static_cast<int>((blocks + c.cluster - 1) / c.cluster);
    c.tiles = static_cast<int>((p.count + tile_points - 1) / tile_points);
    // The diagonal of a symmetric pass cuts units short: many of them even that out.
    c.segment = segment_length(c.tiles, c.groups, blocks_there / c.cluster, c.groups > 1 ? 0.7 : 0.05,
                               p.column_limit ? 16 : 64);
    c.units = (c.tiles + c.segment - 1) / c.segment * c.groups;
    c.resident = c.chunks <= max_resident ? c.chunks : 0;
    c.stage_bytes = point_chunk_bytes + (c.resident ? 0 : query_chunk_bytes);
    c.h_stride = p.column_limit ? 2 * h_bytes : h_bytes;
    const int fixed = c.resident * query_chunk_bytes + warps * list_bytes + 1024 + 256;
    c.stages = std::min(max_stages, (shared_limit - fixed) / (c.stage_bytes + c.h_stride));
    c.ring = c.resident * query_chunk_bytes;
    c.h = c.ring + c.stages * c.stage_bytes;
    c.lists = c.h + c.stages * c.h_stride;
    c.barriers = c.lists + warps * list_bytes;
    c.bytes = c.barriers + 256 + 1024;
    return c;
}

// The driver's function that describes a matrix to the copy engine; the library does not link the driver.
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

CUtensorMap map_of(const __half* vectors, std::int64_t rows, std::int64_t width) {
    CUtensorMap map{};
    const cuuint64_t sizes[2] = {static_cast<cuuint64_t>(width), static_cast<cuuint64_t>(rows)};
    const cuuint64_t strides[1] = {static_cast<cuuint64_t>(width) * 2};
    const cuuint32_t box[2] = {chunk, tile_queries}, steps[2] = {1, 1};
    const CUresult status = encoder()(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, const_cast<__half*>(vectors), sizes,
                                      strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (status != CUDA_SUCCESS)
        throw Error(ErrorCode::device, "device: cuTensorMapEncodeTiled: " + std::to_string(static_cast<int>(status)));
    return map;
}

}  // namespace

void filter_pass_sm_90a(const FilterPass& pass, cudaStream_t stream) {
    const int there = multiprocessors();
    const Cut cut = cut_of(pass, there);
    // The stage with the columns' limits is held until the next tile's first chunk is through: the ring must have one
    // more.
    if (pass.column_limit && cut.stages < (cut.chunks > 1 ? cut.chunks + 2 : 2))
        throw Error(ErrorCode::invalid_argument, "plan: symmetric, with vectors too wide for it");
    using enum Keep;
    static constexpr std::array kernels = {fused_sm_90a<rows, 0>, fused_sm_90a<rows, 1>, fused_sm_90a<rows, 2>,
                                           fused_sm_90a<rows, 3>, fused_sm_90a<both, 0>, fused_sm_90a<both, 1>,
                                           fused_sm_90a<both, 2>, fused_sm_90a<both, 3>, fused_sm_90a<all, 0>,
                                           fused_sm_90a<all, 1>,  fused_sm_90a<all, 2>,  fused_sm_90a<all, 3>};
    const Keep keep = pass.all ? all : pass.column_limit ? both : rows;
    auto* const kernel = kernels.at(static_cast<std::size_t>(static_cast<int>(keep) * 4 + cut.steps % 4));
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_limit),
          "shared memory of the fused filter");
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(std::min(there / cut.cluster, cut.units) * cut.cluster));
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = static_cast<std::size_t>(cut.bytes);
    config.stream = stream;
    cudaLaunchAttribute cluster{};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {static_cast<unsigned>(cut.cluster), 1, 1};
    config.attrs = &cluster;
    config.numAttrs = 1;
    check(cudaLaunchKernelEx(&config, kernel, map_of(pass.queries, pass.q, pass.width),
                             map_of(pass.points, pass.first + pass.count, pass.width), pass, cut),
          "fused filter");
}

}  // namespace kith::gpu
