// Truncated bitonic sort, TBiS (Sismanis 2012, 3.1): lists of `length` entries, the power of two from k on
// (primitives/truncated_bitonic.cuh).
//
// Grid: a block per slice of a row. It takes a chunk of values at a time (2048, or one list where that is longer) to
// shared memory, sorts and halves it down to one list, and takes the minima of that, read backwards, and the slice's
// list. The lists of a row are then merged pairwise (truncated_lists.h).
//
// Ties: entries are packed (key, index), 8 bytes, one comparison of integers.
#include "gpu/primitives/truncated_bitonic.cuh"
#include "gpu/select/truncated/truncated_lists.h"

namespace kith::gpu {

namespace {

using tbis::threads;

constexpr int smallest_chunk = 2048;

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
        tbis::truncate(data, size, length, length, tally);
        tbis::keep_best(best, data, length, length, base > begin, tally);
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
                               static_cast<int>(2 * tbis::longest * sizeof(Packed))),
          "shared memory of truncated_bitonic_kernel");
    truncated_bitonic_kernel<<<static_cast<unsigned>(job.rows * slices.per_row), threads,
                               static_cast<std::size_t>(chunk + length) * sizeof(Packed), job.stream>>>(
        job.f32(), job.stride, job.n, job.k, length, chunk, job.largest, slices, lists.get(), job.counts);
    check_launch("truncated_bitonic_kernel");
    join_lists(lists, slices, job);
}

}  // namespace kith::gpu
