// The fused kernel of Hanak 2023, 4.2: distances and selection in one, for several queries a block.
//
// Grid: a block of 256 threads per 32 queries and part of the points (one part where queries fill
// the device). The points slide by in tiles of 256 (Krulis' caching, 3.3.2): a thread owns 4
// queries x 8 points of each tile in registers, reads 12 words per coordinate from shared memory
// and takes 32 steps. Words come by cp.async in slices of 8 coordinates, one slice ahead; those of
// the queries stay for the whole part where a row has at most 64.
//
// Each query has a buffer and its smallest entries so far in shared memory. A value below the last
// of these goes to the buffer by an atomic add. When any buffer is full, all are sorted and merged,
// 8 lanes of a warp a query: one array over the registers of the block whose networks stop at the
// stride of a buffer (4.2), so that no layer leaves a warp. What found its buffer full stays in
// registers meanwhile.
//
// Ties: a value that equals the last entry's is dropped; the list's threshold lies below that
// (matrix_candidates.cu).
#include "gpu/primitives/async_copy.cuh"
#include "gpu/primitives/bitonic_lanes.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/shared_memory.h"
#include "papers/distance/steps.cuh"
#include "papers/fused/fused.h"

namespace kith::gpu {

namespace {

using distance::value_of;

constexpr int threads = 256, queries = 32, points = 256;
constexpr int own_queries = 4, own_points = 8;  // of a thread
static_assert(threads * own_queries * own_points == queries * points);
constexpr int slice = 8, stages = 2,
              cached = 64;  // words of a row: at a time, of queries that stay
constexpr int panel = static_cast<int>(filter_tile_queries);

// The first of four adjacent queries of a thread; the first of two times four adjacent points,
// `apart` apart.
constexpr int apart = 32;
__device__ __forceinline__ int first_own_query() {
    const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
    return warp / 4 * 16 + lane / 8 * 4;
}
__device__ __forceinline__ int own_point(int j) {
    const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
    return warp % 4 * 64 + j / 4 * apart + lane % 8 * 4 + j % 4;
}

// ---------------------------------------------------------------- the queries' lists

// The `capacity` smallest entries of each query, and a buffer for `room` more. Position p of the
// sorted entries lies at place(p), as lane p / items holds it in a merge; rows are padded so that
// the queries of a warp reach different banks.
template <int capacity, int room>
struct QueryLists {
    static constexpr int lanes = threads / queries, items = room / lanes,
                         holders = capacity / items, pad = 8;
    static_assert(room >= capacity && holders >= 1 && lanes * items == room &&
                  holders * items == capacity);

    Packed best[queries][capacity + pad];
    Packed buffer[queries][room + pad];
    float radius[queries];  // the largest of the best; NaN while there are fewer than `capacity`
    int fill[queries];      // entries that were offered since the last merge; may exceed `room`

    static __device__ __forceinline__ int place(int p) { return p % items * holders + p / items; }

    __device__ __forceinline__ void clear() {
        for (int i = threadIdx.x; i < queries * capacity; i += threads)
            best[i / capacity][i % capacity] = packed_end;
        if (threadIdx.x < queries) {
            radius[threadIdx.x] = __uint_as_float(0x7fffffffu);
            fill[threadIdx.x] = 0;
        }
    }

