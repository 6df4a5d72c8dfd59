// Thin wrappers of the sm_90a instructions that the fused filter uses: mbarriers, TMA (bulk tensor copies), wgmma,
// clusters. Names follow the PTX ISA.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace kith::gpu::hopper {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define KITH_SM_90A 1
#endif

#if defined(KITH_SM_90A)

__device__ __forceinline__ std::uint32_t shared_address(const void* p) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

// ---- mbarriers, by shared address

__device__ __forceinline__ void mbarrier_init(std::uint32_t barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals));
}
__device__ __forceinline__ void mbarrier_expect_tx(std::uint32_t barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
// Arrives, .release.cta: what this thread has seen of its block's memory comes before what a waiting thread does next.
__device__ __forceinline__ void mbarrier_arrive(std::uint32_t barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// Arrives at the barrier of the same offset in block `rank` of the cluster: a signal, no release at cluster scope,
// which would wait for all of the block's memory.
__device__ __forceinline__ void mbarrier_arrive_remote(std::uint32_t barrier, int rank) {
    asm volatile(
        "{\n.reg .b32 remote;\n"
        "mapa.shared::cluster.u32 remote, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [remote];\n}" ::"r"(barrier),
        "r"(rank)
        : "memory");
}
// Waits until the phase of that parity is over.
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

// ---- clusters

__device__ __forceinline__ int cluster_cta_rank() {
    int rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
__device__ __forceinline__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// ---- asynchronous copies to shared memory that complete on an mbarrier

// Orders this thread's accesses to shared memory so far before later ones of the async proxy, which copies, once these
// are ordered after this thread.
__device__ __forceinline__ void fence_proxy_async() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// The box of `map` at (column, row) to `to`; with several bits in `blocks` to the same place in each of these blocks.
__device__ __forceinline__ void tma_load(std::uint32_t to, const CUtensorMap* map, std::uint32_t barrier, int column,
                                         int row) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], "
        "[%2];" ::"r"(to),
        "l"(map), "r"(barrier), "r"(column), "r"(row)
        : "memory");
}
__device__ __forceinline__ void tma_load_multicast(std::uint32_t to, const CUtensorMap* map, std::uint32_t barrier,
                                                   int column, int row, std::uint16_t blocks) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
        "[%1, "
        "{%3, %4}], [%2], %5;" ::"r"(to),
        "l"(map), "r"(barrier), "r"(column), "r"(row), "h"(blocks)
        : "memory");
}
__device__ __forceinline__ void bulk_copy(std::uint32_t to, const void* from, int bytes, std::uint32_t barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
}

// ---- wgmma

// A matrix of rows of 128 bytes, swizzled by 128 bytes as TMA leaves it; advance by 32 bytes (2) per
// step of 16 halves.
__device__ __forceinline__ std::uint64_t descriptor(std::uint32_t address) {
    return static_cast<std::uint64_t>((address & 0x3ffffu) >> 4) | std::uint64_t{1} << 16 | std::uint64_t{64} << 32 |
           std::uint64_t{1} << 62;
}
__device__ __forceinline__ void wgmma_fence() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wgmma_commit() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int N>
__device__ __forceinline__ void wgmma_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

#define KITH_D8(i)                                                                                              \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), \
        "+f"(d[i + 7])

// d (64 x 128 over a warpgroup) -= A (64 x 16) B' (128 x 16).
__device__ __forceinline__ void wgmma_subtract(float (&d)[64], std::uint64_t a, std::uint64_t b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
        "%64, %65, 1, -1, 1, 0, 0;"
        : KITH_D8(0), KITH_D8(8), KITH_D8(16), KITH_D8(24), KITH_D8(32), KITH_D8(40), KITH_D8(48), KITH_D8(56)
        : "l"(a), "l"(b));
}
#undef KITH_D8

template <int Registers>
__device__ __forceinline__ void setmaxnreg_inc() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}
template <int Registers>
__device__ __forceinline__ void setmaxnreg_dec() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}

#endif  // KITH_SM_90A

}  // namespace kith::gpu::hopper
