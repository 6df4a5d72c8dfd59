// Device memory: buffers that are allocated and freed in stream order from one pool per device.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "gpu/runtime/in_flight.h"

namespace kith::gpu {

// Bytes on the current device, ordered on `stream`; freed blocks stay in the pool for whatever asks next, until it is
// trimmed.
void* allocate(std::size_t bytes, cudaStream_t stream);
void release(void* data, std::size_t bytes, cudaStream_t stream) noexcept;
// What release() does with what no call keeps (call_memory.h).
void return_to_pool(void* data, cudaStream_t stream) noexcept;
// How often the process has allocated.
std::uint64_t allocations_so_far();
// Gives back what the pool of a device holds beyond what is in use and tuning::kept_bytes, so that other libraries can
// have it. Only memory that was freed before `stream` came to where it is; waits for that.
void trim_pool(int device, cudaStream_t stream) noexcept;
// Does so at the end of a scope, or with its owner: declared before whatever frees memory.
struct TrimAtEnd {
    int device;
    cudaStream_t stream;
    std::uint64_t before;
    TrimAtEnd(int on, cudaStream_t after) : device(on), stream(after), before(allocations_so_far()) {}
    ~TrimAtEnd() {
        if (allocations_so_far() != before) trim_pool(device, stream);  // asking the pool is not free
    }
    TrimAtEnd(const TrimAtEnd&) = delete;
    TrimAtEnd& operator=(const TrimAtEnd&) = delete;
};
// Bytes that the pool of a device holds, and those of them that are in use.
struct PoolBytes {
    std::int64_t held = 0, used = 0;
};
PoolBytes pool_bytes(int device);

// An array of T on the device that was current at construction.
template <class T>
class Buffer {
public:
    Buffer() = default;
    Buffer(std::int64_t size, cudaStream_t stream)
        : data_(size > 0 ? static_cast<T*>(allocate(static_cast<std::size_t>(size) * sizeof(T), stream)) : nullptr),
          size_(size),
          stream_(stream) {}
    ~Buffer() { release(data_, static_cast<std::size_t>(size_) * sizeof(T), stream_); }
    Buffer(Buffer&& other) noexcept { swap(other); }
    Buffer& operator=(Buffer&& other) noexcept {
        swap(other);
        return *this;
    }
    T* get() const { return data_; }
    std::int64_t size() const { return size_; }
    void clear_to(int byte) {
        if (data_)
            check(cudaMemsetAsync(data_, byte, static_cast<std::size_t>(size_) * sizeof(T), stream_), "cudaMemset");
    }

private:
    void swap(Buffer& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(stream_, other.stream_);
    }
    T* data_ = nullptr;
    std::int64_t size_ = 0;
    cudaStream_t stream_ = nullptr;
};

// A few words of pinned host memory, to which a kernel's counters are copied. They come from a pool that lives as long
// as the process: pinning takes longer than a small search.
class PinnedWords {
public:
    static constexpr int words = 8;
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
