// Shared memory beyond what every kernel may have.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"

namespace kith::gpu {

// Tests let kernels that can do without it have less than the device gives.
inline std::atomic<std::int64_t> most_shared_bytes = std::numeric_limits<std::int64_t>::max();

// Lets launches of a kernel have all the dynamic shared memory that a block of the current device
// can. The limit belongs to the kernel and not to a launch: it is always the same, as other threads
// may be launching it with another size. Returns how many bytes that are.
template <class Kernel>
std::size_t allow_shared_memory(Kernel* kernel) {
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, kernel), "shared memory of a kernel");
    const int left =
        device_attributes().shared_bytes - static_cast<int>(attributes.sharedSizeBytes);
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, left),
          "shared memory of a kernel");
    return static_cast<std::size_t>(left);
}

}  // namespace kith::gpu
