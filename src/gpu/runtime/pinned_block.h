// Blocks of pinned host memory that kernels write to, for results so small that a copy would take
// longer.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <utility>

#include "gpu/runtime/in_flight.h"

namespace kith::gpu {

// A block from a pool that lives as long as the process: pinning takes longer than a small search.
// Every device can write to it, by the address that the host has.
class PinnedBlock {
public:
    static constexpr std::int64_t bytes = std::int64_t{64} << 10;

    PinnedBlock() = default;  // none
    // What the stream is given may write to it until wait(), or until it goes.
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
    // The block, after all that the stream has been given.
    const void* wait(const char* what) {
        writing_.wait(what);
        return data_;
    }

private:
    void* data_ = nullptr;
    InFlight writing_;  // another search is given the block only when it is over
};

}  // namespace kith::gpu
