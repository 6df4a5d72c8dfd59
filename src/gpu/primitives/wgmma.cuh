// Thin wrappers of the instructions of sm_90a alone that filters and products use: wgmma and
// setmaxnreg. Names follow the PTX ISA (9.7.15).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define KITH_SM_90A 1
#endif

#if defined(KITH_SM_90A)

namespace kith::gpu {

// Of a matrix in shared memory: rows of 128 bytes, swizzled by 128 bytes as TMA leaves it; advance
// by 32 bytes (2) per step of 16 halves.
__device__ __forceinline__ std::uint64_t wgmma_descriptor(std::uint32_t address) {
    return static_cast<std::uint64_t>((address & 0x3ffffu) >> 4) | std::uint64_t{1} << 16 |
           std::uint64_t{64} << 32 | std::uint64_t{1} << 62;
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

// A warpgroup's 64 accumulators d[]: their names in an instruction, and the operands, of constraint
// `how`.
#define KITH_ACCUMULATORS                                                              \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "          \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
#define KITH_D8(how, i)                                                                   \
    how(d[i]), how(d[i + 1]), how(d[i + 2]), how(d[i + 3]), how(d[i + 4]), how(d[i + 5]), \
        how(d[i + 6]), how(d[i + 7])
#define KITH_D64(how)                                                                       \
    KITH_D8(how, 0), KITH_D8(how, 8), KITH_D8(how, 16), KITH_D8(how, 24), KITH_D8(how, 32), \
        KITH_D8(how, 40), KITH_D8(how, 48), KITH_D8(how, 56)

// d (64 x 128 over a warpgroup) -= A (64 x 16) B' (128 x 16).
__device__ __forceinline__ void wgmma_subtract(float (&d)[64], std::uint64_t a, std::uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 " KITH_ACCUMULATORS
                 "%64, %65, 1, -1, 1, 0, 0;"
                 : KITH_D64("+f")
                 : "l"(a), "l"(b));
}

// d = -A B', of numbers in bf16: what d held does not count.
__device__ __forceinline__ void wgmma_start(float (&d)[64], std::uint64_t a, std::uint64_t b) {
    asm volatile(
        "{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " KITH_ACCUMULATORS
        "%64, %65, accumulate, -1, 1, 0, 0;\n}"
        : KITH_D64("=f")
        : "l"(a), "l"(b));
}

// Of a matrix in shared memory, in core matrices of eight rows x 16 bytes: `next_words` bytes from
// one to that of the next 16 bytes of its rows, 128 to that of the next rows.
__device__ __forceinline__ std::uint64_t core_matrices(std::uint32_t address,
                                                       std::uint32_t next_words) {
    return static_cast<std::uint64_t>((address & 0x3ffffu) >> 4) |
           static_cast<std::uint64_t>(next_words >> 4) << 16 | std::uint64_t{128 >> 4} << 32;
}

// d (64 x 128 over a warpgroup) += how many bits rows of A (64 x 256) and of B (128 x 256) have in
// common.
__device__ __forceinline__ void wgmma_count(int (&d)[64], std::uint64_t a, std::uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k256.s32.b1.b1.and.popc " KITH_ACCUMULATORS
                 "%64, %65, 1;"
                 : KITH_D64("+r")
                 : "l"(a), "l"(b));
}

// d = A B' of whole numbers of 8 bits (64 x 32 and 128 x 32): what d held does not count. And d +=
// A B'.
__device__ __forceinline__ void wgmma_start_bytes(int (&d)[64], std::uint64_t a, std::uint64_t b) {
    asm volatile(
        "{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8 " KITH_ACCUMULATORS
        "%64, %65, accumulate;\n}"
        : KITH_D64("=r")
        : "l"(a), "l"(b));
}
__device__ __forceinline__ void wgmma_add_bytes(int (&d)[64], std::uint64_t a, std::uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8 " KITH_ACCUMULATORS
                 "%64, %65, 1;"
                 : KITH_D64("+r")
                 : "l"(a), "l"(b));
}
// d (64 x 96) += A B' of the same (64 x 32 and 96 x 32).
__device__ __forceinline__ void wgmma_add_bytes(int (&d)[48], std::uint64_t a, std::uint64_t b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n96k32.s32.s8.s8 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47}, %48, "
        "%49, 1;"
        : KITH_D8("+r", 0), KITH_D8("+r", 8), KITH_D8("+r", 16), KITH_D8("+r", 24),
          KITH_D8("+r", 32), KITH_D8("+r", 40)
        : "l"(a), "l"(b));
}
#undef KITH_ACCUMULATORS
#undef KITH_D64
#undef KITH_D8

template <int Registers>
__device__ __forceinline__ void setmaxnreg_inc() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers));
}
template <int Registers>
__device__ __forceinline__ void setmaxnreg_dec() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers));
}

}  // namespace kith::gpu

#endif  // KITH_SM_90A
