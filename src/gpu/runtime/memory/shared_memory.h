// Shared memory beyond the default limit of a kernel.
#pragma once

#include <array>
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

// The permission of allow_shared_memory() for one kernel, asked for once on each device: the driver
// takes microseconds. `constinit`, one for each kernel.
class SharedMemoryPermit {
public:
    template <class Kernel>
    void require(Kernel* kernel) {
        std::atomic<bool>& given = given_[static_cast<std::size_t>(current_device())];
        if (given.load(std::memory_order_acquire)) return;
        allow_shared_memory(kernel);
        given.store(true, std::memory_order_release);
    }

private:
    std::array<std::atomic<bool>, max_devices> given_{};
};

}  // namespace kith::gpu
