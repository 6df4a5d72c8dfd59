// Rows of a matrix to the device, from pageable memory through pinned blocks that several threads
// fill.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>
#include <limits>

namespace kith {
class ProgressMeter;
}

namespace kith::gpu {

// `count` runs of `bytes`, each `stride` bytes after the one before: the rows of a matrix, or the
// columns of one that is column-major.
struct Runs {
    const char* data;
    std::int64_t count, bytes, stride;
};

// Who may end a copy early: one sets `stop`, or the callback of `progress`, which the calling
// thread polls; either may be null. And how many threads may fill blocks.
struct CopyWatch {
    const std::atomic<bool>* stop = nullptr;
    ProgressMeter* progress = nullptr;
    const char* stage = "prepare";
    int threads = std::numeric_limits<int>::max();
};

// The runs, end to end, to memory of the current device, in the order of `stream`; they may lie on
// the host or on any device. Pageable memory has been read on return, and not before the work
// already on the stream was over; other memory is read by the copy on the stream. Uploads to one
// device take turns. Throws device or out_of_memory, or cancelled where the watch says so; what is
// at `to` is undefined then.
void copy_to_device(void* to, const Runs& from, cudaStream_t stream, const CopyWatch& watch);

// Bytes [first, first + bytes) of the runs, end to end, on the host.
void gather(const Runs& from, std::int64_t first, std::int64_t bytes, char* to);

}  // namespace kith::gpu
