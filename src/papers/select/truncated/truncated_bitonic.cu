// Truncated bitonic sort, TBiS (Sismanis 2012, 3.1): lists of `length` entries, the power of two
// from k on (primitives/truncated_bitonic.cuh).
//
// Grid: a block per slice of a row. It takes a chunk of values at a time (2048, or one list where
// that is longer) to shared memory, sorts and halves it down to one list, and takes the minima of
// that, read backwards, and the slice's list. The lists of a row are then joined pairwise:
// "truncated-bitonic" merges them by merge path (truncated_lists.h), "truncated-bitonic-steps"
// takes minima and merges these by the network, as the paper does everywhere.
//
// Grid of such a round: a block per pair of lists.
//
// Ties: entries are packed (key, index), 8 bytes, one comparison of integers.
#include "gpu/primitives/truncated_bitonic.cuh"
#include "papers/select/truncated/truncated_lists.h"

#include <utility>

namespace kith::gpu {

namespace {

using tbis::threads;

constexpr int smallest_chunk = 2048;

__global__ void __launch_bounds__(threads)
    truncated_bitonic_kernel(const float* values, std::int64_t stride, std::int64_t n,
                             std::int64_t k, int length, int chunk, bool largest, Slices slices,
                             Packed* lists, unsigned long long* counts) {
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
            data[i] = i < present
                          ? pack(in[base + i], static_cast<std::uint32_t>(base + i), largest)
                          : packed_end;
        __syncthreads();
        tbis::truncate(data, size, length, length, tally);
        tbis::keep_best(best, data, length, length, base > begin, tally);
    }
    Packed* const to = lists + blockIdx.x * k;
    for (int j = threadIdx.x; j < k; j += threads) to[j] = best[j];
    tally.add_to(counts);
}

// `from`: rows x count lists of k, `to`: rows x (count + 1) / 2. A list without a partner stays as
// it is.
__global__ void __launch_bounds__(threads)
    join_pairs_kernel(const Packed* from, std::int64_t count, Packed* to, std::int64_t k,
                      int length, unsigned long long* counts) {
    extern __shared__ Packed two_lists[];
    Packed *const best = two_lists, *const other = two_lists + length;
    const std::int64_t pairs = (count + 1) / 2, row = blockIdx.x / pairs, pair = blockIdx.x % pairs;
    const bool partner = 2 * pair + 1 < count;
    const Packed* const a = from + (row * count + 2 * pair) * k;
    Tally tally;
    for (int i = threadIdx.x; i < length; i += threads) {
        best[i] = i < k ? a[i] : packed_end;
        other[i] = partner && i < k ? a[k + i] : packed_end;
    }
    __syncthreads();
    if (partner) tbis::keep_best(best, other, length, length, true, tally);
    for (int j = threadIdx.x; j < k; j += threads) to[(row * pairs + pair) * k + j] = best[j];
    tally.add_to(counts);
}

void join_by_steps(const Buffer<Packed>& lists, const Slices& slices, int length,
                   const SelectJob& job) {
    const Buffer<Packed> spare(job.rows * merged_lists(slices.per_row) * job.k, job.stream);
    Packed *from = lists.get(), *to = spare.get();
    for (std::int64_t count = slices.per_row; count > 1; count = (count + 1) / 2) {
        join_pairs_kernel<<<static_cast<unsigned>(job.rows * ((count + 1) / 2)), threads,
                            2 * static_cast<std::size_t>(length) * sizeof(Packed), job.stream>>>(
            from, count, to, job.k, length, job.counts);
        check_launch("join_pairs_kernel");
        std::swap(from, to);
    }
    put_lists(from, job);
}

void allow_shared(const void* kernel) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(2 * tbis::longest * sizeof(Packed))),
          "shared memory of truncated-bitonic");
}

}  // namespace

// variant: 1 joins slices by the network.
void truncated_bitonic(const SelectJob& job, int variant) {
    constexpr std::int64_t wanted = 1024,
                           shortest =
                               2 * smallest_chunk;  // blocks that fill a device; values for each
    int length = 2;
    while (length < job.k) length *= 2;
    const int chunk = length < smallest_chunk ? smallest_chunk : length;
    const Slices slices = cut_rows(job, wanted, shortest);
    const Buffer<Packed> lists = make_lists(job, slices);
    allow_shared(reinterpret_cast<const void*>(truncated_bitonic_kernel));
    truncated_bitonic_kernel<<<static_cast<unsigned>(job.rows * slices.per_row), threads,
                               static_cast<std::size_t>(chunk + length) * sizeof(Packed),
                               job.stream>>>(job.f32(), job.stride, job.n, job.k, length, chunk,
                                             job.largest, slices, lists.get(), job.counts);
    check_launch("truncated_bitonic_kernel");
    if (variant != 1) return join_lists(lists, slices, job);
    allow_shared(reinterpret_cast<const void*>(join_pairs_kernel));
    join_by_steps(lists, slices, length, job);
}

}  // namespace kith::gpu
