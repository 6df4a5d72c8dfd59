// Work that a stream has been given and that touches memory which may go away: the caller's, or the
// host's.
#pragma once

#include <cuda_runtime.h>

#include <utility>

#include "gpu/runtime/check.h"

namespace kith::gpu {

// Whoever enqueues a read or a write of such memory holds one of these, declared after the memory:
// when it goes, by whatever way, the work is over. What device memory of ours is touched needs
// none, as that is freed in stream order; within a call that has a CallMemory, whose blocks go to
// other streams, that waits.
class InFlight {
public:
    InFlight() = default;
    explicit InFlight(cudaStream_t stream) : stream_(stream), open_(true) {}
    ~InFlight() { settle(); }
    InFlight(InFlight&& other) noexcept
        : stream_(other.stream_), open_(std::exchange(other.open_, false)) {}
    InFlight& operator=(InFlight&& other) noexcept {
        settle();
        stream_ = other.stream_;
        open_ = std::exchange(other.open_, false);
        return *this;
    }

    // The end of all that was enqueued; nothing may be enqueued under this object afterwards.
    // Throws what the work met.
    void wait(const char* what) {
        if (std::exchange(open_, false)) check(cudaStreamSynchronize(stream_), what);
    }
    // The same without a word: a stream that cannot be waited for has lost its device, and nothing
    // runs there.
    void settle() noexcept {
        if (std::exchange(open_, false) && cudaStreamSynchronize(stream_) != cudaSuccess)
            cudaGetLastError();
    }

private:
    cudaStream_t stream_ = nullptr;
    bool open_ = false;
};

}  // namespace kith::gpu
