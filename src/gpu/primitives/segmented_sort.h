// What CUB's segmented sorts take: the rows of an array as segments, temporary storage.
#pragma once

#include "gpu/runtime/check.h"
#include "gpu/runtime/device_memory.h"

namespace kith::gpu {

// Places [begin[r], end[r]) for each row r.
struct RowSegments {
    Buffer<std::int64_t> begin, end;
};

// Rows that lie `stride` apart: counts[r * count_step] places of row r, or `length` where counts is
// null.
RowSegments row_segments(const std::int32_t* counts, std::int64_t count_step, std::int64_t rows,
                         std::int64_t stride, std::int64_t length, cudaStream_t stream);

// Runs an algorithm of CUB: call(temporary, bytes) sets the bytes of temporary storage that it
// wants where that is null. Throws device, with `what`.
template <class Call>
void with_temporary(const char* what, cudaStream_t stream, Call call) {
    std::size_t bytes = 0;
    check(call(static_cast<void*>(nullptr), bytes), what);
    const Buffer<char> temporary(static_cast<std::int64_t>(bytes), stream);
    check(call(static_cast<void*>(temporary.get()), bytes), what);
}

}  // namespace kith::gpu
