// Blocks of a cluster that share a task: their barrier, and access to each other's shared memory. A
// cluster of one needs no compute capability 9.0. Names follow the PTX ISA (mapa, barrier.cluster).
#pragma once

#include "gpu/primitives/hopper/mbarrier.cuh"

namespace kith::gpu {

// The corresponding object in block `rank` of the cluster; `shared` is a generic address of this
// block's shared memory.
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

// A barrier of all threads of `blocks` blocks: their earlier writes to shared memory are visible to
// all after it.
__device__ __forceinline__ void sync_blocks(int blocks) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if (blocks > 1) {
        cluster_sync();
        return;
    }
#endif
    __syncthreads();
}

// The barrier in two halves, for work in between. It is relaxed: earlier writes need not be visible
// after it.
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

// The block's rank in its cluster.
__device__ __forceinline__ int block_rank(int blocks) {
    return static_cast<int>(blockIdx.x) % blocks;
}

}  // namespace kith::gpu