    // Merges all buffers; whole block. A barrier must lie between the last entry and this, and lies
    // at the end.
    __device__ __forceinline__ void merge() {
        const int query = static_cast<int>(threadIdx.x) / lanes,
                  lane = static_cast<int>(threadIdx.x) % lanes;
        const int count = fill[query];
        Packed x[items];
#pragma unroll
        for (int i = 0; i < items; ++i)
            x[i] = i * lanes + lane < count ? buffer[query][i * lanes + lane] : packed_end;
        bitonic::sort_lanes(x, lanes);
        if (lane < holders) {
#pragma unroll
            for (int i = 0; i < items; ++i)
                x[i] = bitonic::smaller(
                    x[i], best[query][(items - 1 - i) * holders + holders - 1 - lane]);
        }
        bitonic::merge_lanes(x, holders);
        __syncwarp();
        if (lane < holders) {
#pragma unroll
            for (int i = 0; i < items; ++i) best[query][i * holders + lane] = x[i];
        }
        if (lane == holders - 1) {
            radius[query] =
                exact::Order<float>::value(static_cast<std::uint32_t>(x[items - 1] >> 32));
            fill[query] = 0;
        }
        __syncthreads();
    }
};

template <int capacity, int room>
struct Shared {
    float query_words[cached][queries];
    float query_slices[stages][slice][queries];
    float point_slices[stages][slice][points];
    QueryLists<capacity, room> lists;
};

// ---------------------------------------------------------------- words to shared memory

// The slices of a block's tiles, one after the other, across the ends of tiles.
template <class Storage>
struct SliceLoader {
    const FusedJob& job;
    Storage& shared;
    const float* block_queries;  // word 0 of the block's first query
    std::int64_t point, end;     // the next tile's first, the part's end
    int width, word = 0, stage = 0;
    bool queries_stay;

    __device__ __forceinline__ SliceLoader(const FusedJob& j, Storage& s, std::int64_t first_query,
                                           std::int64_t first, std::int64_t last)
        : job(j),
          shared(s),
          block_queries(j.queries + direct_place(first_query, 0, j.width)),
          point(first),
          end(last),
          width(static_cast<int>(j.width)),
          queries_stay(j.width <= cached) {
        if (queries_stay) load_queries(shared.query_words[0], 0, width);
    }

    __device__ __forceinline__ void load_queries(float* to, int first, int words) const {
        for (int i = threadIdx.x; i < words * (queries / 4); i += threads)
            cp_async_16(shared_address(to + i * 4),
                        block_queries + (std::int64_t{first} + i / (queries / 4)) * panel +
                            i % (queries / 4) * 4,
                        16);
    }

