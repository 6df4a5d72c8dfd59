// Truncated bitonic sort, TBiS (Sismanis 2012, 3.1): lists of `length` entries, the power of two from k on, sorted in
// alternating directions; the minima of two neighbouring lists are a bitonic list, which is merged; the maxima purged.
//
// Grid: a block per slice of a row. It takes a chunk of values at a time (2048, or one list where that is longer) to
// shared memory, sorts and halves it down to one list, and takes the minima of that, read backwards, and the slice's
// list. A thread owns up to four pairs of every step; pairs of steps up to 32 stay within a warp. The lists of a row
// are then merged pairwise (truncated_lists.h).
//
// Ties: entries are packed (key, index), 8 bytes, one comparison of integers.
#include "gpu/primitives/bitonic.cuh"
#include "gpu/primitives/tally.cuh"
#include "gpu/select/truncated/truncated_lists.h"

namespace kith::gpu {

namespace {

constexpr int threads = 512, held = 4;
constexpr int smallest_chunk = 2048;
constexpr int longest = 2 * threads * held;  // of a list, and of a chunk

// Merges the bitonic runs of `run` entries; those of a chunk of several lists lie ascending and descending in turn.
__device__ __forceinline__ void merge(Packed* data, int size, int run, Tally& tally) {
    bitonic::merge_runs<threads>(size, run, [&](int i, int j, bool ascending) {
        const Packed a = data[i], b = data[j];
        tally.compared();
        if ((b < a) != ascending) return;
        data[i] = b;
        data[j] = a;
        tally.moved(2);
    });
    __syncthreads();
}

__global__ void __launch_bounds__(threads)
    truncated_bitonic_kernel(const float* values, std::int64_t stride, std::int64_t n, std::int64_t k, int length,
                             int chunk, bool largest, Slices slices, Packed* lists, unsigned long long* counts) {
    extern __shared__ Packed chunk_and_best[];
    Packed *const data = chunk_and_best, *const best = data + chunk;
    const auto [row, begin, end] = slices.of_block(n);
    const float* const in = values + row * stride;
    Tally tally;
    for (std::int64_t base = begin; base < end; base += chunk) {
        const auto present = static_cast<int>(min(static_cast<std::int64_t>(chunk), end - base));
        int size = length;
        while (size < present) size *= 2;
        for (int i = threadIdx.x; i < size; i += threads)
            data[i] = i < present ? pack(in[base + i], static_cast<std::uint32_t>(base + i), largest) : packed_end;
        __syncthreads();
        for (int run = 2; run <= length; run *= 2) merge(data, size, run, tally);
        while (size > length) {
            size /= 2;
            Packed minima[held];
#pragma unroll
            for (int u = 0; u < held; ++u) {
                const int i = static_cast<int>(threadIdx.x) + u * threads;
                if (i >= size) break;
                const int at = i / length * 2 * length + i % length;
                minima[u] = min(data[at], data[at + length]);
                tally.compared();
                tally.moved();
            }
            __syncthreads();
#pragma unroll
            for (int u = 0; u < held; ++u) {
                const int i = static_cast<int>(threadIdx.x) + u * threads;
                if (i < size) data[i] = minima[u];
            }
            __syncthreads();
            merge(data, size, length, tally);
        }
        for (int i = threadIdx.x; i < length; i += threads) {
            if (base == begin) {
                best[i] = data[i];
            } else {
                best[i] = min(best[i], data[length - 1 - i]);
                tally.compared();
            }
            tally.moved();
        }
        __syncthreads();
        if (base > begin) merge(best, length, length, tally);
    }
    Packed* const to = lists + blockIdx.x * k;
    for (int j = threadIdx.x; j < k; j += threads) to[j] = best[j];
    tally.add_to(counts);
}

}  // namespace

void truncated_bitonic(const SelectJob& job, int) {
    constexpr std::int64_t wanted = 1024, shortest = 2 * smallest_chunk;  // blocks that fill a device; values for each
    int length = 2;
    while (length < job.k) length *= 2;
    const int chunk = length < smallest_chunk ? smallest_chunk : length;
    const Slices slices = cut_rows(job, wanted, shortest);
    const Buffer<Packed> lists = make_lists(job, slices);
    check(cudaFuncSetAttribute(truncated_bitonic_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(2 * longest * sizeof(Packed))),
          "shared memory of truncated_bitonic_kernel");
    truncated_bitonic_kernel<<<static_cast<unsigned>(job.rows * slices.per_row), threads,
                               static_cast<std::size_t>(chunk + length) * sizeof(Packed), job.stream>>>(
        job.f32(), job.stride, job.n, job.k, length, chunk, job.largest, slices, lists.get(), job.counts);
    check_launch("truncated_bitonic_kernel");
    join_lists(lists, slices, job);
}

}  // namespace kith::gpu
