// Kernel of segmented_sort.h: a thread per row.
#include "gpu/primitives/segmented_sort.h"

#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

__global__ void segments_kernel(const std::int32_t* counts, std::int64_t count_step,
                                std::int64_t rows, std::int64_t stride, std::int64_t length,
                                std::int64_t* begin, std::int64_t* end) {
    const std::int64_t row = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (row >= rows) return;
    begin[row] = row * stride;
    end[row] = row * stride + (counts ? counts[row * count_step] : length);
}

}  // namespace

RowSegments row_segments(const std::int32_t* counts, std::int64_t count_step, std::int64_t rows,
                         std::int64_t stride, std::int64_t length, cudaStream_t stream) {
    RowSegments segments{{rows, stream}, {rows, stream}};
    segments_kernel<<<item_blocks(rows), item_threads, 0, stream>>>(
        counts, count_step, rows, stride, length, segments.begin.get(), segments.end.get());
    check_launch("row_segments");
    return segments;
}

}  // namespace kith::gpu
