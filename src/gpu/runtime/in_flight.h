// Work enqueued on a stream that touches memory which may go away: the caller's, or host memory.
#pragma once

#include <cuda_runtime.h>

#include <utility>

#include "gpu/runtime/check.h"

namespace kith::gpu {

// Whoever enqueues a read or a write of such memory holds an InFlight, declared after the memory:
// on destruction, by any path, the work is over. Device memory of our own needs none, as it is
// freed in stream order. Within a call with a CallMemory, blocks go to other streams, and the
// CallMemory waits.
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

    // Waits for all enqueued work; nothing may be enqueued under this object afterwards. Throws the
    // errors of that work.
    void wait(const char* what) {
        if (std::exchange(open_, false)) check(cudaStreamSynchronize(stream_), what);
    }
    // Waits without throwing: a stream that cannot be waited for has lost its device, and nothing
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
