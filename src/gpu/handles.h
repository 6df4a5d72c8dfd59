// Events, streams and pinned memory of CUDA, freed with their owner.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <type_traits>

#include "gpu/check.h"

namespace kith::gpu {

struct FreeHandle {
    void operator()(cudaEvent_t event) const noexcept { cudaEventDestroy(event); }
    void operator()(cudaStream_t stream) const noexcept { cudaStreamDestroy(stream); }
    void operator()(char* pinned) const noexcept { cudaFreeHost(pinned); }
};
using Event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, FreeHandle>;
using Stream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, FreeHandle>;
using PinnedBytes = std::unique_ptr<char[], FreeHandle>;

// Of the current device, for order only.
inline Event make_event() {
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
    return Event(event);
}

// Of the current device; the default stream does not wait for it.
inline Stream make_stream() {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    return Stream(stream);
}

inline PinnedBytes make_pinned(std::size_t bytes) {
    void* data = nullptr;
    check(cudaMallocHost(&data, bytes), "pinned memory");
    return PinnedBytes(static_cast<char*>(data));
}

}  // namespace kith::gpu
