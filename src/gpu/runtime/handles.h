// CUDA events, streams and pinned memory, freed with their owner.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <type_traits>

#include "gpu/runtime/check.h"

namespace kith::gpu {

struct FreeHandle {
    void operator()(cudaEvent_t event) const noexcept { cudaEventDestroy(event); }
    void operator()(cudaStream_t stream) const noexcept { cudaStreamDestroy(stream); }
    void operator()(char* pinned) const noexcept { cudaFreeHost(pinned); }
};
using Event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, FreeHandle>;
using Stream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, FreeHandle>;
using PinnedBytes = std::unique_ptr<char[], FreeHandle>;

// An event of the current device, without timing unless `flags` permits it.
inline Event make_event(unsigned flags = cudaEventDisableTiming) {
    cudaEvent_t event = nullptr;
    const cudaError_t status = cudaEventCreateWithFlags(&event, flags);
    Event made(event);
    check(status, "cudaEventCreate");
    return made;
}

// A non-blocking stream of the current device: the default stream does not wait for it.
inline Stream make_stream() {
    cudaStream_t stream = nullptr;
    const cudaError_t status = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    Stream made(stream);
    check(status, "cudaStreamCreate");
    return made;
}

inline PinnedBytes make_pinned(std::size_t bytes) {
    void* data = nullptr;
    const cudaError_t status = cudaMallocHost(&data, bytes);
    PinnedBytes made(static_cast<char*>(data));
    check(status, "pinned memory");
    return made;
}

}  // namespace kith::gpu
