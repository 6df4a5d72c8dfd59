// Blocks of pinned host memory that kernels write to, for results so small that a copy would take
// longer.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <utility>

#include "gpu/runtime/in_flight.h"

namespace kith::gpu {

// A block from a pool that lives as long as the process: pinning takes longer than a small search.
// Every device can write to it, at the host's address.
class PinnedBlock {
public:
    static constexpr std::int64_t bytes = std::int64_t{64} << 10;

    PinnedBlock() = default;  // no block
    // Work on the stream may write to the block until wait(), or until destruction.
    explicit PinnedBlock(cudaStream_t stream);
    ~PinnedBlock();
    PinnedBlock(PinnedBlock&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), writing_(std::move(other.writing_)) {}
    PinnedBlock& operator=(PinnedBlock&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(writing_, other.writing_);
        return *this;
    }
    void* data() const { return data_; }
    // The block, after all work enqueued on the stream.
    const void* wait(const char* what) {
        writing_.wait(what);
        return data_;
    }

private:
    void* data_ = nullptr;
    InFlight writing_;  // the block returns to the pool only after this work
};

}  // namespace kith::gpu