    // A group of copies, empty past the last tile.
    __device__ __forceinline__ void load() {
        if (point < end) {
            const int words = min(slice, width - word);
            for (int i = threadIdx.x; i < words * (points / 4); i += threads) {
                const int row = i % (points / 4) * 4, at = i / (points / 4);
                cp_async_16(shared_address(shared.point_slices[stage][at] + row),
                            job.points + direct_place(point + row, word + at, width), 16);
            }
            if (!queries_stay) load_queries(shared.query_slices[stage][0], word, words);
            stage ^= 1;
            word += slice;
            if (word >= width) {
                word = 0;
                point += points;
            }
        }
        cp_async_commit();
    }
};

// ---------------------------------------------------------------- the kernel

template <class Step, int capacity, int room>
__global__ void __launch_bounds__(threads, 2) hanak_kernel(FusedJob job) {
    extern __shared__ __align__(128) char hanak_shared[];
    auto& shared = *reinterpret_cast<Shared<capacity, room>*>(hanak_shared);
    auto& lists = shared.lists;
    const std::int64_t query_blocks = (job.q + queries - 1) / queries;
    const std::int64_t first_query = blockIdx.x % query_blocks * queries,
                       part = blockIdx.x / query_blocks;
    const std::int64_t begin = part * job.parts.points, end = min(begin + job.parts.points, job.n);
    const int width = static_cast<int>(job.width), own = first_own_query();
    lists.clear();
    SliceLoader loader(job, shared, first_query, begin, end);
    loader.load();
    unsigned there = 0;  // the thread's pairs whose query there is
#pragma unroll
    for (int i = 0; i < own_queries; ++i)
        if (first_query + own + i < job.q) there |= 0xffu << i * own_points;

    int stage = 0;
    for (std::int64_t point = begin; point < end; point += points) {
        float values[own_queries][own_points] = {};
        for (int first = 0; first < width; first += slice) {
            cp_async_wait_all();
            __syncthreads();  // this slice has come for all, and all have left the one that is
                              // loaded over
            loader.load();
            const float* const q =
                (loader.queries_stay ? shared.query_words[first] : shared.query_slices[stage][0]) +
                own;
            const float* const x = shared.point_slices[stage][0] + own_point(0);
            stage ^= 1;
            const int words = min(slice, width - first);
            const auto take = [&](int w) {
                const float4 of_queries = *reinterpret_cast<const float4*>(q + w * queries),
                             near = *reinterpret_cast<const float4*>(x + w * points),
                             far = *reinterpret_cast<const float4*>(x + w * points + apart);
                const float qs[own_queries] = {of_queries.x, of_queries.y, of_queries.z,
                                               of_queries.w};
                const float xs[own_points] = {near.x, near.y, near.z, near.w,
                                              far.x,  far.y,  far.z,  far.w};
#pragma unroll
                for (int i = 0; i < own_queries; ++i)
#pragma unroll
                    for (int j = 0; j < own_points; ++j)
                        values[i][j] = Step::add(values[i][j], qs[i], xs[j], job.exponent);
            };
            int w = 0;
#pragma unroll 1
            for (; w + 4 <= words; w += 4) {
#pragma unroll
                for (int i = 0; i < 4; ++i) take(w + i);
            }
#pragma unroll 1
            for (; w < words; ++w) take(w);
        }

        unsigned passed = there;
#pragma unroll
        for (int j = 0; j < own_points; ++j) {
            const float h =
                job.half_norm[point + own_point(j)];  // there is one for every place of a tile
            if (point + own_point(j) >= end) passed &= ~(0x01010101u << j);
#pragma unroll
            for (int i = 0; i < own_queries; ++i) values[i][j] = value_of(values[i][j], h);
        }
        const auto below_radius = [&](unsigned of) {
            unsigned below = 0;
#pragma unroll
            for (int i = 0; i < own_queries; ++i) {
                const float radius = lists.radius[own + i];
#pragma unroll
                for (int j = 0; j < own_points; ++j)
                    below |= static_cast<unsigned>(!(values[i][j] >= radius))
                             << (i * own_points + j);
            }
            return of & below;
        };
        // To the buffers; returns what found them full.
        const auto push = [&](unsigned of) {
#pragma unroll
            for (int i = 0; i < own_queries; ++i) {
                const unsigned mine = of >> i * own_points & 0xffu;
                if (mine == 0) continue;
                int at = atomicAdd(&lists.fill[own + i], __popc(mine));
#pragma unroll
                for (int j = 0; j < own_points; ++j) {
                    if (!(mine >> j & 1)) continue;
                    if (at < room) {
                        lists.buffer[own + i][at] = pack(
                            values[i][j], static_cast<std::uint32_t>(point + own_point(j)), false);
                        of ^= 1u << (i * own_points + j);
                    }
                    ++at;
                }
            }
            return of;
        };
        const bool last = point + points >= end;
        bool unmerged = last;  // what waits in buffers must not stay there
        passed = below_radius(passed);
#pragma unroll 1
        for (;;) {
            if (passed) {
                passed = push(passed);
                unmerged = last;
            }
            if (!__syncthreads_or(static_cast<int>(passed != 0 || unmerged))) break;
            lists.merge();
            unmerged = false;
            passed = below_radius(passed);
        }
    }

    const int listed = static_cast<int>(job.listed);
    for (int i = threadIdx.x; i < queries * listed; i += threads) {
        const int query = i / listed, j = i % listed;
        if (first_query + query < job.q)
            job.lists[((first_query + query) * job.parts.count + part) * listed + j] =
                lists.best[query][lists.place(j)];
    }
}

template <class Step, int capacity, int room>
void launch(const FusedJob& job) {
    const std::int64_t blocks = (job.q + queries - 1) / queries * job.parts.count;
    allow_shared_memory(hanak_kernel<Step, capacity, room>);
    hanak_kernel<Step, capacity, room>
        <<<static_cast<unsigned>(blocks), threads, sizeof(Shared<capacity, room>), job.stream>>>(
            job);
    check_launch("hanak_fused");
}

}  // namespace

void hanak_fused(const FusedJob& job) {
    distance::with_norm(job.step, [&]<class Step>() {
        if (job.capacity <= 32) launch<Step, 32, 64>(job);
        else if (job.capacity <= 64) launch<Step, 64, 64>(job);
        else launch<Step, 128, 128>(job);
    });
}

}  // namespace kith::gpu
