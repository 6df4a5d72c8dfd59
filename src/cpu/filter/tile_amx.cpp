// The filter's tiles in the matrix registers of AMX.
#if defined(__x86_64__)
#define KITH_LEVEL 2
#define KITH_AMX
#include "cpu/simd/target-inl.h"
// After the target: every function from here on is compiled for it.
#include "cpu/filter/byte_rows-inl.h"
#include "cpu/filter/register_tiles-inl.h"

namespace kith::cpu::KITH_TARGET {
namespace {

// By assembly: gcc's intrinsics make text of their arguments, which cannot be parameters of a
// template. A constant that is written as %c is a number without a sign before it.
struct MatrixRegisters {
    static void configure(const RegisterShapes& shapes) { _tile_loadconfig(&shapes); }
    static void release() { _tile_release(); }
    template <int r>
    KITH_HD static void zero() {
        __asm__ volatile("tilezero %%tmm%c0" ::"i"(r));
    }
    template <int r>
    KITH_HD static void load(const float* from, std::int64_t stride) {
        __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(stride), "i"(r)
                         : "memory");
    }
    template <int r>
    KITH_HD static void load_streamed(const float* from, std::int64_t stride) {
        __asm__ volatile("tileloaddt1 (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(stride), "i"(r)
                         : "memory");
    }
    template <int r>
    KITH_HD static void store(float* to, std::int64_t stride) {
        __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(stride), "i"(r)
                         : "memory");
    }
    template <int sums, int queries, int points>
    KITH_HD static void multiply_bytes() {
        __asm__ volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(sums), "i"(queries),
                         "i"(points));
    }
    template <int sums, int queries, int points>
    KITH_HD static void multiply_pairs() {
        __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(sums), "i"(queries),
                         "i"(points));
    }
};

constexpr ByteKernels bytes_of_target =
    byte_kernels_with(tiles_in_registers<MatrixRegisters, ByteProducts>(), false);
constexpr Tiles pairs_of_target = tiles_in_registers<MatrixRegisters, PairProducts>();

}  // namespace

const ByteKernels& byte_kernel_table() {
    return bytes_of_target;
}

const Tiles& pair_tiles() {
    return pairs_of_target;
}

}  // namespace kith::cpu::KITH_TARGET
KITH_TARGET_END
#endif
