// Shared last steps of selectors: sorting packed entries row by row into the result.
#pragma once

#include "gpu/select/result.cuh"

namespace kith::gpu {

// Entries that one block sorts in shared memory, at most.
inline constexpr std::int64_t sort_packed_block = 16384;

// The out.k smallest of each row's entries into the result, sorted. Row r has counts[r *
// count_step] entries (`most` everywhere where counts is null) from entries + r * stride, at least
// k and at most `most` of them. The entries are clobbered. Beyond sort_packed_block entries it
// takes workspace of 8 bytes for each of rows x stride entries.
void sort_packed(Packed* entries, const std::int32_t* counts, std::int64_t count_step,
                 std::int64_t rows, std::int64_t stride, std::int64_t most, const SelectOut& out,
                 cudaStream_t stream);

}  // namespace kith::gpu
