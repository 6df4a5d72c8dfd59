// Reading operands of mma.sync from shared memory (compute capability 7.5 and later).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace kith::gpu {

// Four 8 x 8 matrices of 16 bits; the rows of matrix i are at the addresses of lanes 8 i to 8 i
// + 7.
__device__ __forceinline__ void ldmatrix_x4(std::uint32_t* m, std::uint32_t address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                 : "r"(address)
                 : "memory");
}

}  // namespace kith::gpu
