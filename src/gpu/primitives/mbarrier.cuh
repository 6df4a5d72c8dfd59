// mbarriers, by shared address, and barriers of a cluster. Names follow the PTX ISA (9.7.13).
//
// An mbarrier has phases. Its init says how many arrivals end one; copies that complete on it
// (async_copy.cuh) are counted besides. Any thread waits for the end of a phase by its parity: 0
// for the first, then 1, 0 and so on. A wait for parity 1 at a new mbarrier returns at once.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace kith::gpu {

__device__ __forceinline__ std::uint32_t shared_address(const void* p) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

__device__ __forceinline__ void mbarrier_init(std::uint32_t barrier, int arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
// Arrives, .release.cta: what this thread has seen of its block's memory comes before what a
// waiting thread does next.
__device__ __forceinline__ void mbarrier_arrive(std::uint32_t barrier) {
    asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.shared.b64 state, [%0];\n}" ::"r"(barrier)
                 : "memory");
}
// Arrives when this thread's cp_async_16 so far are there.
__device__ __forceinline__ void mbarrier_arrive_cp_async(std::uint32_t barrier) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
}
// Waits until the phase of that parity is over, by asking again and again: compute capability 8.0
// has nothing else.
__device__ __forceinline__ void mbarrier_spin(std::uint32_t barrier, int parity) {
    for (int over = 0; !over;)
        asm volatile(
            "{\n.reg .pred p;\nmbarrier.test_wait.parity.shared.b64 p, [%1], %2;\nselp.b32 %0, 1, "
            "0, p;\n}"
            : "=r"(over)
            : "r"(barrier), "r"(parity)
            : "memory");
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

// Waits likewise, with try_wait of compute capability 9.0, which suspends the thread for a while.
__device__ __forceinline__ void mbarrier_wait(std::uint32_t barrier, int parity) {
    asm volatile(
        "{\n.reg .pred over;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1;\n"
        "@over bra done;\n"
        "bra again;\n"
        "done:\n}" ::"r"(barrier),
        "r"(parity)
        : "memory");
}
// Arrives, and has the phase wait for so many bytes of copies.
__device__ __forceinline__ void mbarrier_expect_tx(std::uint32_t barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}
// Arrives at the barrier of the same offset in block `rank` of the cluster: a signal, no release at
// cluster scope, which would wait for all of the block's memory.
__device__ __forceinline__ void mbarrier_arrive_remote(std::uint32_t barrier, int rank) {
    asm volatile(
        "{\n.reg .b32 remote;\n"
        "mapa.shared::cluster.u32 remote, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [remote];\n}" ::"r"(barrier),
        "r"(rank)
        : "memory");
}
// Makes this thread's inits visible to the cluster and to copies, behind the next cluster_sync.
__device__ __forceinline__ void fence_mbarrier_init() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ int cluster_cta_rank() {
    int rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
__device__ __forceinline__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
}

#endif

}  // namespace kith::gpu
