// Shared last steps of selectors: sorting packed entries row by row into the result.
#pragma once

#include "gpu/select/result.cuh"

namespace kith::gpu {

// The most entries that one block sorts in shared memory.
inline constexpr std::int64_t sort_packed_block = 16384;

// Writes the out.k smallest of each row's entries to the result, sorted. Row r has counts[r *
// count_step] entries from entries + r * stride (`most` if counts is null), at least k and at most
// `most`. The entries are clobbered. If `most` is beyond sort_packed_block it takes workspace of 8
// bytes for each of rows x stride entries.
void sort_packed(Packed* entries, const std::int32_t* counts, std::int64_t count_step,
                 std::int64_t rows, std::int64_t stride, std::int64_t most, const SelectOut& out,
                 cudaStream_t stream);

}  // namespace kith::gpu
