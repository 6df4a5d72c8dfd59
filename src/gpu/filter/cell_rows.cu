// Which queries are compared with a cell, and their rows (cells.h).
#include "gpu/filter/cells.h"
#include "gpu/filter/reach.cuh"
#include "gpu/primitives/block.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

__device__ __forceinline__ std::int64_t own_item() {
    return blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
}

constexpr int cell_threads = 256;

// Whether the query at place i of the order is compared with a cell now.
struct Chosen {
    CellView view;
    CellQueries queries;
    CellChoice choice;

    __device__ bool operator()(std::int64_t cell, double cell_room, std::int64_t i) const {
        const float apart = queries.apart[cell * queries.q + i];
        if ((apart < queries.near[i]) != choice.near) return false;
        const std::uint32_t number = queries.order[i];
        if (choice.overflowed[number]) return false;
        const double room =
            reach_of(view.gamma, queries.rows.room[number], choice.threshold[number]).room +
            cell_room;
        if (room < 0) return false;
        return !(static_cast<double>(apart) > root_above(fmax(room, 0.0)));
    }
    // Whether any query may be.
    __device__ bool has(std::int64_t cell) const {
        return choice.near || cell % choice.parts == choice.part;
    }
};

constexpr int chosen_queries = 1024;

// A block owns some queries of a cell, a warp 32 of them at a time.
__global__ void __launch_bounds__(cell_threads) choose_kernel(Chosen chosen, ChosenQueries out) {
    const std::int64_t cell = blockIdx.x, words = chosen.queries.words();
    const bool has = chosen.has(cell);
    const double room = chosen.view.bounds[cell].room;
    std::uint32_t count = 0;
    for (int at = 0; at < chosen_queries; at += cell_threads) {
        const std::int64_t i =
            blockIdx.y * static_cast<std::int64_t>(chosen_queries) + at + threadIdx.x;
        const std::uint32_t mask =
            __ballot_sync(whole_warp, has && i < chosen.queries.q && chosen(cell, room, i));
        if (threadIdx.x % 32 == 0 && i / 32 < words) out.masks[cell * words + i / 32] = mask;
        count += static_cast<std::uint32_t>(__popc(mask));
    }
    if (threadIdx.x % 32 == 0 && count > 0) atomicAdd(&out.counts[cell], count);
}

constexpr int scan_threads = 1024;

// One block: counts, rounded up to whole groups, become begins, in place and in host memory.
__global__ void __launch_bounds__(scan_threads)
    begin_kernel(std::uint32_t* counts, int count, std::uint32_t* host_begin) {
    __shared__ std::uint32_t sums[scan_threads / 32];
    constexpr auto group = static_cast<std::uint32_t>(listed_queries);
    std::uint32_t before = 0;
    for (int first = 0; first < count; first += scan_threads) {
        const int at = first + static_cast<int>(threadIdx.x);
        const std::uint32_t own = at < count ? (counts[at] + group - 1) / group * group : 0;
        std::uint32_t total = 0;
        const std::uint32_t begin = before + block_prefix<scan_threads>(own, sums, total);
        if (at < count) counts[at] = begin;
        if (at < count && host_begin) host_begin[at] = begin;
        before += total;
        __syncthreads();
    }
    if (threadIdx.x > 0) return;
    counts[count] = before;
    if (host_begin) host_begin[count] = before;
}

