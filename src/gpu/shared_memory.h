// Shared memory beyond what every kernel may have.
#pragma once

#include "gpu/check.h"

namespace kith::gpu {

// Lets launches of a kernel have all the dynamic shared memory that a block of the current device can. The limit
// belongs to the kernel and not to a launch: it is always the same, as other threads may be launching it with another
// size.
template <class Kernel>
void allow_shared_memory(Kernel* kernel) {
    int device = 0, most = 0;
    cudaFuncAttributes attributes{};
    check(cudaGetDevice(&device), "cudaGetDevice");
    check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "shared memory of a block");
    check(cudaFuncGetAttributes(&attributes, kernel), "shared memory of a kernel");
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               most - static_cast<int>(attributes.sharedSizeBytes)),
          "shared memory of a kernel");
}

}  // namespace kith::gpu
