// Copies rows of a matrix to the device; pageable memory goes through pinned blocks that several
// threads fill.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>
#include <limits>

namespace kith {
class ProgressMeter;
}

namespace kith::gpu {

// `count` runs of `bytes`, each `stride` bytes after the previous one: the rows of a matrix, or the
// columns of a column-major one.
struct Runs {
    const char* data;
    std::int64_t count, bytes, stride;
};

// A copy ends early if `stop` is set, or if the callback of `progress` says so, which the calling
// thread polls; either may be null. At most `threads` threads fill blocks.
struct CopyWatch {
    const std::atomic<bool>* stop = nullptr;
    ProgressMeter* progress = nullptr;
    const char* stage = "prepare";
    int threads = std::numeric_limits<int>::max();
};

// Copies the runs, end to end, to memory of the current device, in the order of `stream`; they may
// be on the host or on any device. Pageable memory is read after the earlier work on the stream,
// and has been read on return. Other memory is read by the copy on the stream. Uploads to one
// device are serialised. Throws device or out_of_memory, or cancelled if the watch ends the copy;
// then the contents of `to` are undefined.
void copy_to_device(void* to, const Runs& from, cudaStream_t stream, const CopyWatch& watch);

// Copies bytes [first, first + bytes) of the runs, end to end, on the host.
void gather(const Runs& from, std::int64_t first, std::int64_t bytes, char* to);

}  // namespace kith::gpu