// A block owns a cell, a thread 32 queries at a time.
__global__ void __launch_bounds__(cell_threads)
    fill_kernel(CellView view, CellQueries queries, const std::uint32_t* masks,
                const std::uint32_t* begin, CellRows out) {
    __shared__ std::uint32_t sums[cell_threads / 32];
    const std::int64_t cell = out.first + blockIdx.x, words = queries.words();
    const std::uint32_t first = begin[cell] - begin[out.first],
                        end = begin[cell + 1] - begin[out.first];
    if (cell + 1 == out.last)
        for (std::int64_t i = end + threadIdx.x; i < out.rows; i += cell_threads)
            out.query[i] = no_query;
    if (first == end) return;
    std::uint32_t place = first;
    for (std::int64_t at = 0; at < words; at += cell_threads) {
        const std::int64_t word = at + threadIdx.x;
        std::uint32_t mask = word < words ? masks[cell * words + word] : 0, total = 0;
        std::uint32_t own = place + block_prefix<cell_threads>(
                                        static_cast<std::uint32_t>(__popc(mask)), sums, total);
        for (; mask; mask &= mask - 1)
            out.query[own++] = queries.order[word * 32 + __ffs(static_cast<int>(mask)) - 1];
        place += total;
        __syncthreads();
    }
    for (std::uint32_t i = place + threadIdx.x; i < end; i += cell_threads) out.query[i] = no_query;
    const auto most = static_cast<std::uint32_t>(view.size / filter_tile_points),
               tiles = static_cast<std::uint32_t>(
                   (min(view.size, view.n - view.first - cell * view.size) + filter_tile_points -
                    1) /
                   filter_tile_points);
    constexpr auto group = static_cast<std::uint32_t>(listed_queries);
    for (std::uint32_t i = threadIdx.x; i < (end - first) / group * tiles; i += cell_threads)
        out.tiles[(first / group + i / tiles) * most + i % tiles] =
            static_cast<std::uint32_t>(cell) * most + i % tiles;
    for (std::uint32_t i = threadIdx.x; i < (end - first) / group; i += cell_threads)
        out.tile_counts[first / group + i] = tiles;
}

// A thread owns 16 bytes.
__global__ void gather_kernel(const uint4* rows, const std::uint32_t* query, std::int64_t count,
                              std::int64_t pieces, uint4* out) {
    const std::int64_t at = own_item();
    if (at >= count * pieces) return;
    const std::uint32_t own = query[at / pieces];
    out[at] = own != no_query ? rows[own * pieces + at % pieces] : uint4{};
}

// The same of 4 bytes.
__global__ void gather_words_kernel(const std::uint32_t* rows, const std::uint32_t* query,
                                    std::int64_t count, std::uint32_t other, std::uint32_t* out) {
    const std::int64_t at = own_item();
    if (at < count) out[at] = query[at] != no_query ? rows[query[at]] : other;
}

}  // namespace

void choose_cells(const CellView& view, const CellQueries& queries, const CellChoice& choice,
                  const ChosenQueries& out, cudaStream_t stream) {
    check(cudaMemsetAsync(out.counts, 0,
                          static_cast<std::size_t>(view.count) * sizeof(std::uint32_t), stream),
          "cudaMemset");
    const dim3 grid(static_cast<unsigned>(view.count), blocks_for(queries.q, chosen_queries));
    choose_kernel<<<grid, cell_threads, 0, stream>>>({view, queries, choice}, out);
    check_launch("choose_cells");
}

void begin_cell_rows(const CellView& view, std::uint32_t* counts, std::uint32_t* host_begin,
                     cudaStream_t stream) {
    begin_kernel<<<1, scan_threads, 0, stream>>>(counts, static_cast<int>(view.count), host_begin);
    check_launch("begin_cell_rows");
}

void fill_cell_rows(const CellView& view, const CellQueries& queries, const std::uint32_t* masks,
                    const std::uint32_t* begin, const CellRows& out, cudaStream_t stream) {
    check(cudaMemsetAsync(
              out.tile_counts, 0,
              static_cast<std::size_t>(out.rows / listed_queries) * sizeof(std::uint32_t), stream),
          "cudaMemset");
    fill_kernel<<<static_cast<unsigned>(out.last - out.first), cell_threads, 0, stream>>>(
        view, queries, masks, begin, out);
    check_launch("fill_cell_rows");
}

void gather_query_rows(const void* rows, const std::uint32_t* query, std::int64_t count,
                       std::int64_t bytes, void* out, cudaStream_t stream) {
    const std::int64_t pieces = bytes / 16;
    gather_kernel<<<item_blocks(count * pieces), item_threads, 0, stream>>>(
        static_cast<const uint4*>(rows), query, count, pieces, static_cast<uint4*>(out));
    check_launch("gather_query_rows");
}

void gather_query_words(const void* rows, const std::uint32_t* query, std::int64_t count,
                        std::uint32_t other, void* out, cudaStream_t stream) {
    gather_words_kernel<<<item_blocks(count), item_threads, 0, stream>>>(
        static_cast<const std::uint32_t*>(rows), query, count, other,
        static_cast<std::uint32_t*>(out));
    check_launch("gather_query_words");
}

}  // namespace kith::gpu
