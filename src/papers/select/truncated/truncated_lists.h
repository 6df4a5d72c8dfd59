// Lists of k entries, one per slice of a row, and their joins, for the truncated sorts of Sismanis
// 2012.
#pragma once

#include "gpu/runtime/memory/device_memory.h"
#include "gpu/select/result.cuh"

namespace kith::gpu {

// Rows split into `per_row` slices of `length` values each (the last one may be shorter).
struct Slices {
    std::int64_t per_row, length;

    // Values [begin, end) of row `row`, which has n of them.
    struct Slice {
        std::int64_t row, begin, end;
    };
    // The slice of this block, in a grid with a block per slice, row by row.
    __device__ __forceinline__ Slice of_block(std::int64_t n) const {
        const std::int64_t begin = blockIdx.x % per_row * length;
        return {blockIdx.x / per_row, begin, min(begin + length, n)};
    }
};

// Splits rows into about `wanted` slices in all, none shorter than 4 k and `shortest` values.
Slices cut_rows(const SelectJob& job, std::int64_t wanted, std::int64_t shortest);

// One sorted list of k entries per slice, padded with packed_end; list (row, slice) begins at get()
// + (row * per_row + slice) * k. Takes 2 n bytes per row, or one list.
inline Buffer<Packed> make_lists(const SelectJob& job, const Slices& slices) {
    return {job.rows * slices.per_row * job.k, job.stream};
}

// Lists per row after the first round of merges, for which `other` of merge_lists needs room.
inline std::int64_t merged_lists(std::int64_t count) {
    return count > 1 ? (count + 1) / 2 : 0;
}

// Merges the `count` sorted lists of each of `rows` rows pairwise, keeping the smaller half of each
// merge, until one is left. Returns `lists` or `other`, with row i's list at i * k. `counts`:
// SelectJob::counts, or null.
Packed* merge_lists(Packed* lists, Packed* other, std::int64_t rows, std::int64_t count,
                    std::int64_t k, unsigned long long* counts, cudaStream_t stream);

// Writes the result from one sorted list per row.
void put_lists(const Packed* lists, const SelectJob& job);

// Merges the lists of each row pairwise, keeping the smaller half of each merge, until one is left,
// and writes the result from it. Takes half the lists' workspace in addition.
void join_lists(const Buffer<Packed>& lists, const Slices& slices, const SelectJob& job);

}  // namespace kith::gpu
