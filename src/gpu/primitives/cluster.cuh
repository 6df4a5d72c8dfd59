// Blocks of a cluster that work on one thing: their barrier, and each other's shared memory. A
// cluster of one needs no compute capability 9.0; what the names mean is in the PTX ISA (mapa,
// barrier.cluster).
#pragma once

#include "gpu/primitives/mbarrier.cuh"

namespace kith::gpu {

// The same object in block `rank` of the cluster: `shared` is a generic address of this block's
// shared memory.
template <class T>
__device__ __forceinline__ T* in_block(T* shared, int rank) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    T* there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(shared), "r"(rank));
    return there;
#else
    return shared;
#endif
}

// A barrier of all threads of all `blocks` blocks: what they wrote to shared memory before is seen
// by all behind it.
__device__ __forceinline__ void sync_blocks(int blocks) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if (blocks > 1) {
        cluster_sync();
        return;
    }
#endif
    __syncthreads();
}

// The same in two halves, for what lies between; nothing that was written before need be seen
// behind it.
__device__ __forceinline__ void arrive_at_blocks(int blocks) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if (blocks > 1) asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}
__device__ __forceinline__ void wait_for_blocks(int blocks) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if (blocks > 1) asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
#endif
}

// The block's place in its cluster.
__device__ __forceinline__ int block_rank(int blocks) {
    return static_cast<int>(blockIdx.x) % blocks;
}

}  // namespace kith::gpu
