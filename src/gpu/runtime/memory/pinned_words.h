// Copies of counters to the host.
#pragma once

#include <cuda_runtime.h>

#include <utility>

#include "gpu/runtime/in_flight.h"

namespace kith::gpu {

// A few words of pinned host memory that receive a kernel's counters. A kernel copies them: around
// a memcpy, kernels wait for another engine, some microseconds each. They come from a pool that
// lives as long as the process: pinning takes longer than a small search.
class PinnedWords {
public:
    static constexpr int words = 192;
    PinnedWords();
    ~PinnedWords();
    PinnedWords(PinnedWords&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), copy_(std::move(other.copy_)) {}
    PinnedWords& operator=(PinnedWords&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(copy_, other.copy_);
        return *this;
    }
    // Enqueues the copy of the first `count` words. Call it once.
    void fetch(const unsigned long long* from, int count, cudaStream_t stream);
    // The words, after the copy and all earlier work on the stream.
    const unsigned long long* wait(const char* what) {
        copy_.wait(what);
        return data_;
    }

private:
    unsigned long long* data_;
    InFlight copy_;  // the words return to the pool only after this work
};

}  // namespace kith::gpu
