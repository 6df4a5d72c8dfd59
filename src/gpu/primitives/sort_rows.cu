// Sorting the selected entries of each row by (key, id): the few smallest of many rows in the
// registers of a warp, else a bitonic sort in shared memory where a row fits, CUB's segmented radix
// sort twice (ids, then stably keys) where it does not. select/sort_result.cu does the same with
// packed entries of 8 bytes, which one comparison and one sort order; keys of 64 bits do not leave
// room for an id.
#include "gpu/primitives/sort_rows.h"

#include "gpu/primitives/bitonic.cuh"
#include "gpu/primitives/block_threshold.cuh"
#include "gpu/primitives/cub_device.cuh"
#include "gpu/primitives/segmented_sort.h"
#include "gpu/primitives/tuning.h"
#include "gpu/primitives/warp_nearest.cuh"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

constexpr int threads = 256;
using tuning::sort_in_shared;

__device__ bool precedes(std::uint64_t ka, std::uint32_t ia, std::uint64_t kb, std::uint32_t ib) {
    return ka != kb ? ka < kb : ia < ib;
}

// A missing entry, and one whose key is missing, has no final id.
__device__ __forceinline__ void put(const SortedRows& out, std::int64_t cell, std::uint64_t key,
                                    std::uint32_t id) {
    out.keys[cell] = key;
    out.ids[cell] = id;
    if (out.final_ids) out.final_ids[cell] = key == ~std::uint64_t{0} ? -1 : std::int64_t{id};
}

// A block owns a row; entries are padded with the largest (key, id) to a power of two. Where a row
// has many more than k, a threshold for the upper words of its keys leaves little more than k to
// sort.
template <int mine>
__global__ void __launch_bounds__(threads)
    bitonic_rows(const std::uint64_t* keys, const std::uint32_t* ids, const std::int32_t* counts,
                 std::int64_t count_step, std::int64_t stride, SortedRows out) {
    extern __shared__ std::uint64_t shared[];
    __shared__ std::uint32_t sums[threads / 16];
    __shared__ int kept;
    const std::int64_t row = blockIdx.x, k = out.k;
    const int there = counts[row * count_step];
    int count = there;
    std::uint32_t most = ~std::uint32_t{0};
    std::uint64_t own[mine];
    const auto at = [](int i) { return static_cast<int>(threadIdx.x) + i * threads; };
    if (there > 2 * k && there > 128) {
        std::uint32_t words[mine];
#pragma unroll
        for (int i = 0; i < mine; ++i) own[i] = keys[row * stride + min(at(i), there - 1)];
#pragma unroll
        for (int i = 0; i < mine; ++i)
            words[i] = at(i) < there ? static_cast<std::uint32_t>(own[i] >> 32) : ~std::uint32_t{0};
        most = sampling::word_threshold<threads>(words, static_cast<int>(k),
                                                 static_cast<int>(k / 4) + 8, sums, count,
                                                 [](std::uint32_t w) { return w; });
        count = min(count, there);
    }
    int size = 2;
    while (size < count) size *= 2;
    std::uint64_t* const key = shared;
    auto* const id = reinterpret_cast<std::uint32_t*>(shared + size);
    if (count < there) {
        if (threadIdx.x == 0) kept = 0;
        for (int i = threadIdx.x; i < size; i += threads) {
            key[i] = ~std::uint64_t{0};
            id[i] = ~std::uint32_t{0};
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < mine; ++i) {
            if (at(i) >= there || static_cast<std::uint32_t>(own[i] >> 32) > most) continue;
            const int place = atomicAdd(&kept, 1);
            key[place] = own[i];
            id[place] = ids[row * stride + at(i)];
        }
    } else {
        for (int i = threadIdx.x; i < size; i += threads) {
            key[i] = i < count ? keys[row * stride + i] : ~std::uint64_t{0};
            id[i] = i < count ? ids[row * stride + i] : ~std::uint32_t{0};
        }
    }
    bitonic::sort_runs<threads>(size, [&](int i, int j, bool ascending) {
        if (precedes(key[j], id[j], key[i], id[i]) != ascending) return;
        const std::uint64_t larger_key = key[i];
        key[i] = key[j];
        key[j] = larger_key;
        const std::uint32_t larger_id = id[i];
        id[i] = id[j];
        id[j] = larger_id;
    });
    for (std::int64_t i = threadIdx.x; i < k; i += threads) {
        const bool there_is = i < count;
        put(out, row * k + i, there_is ? key[i] : ~std::uint64_t{0},
            there_is ? id[i] : ~std::uint32_t{0});
    }
}

