// Counters on their way to the host.
#pragma once

#include <cuda_runtime.h>

#include <utility>

#include "gpu/runtime/in_flight.h"

namespace kith::gpu {

// A few words of pinned host memory, to which a kernel's counters are copied: by a kernel, as a
// copy makes the kernels before and after it wait for another engine, some 5 us each. They come
// from a pool that lives as long as the process: pinning takes longer than a small search.
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
    // Enqueues the copy of the first `count` words; once.
    void fetch(const unsigned long long* from, int count, cudaStream_t stream);
    // The words, after all that the stream was given before fetch().
    const unsigned long long* wait(const char* what) {
        copy_.wait(what);
        return data_;
    }

private:
    unsigned long long* data_;
    InFlight copy_;  // another search is given the words only when it is over
};

}  // namespace kith::gpu
