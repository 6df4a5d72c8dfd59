// Truncated sorts that split a row into ever smaller segments, whose places in the sorted row are
// known (Sismanis 2012, section 2: quick and radix). What goes into a segment, and how a small one
// is sorted, is all of either.
//
// Grid: a block of 256 threads per row. What the block cannot sort in shared memory is split from
// one of the row's two buffers in global memory, at first from the row itself, to the same places
// of the other; the segments in question wait on a stack.
#pragma once

#include "gpu/primitives/tally.cuh"
#include "gpu/select/row_result.cuh"

namespace kith::gpu {

inline constexpr int segment_threads = 256;

// The two buffers of a row of n values.
struct SegmentBuffers {
    Packed* of_rows;
    std::int64_t row;
    std::uint32_t n;

    __device__ __forceinline__ Packed* operator()(int which) const {
        return of_rows + (row * 2 + which) * n;
    }
};

// values, stride, n, k, largest; the rows' buffers; the result, counts.
using SegmentsKernel = void(const float*, std::int64_t, std::uint32_t, std::uint32_t, bool, Packed*,
                            SelectOut, unsigned long long*);

// `local`: rows that the kernel sorts in shared memory, without buffers.
inline void truncated_segments(const SelectJob& job, SegmentsKernel* kernel, const char* name,
                               std::int64_t local) {
    Buffer<Packed> buffers(job.n <= local ? 0 : job.rows * 2 * job.n, job.stream);
    kernel<<<static_cast<unsigned>(job.rows), segment_threads, 0, job.stream>>>(
        job.f32(), job.stride, static_cast<std::uint32_t>(job.n), static_cast<std::uint32_t>(job.k),
        job.largest, buffers.get(), out_of(job, SelectLayout::by_row), job.counts);
    check_launch(name);
}

}  // namespace kith::gpu
