// Programmatic dependent launch, where the code is for compute capability 9.0.
#pragma once

namespace kith::gpu {

// A kernel that is launched so behind this one may be placed from here on, as multiprocessors
// become free.
__device__ __forceinline__ void let_next_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
// And waits here for the end of the one before it.
__device__ __forceinline__ void wait_for_previous() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace kith::gpu
