// Shared memory beyond the default limit of a kernel.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"

namespace kith::gpu {

// Tests limit the kernels that can do with less shared memory than the device has.
inline std::atomic<std::int64_t> most_shared_bytes = std::numeric_limits<std::int64_t>::max();

// Permits launches of a kernel with all the dynamic shared memory that a block of the current
// device can have; returns that number of bytes. The limit belongs to the kernel, not to a launch.
// It is always the same, as other threads may be launching the kernel with another size.
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
