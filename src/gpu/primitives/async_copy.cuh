// Asynchronous copies from global to shared memory, by shared address. Names follow the PTX ISA
// (9.7.9.25).
//
//   cp_async_16                     compute capability 8.0: each thread copies its share;
//   mbarrier_arrive_cp_async or
//                                   cp_async_wait_all tell when it is there
//   tma_load, bulk_copy             9.0: one thread copies a box or a run of bytes; completes on an
//   mbarrier that expects
//                                   the bytes (mbarrier_expect_tx)
#pragma once

#include <cuda.h>

#include "gpu/primitives/mbarrier.cuh"

namespace kith::gpu {

// 16 bytes: so many from there, then zeros.
__device__ __forceinline__ void cp_async_16(std::uint32_t to, const void* from, int bytes) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                 "r"(bytes)
                 : "memory");
}
// Ends a group of this thread's copies; waits for all but the last so many groups.
__device__ __forceinline__ void cp_async_commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int left>
__device__ __forceinline__ void cp_async_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory");
}
// Waits for this thread's cp_async_16.
__device__ __forceinline__ void cp_async_wait_all() {
    asm volatile("cp.async.wait_all;" ::: "memory");
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

// The box of `map` at (column, row) to `to`.
__device__ __forceinline__ void tma_load(std::uint32_t to, const CUtensorMap* map,
                                         std::uint32_t barrier, int column, int row) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
        "[%1, {%3, %4}], "
        "[%2];" ::"r"(to),
        "l"(map), "r"(barrier), "r"(column), "r"(row)
        : "memory");
}
// The same to the same place in each of the cluster's blocks that has a bit in `blocks`.
__device__ __forceinline__ void tma_load_multicast(std::uint32_t to, const CUtensorMap* map,
                                                   std::uint32_t barrier, int column, int row,
                                                   std::uint16_t blocks) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes."
        "multicast::cluster [%0], "
        "[%1, "
        "{%3, %4}], [%2], %5;" ::"r"(to),
        "l"(map), "r"(barrier), "r"(column), "r"(row), "h"(blocks)
        : "memory");
}
__device__ __forceinline__ void bulk_copy(std::uint32_t to, const void* from, int bytes,
                                          std::uint32_t barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(to),
        "l"(from), "r"(bytes), "r"(barrier)
        : "memory");
}
// Orders this thread's accesses to shared memory so far before later ones of the async proxy, which
// copies, once these are ordered after this thread.
__device__ __forceinline__ void fence_proxy_async() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

#endif

}  // namespace kith::gpu
