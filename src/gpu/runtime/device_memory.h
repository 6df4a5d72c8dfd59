// Device memory: buffers that are allocated and freed in stream order from one pool per device.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "gpu/runtime/in_flight.h"

namespace kith::gpu {

// Bytes on the current device, ordered on `stream`; freed blocks stay with the thread's call
// (call_memory.h), where there is one, or in the pool, for whatever asks next, until it is trimmed.
struct DeviceBlock {
    void* data = nullptr;
    std::size_t bytes = 0;  // as asked for
    int device = 0;
};
DeviceBlock allocate(std::size_t bytes, cudaStream_t stream);
void release(const DeviceBlock& block, cudaStream_t stream) noexcept;
// What release() does with what no call keeps (call_memory.h).
void return_to_pool(void* data, cudaStream_t stream) noexcept;
// How often the process has allocated.
std::uint64_t allocations_so_far();
// Gives back what the pool of a device holds beyond what is in use and tuning::kept_bytes, so that
// other libraries can have it. Only memory that was freed before `stream` came to where it is;
// waits for that.
void trim_pool(int device, cudaStream_t stream) noexcept;
// Does so at the end of a scope, or with its owner: declared before whatever frees memory.
struct TrimAtEnd {
    int device;
    cudaStream_t stream;
    std::uint64_t before;
    TrimAtEnd(int on, cudaStream_t after)
        : device(on), stream(after), before(allocations_so_far()) {}
    ~TrimAtEnd() {
        if (allocations_so_far() != before)
            trim_pool(device, stream);  // asking the pool is not free
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
        : block_(size > 0 ? allocate(static_cast<std::size_t>(size) * sizeof(T), stream)
                          : DeviceBlock{}),
          size_(size),
          stream_(stream) {}
    ~Buffer() { release(block_, stream_); }
    Buffer(Buffer&& other) noexcept { swap(other); }
    Buffer& operator=(Buffer&& other) noexcept {
        swap(other);
        return *this;
    }
    T* get() const { return static_cast<T*>(block_.data); }
    std::int64_t size() const { return size_; }
    void clear_to(int byte) {
        if (block_.data)
            check(cudaMemsetAsync(block_.data, byte, block_.bytes, stream_), "cudaMemset");
    }

private:
    void swap(Buffer& other) noexcept {
        std::swap(block_, other.block_);
        std::swap(size_, other.size_);
        std::swap(stream_, other.stream_);
    }
    DeviceBlock block_;
    std::int64_t size_ = 0;
    cudaStream_t stream_ = nullptr;
};

}  // namespace kith::gpu