// A warp owns a row, of which it keeps the 32 * held smallest entries.
template <int held>
__global__ void __launch_bounds__(threads)
    nearest_rows(const std::uint64_t* keys, const std::uint32_t* ids, const std::int32_t* counts,
                 std::int64_t count_step, std::int64_t rows, std::int64_t stride, SortedRows out) {
    const std::int64_t row = (blockIdx.x * static_cast<std::int64_t>(threads) + threadIdx.x) / 32;
    if (row >= rows) return;
    const int lane = threadIdx.x % 32, count = counts[row * count_step],
              k = static_cast<int>(out.k);
    WarpNearest<held> best;
    KeyAndId last{no_key, ~std::uint32_t{0}};
    for (int first = 0; first < count; first += 32) {
        const std::int64_t at = row * stride + min(first + lane, count - 1);
        const KeyAndId own{keys[at], ids[at]};
        const unsigned lanes = __ballot_sync(whole_warp, first + lane < count && own < last);
        if (!lanes) continue;
        best.push(own, lanes);
        last = best.last(k);
    }
#pragma unroll
    for (int r = 0; r < held; ++r)
        if (r * 32 + lane < k) put(out, row * k + r * 32 + lane, best[r].key, best[r].id);
}

__global__ void take_first(const std::uint64_t* keys, const std::uint32_t* ids,
                           const std::int32_t* counts, std::int64_t count_step, std::int64_t rows,
                           std::int64_t stride, SortedRows out) {
    const std::int64_t cell = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (cell >= rows * out.k) return;
    const std::int64_t row = cell / out.k, i = cell % out.k;
    const bool there = i < counts[row * count_step];
    put(out, cell, there ? keys[row * stride + i] : ~std::uint64_t{0},
        there ? ids[row * stride + i] : ~std::uint32_t{0});
}

}  // namespace

void sort_rows(const EntryRows& in, const SortedRows& out, cudaStream_t stream) {
    if (tuning::sorts_by_warps(in.rows, in.most, out.k)) {
        auto* const kernel = out.k <= 32 ? nearest_rows<1> : nearest_rows<4>;
        kernel<<<blocks_for(in.rows, threads / 32), threads, 0, stream>>>(
            in.keys, in.ids, in.counts, in.count_step, in.rows, in.stride, out);
        check_launch("nearest_rows");
        return;
    }
    std::int64_t size = 2;
    while (size < in.most) size *= 2;
    if (size <= sort_in_shared) {
        const auto bytes = static_cast<int>(size * 12);
        const auto launch = [&](auto* kernel) {
            check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(sort_in_shared * 12)),
                  "shared memory of bitonic_rows");
            kernel<<<static_cast<unsigned>(in.rows), threads, static_cast<std::size_t>(bytes),
                     stream>>>(in.keys, in.ids, in.counts, in.count_step, in.stride, out);
        };
        if (size <= 4 * threads) launch(bitonic_rows<4>);
        else if (size <= 16 * threads) launch(bitonic_rows<16>);
        else launch(bitonic_rows<32>);
        check_launch("bitonic_rows");
        return;
    }
    const std::int64_t cells = in.rows * in.stride;
    Buffer<std::uint64_t> keys_a(cells, stream), keys_b(cells, stream);
    Buffer<std::uint32_t> ids_a(cells, stream), ids_b(cells, stream);
    const RowSegments segments =
        row_segments(in.counts, in.count_step, in.rows, in.stride, in.most, stream);
    with_temporary("segmented sort", stream, [&](void* temporary, std::size_t& bytes) {
        return cub::DeviceSegmentedRadixSort::SortPairs(
            temporary, bytes, in.ids, ids_a.get(), in.keys, keys_a.get(), cells, in.rows,
            segments.begin.get(), segments.end.get(), 0, 32, stream);
    });
    with_temporary("segmented sort", stream, [&](void* temporary, std::size_t& bytes) {
        return cub::DeviceSegmentedRadixSort::SortPairs(
            temporary, bytes, keys_a.get(), keys_b.get(), ids_a.get(), ids_b.get(), cells, in.rows,
            segments.begin.get(), segments.end.get(), 0, 64, stream);
    });
    take_first<<<item_blocks(in.rows * out.k), item_threads, 0, stream>>>(
        keys_b.get(), ids_b.get(), in.counts, in.count_step, in.rows, in.stride, out);
    check_launch("take_first");
}

}  // namespace kith::gpu
