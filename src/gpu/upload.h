// Rows of a matrix to the device, from pageable memory through pinned blocks that several threads fill.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>

namespace kith::gpu {

// `count` runs of `bytes`, each `stride` bytes after the one before: the rows of a matrix, or the columns of one that
// is column-major.
struct Runs {
    const char* data;
    std::int64_t count, bytes, stride;
};

// The runs, end to end, to memory of the current device, in the order of `stream`; they may lie on the host or on any
// device. Pageable memory has been read on return, and not before the work already on the stream was over; other memory
// is read by the copy on the stream. Uploads to one device take turns. Throws device or out_of_memory, or cancelled
// once `stop` (may be null) is set; what is at `to` is undefined then.
void copy_to_device(void* to, const Runs& from, cudaStream_t stream, const std::atomic<bool>* stop);

}  // namespace kith::gpu
