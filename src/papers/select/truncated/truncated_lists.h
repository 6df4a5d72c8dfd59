// Sismanis' cohort on parts of rows: lists of k entries, one per slice of a row, and how they are
// joined.
#pragma once

#include "gpu/runtime/device_memory.h"
#include "gpu/select/result.cuh"

namespace kith::gpu {

// Rows cut into `per_row` slices of `length` values each (the last one may be shorter).
struct Slices {
    std::int64_t per_row, length;

    // Values [begin, end) of row `row`, which has n of them.
    struct Slice {
        std::int64_t row, begin, end;
    };
    // Of a grid with a block per slice, all of a row in turn.
    __device__ __forceinline__ Slice of_block(std::int64_t n) const {
        const std::int64_t begin = blockIdx.x % per_row * length;
        return {blockIdx.x / per_row, begin, min(begin + length, n)};
    }
};

// As many slices as make `wanted` of them in all, but none shorter than four lists: 4 k and
// `shortest` values.
Slices cut_rows(const SelectJob& job, std::int64_t wanted, std::int64_t shortest);

// One sorted list of k entries per slice, filled up with packed_end; list (row, slice) begins at
// get() + (row * per_row + slice) * k. Takes 2 n bytes per row, or one list.
inline Buffer<Packed> make_lists(const SelectJob& job, const Slices& slices) {
    return {job.rows * slices.per_row * job.k, job.stream};
}

// Lists a row after the first round of merges: what `other` of merge_lists needs room for.
inline std::int64_t merged_lists(std::int64_t count) {
    return count > 1 ? (count + 1) / 2 : 0;
}

// Merges the `count` sorted lists of each of `rows` rows pairwise, keeps the smaller half of each
// merge, until one is left: row i's at i * k of what is returned, `lists` or `other`. `counts` as
// SelectJob::counts, or null.
Packed* merge_lists(Packed* lists, Packed* other, std::int64_t rows, std::int64_t count,
                    std::int64_t k, unsigned long long* counts, cudaStream_t stream);

// One list a row, in order: the result.
void put_lists(const Packed* lists, const SelectJob& job);

// Merges the lists of each row pairwise, keeps the smaller half of each merge, until one is left:
// the result. Takes half as much workspace again.
void join_lists(const Buffer<Packed>& lists, const Slices& slices, const SelectJob& job);

}  // namespace kith::gpu
