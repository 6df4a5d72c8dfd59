// The filter's tiles for whole numbers of 8 bits: avx512 with AVX512_VNNI.
#if defined(__x86_64__)
#define KITH_LEVEL 2
#define KITH_VNNI
#include "cpu/simd/target-inl.h"
// After the target: every function from here on is compiled for it.
#include "cpu/filter/byte_rows-inl.h"
#include "cpu/filter/tile_loop-inl.h"

namespace kith::cpu::KITH_TARGET {
namespace {

// Four coordinates at a time, exactly: a point's are unsigned, a query's signed. What raising the points' adds is what
// the accumulators start with.
struct ByteStep {
    static constexpr int queries = 14, query_header = 2;
    using Acc = F;  // 16 whole numbers
    KITH_HD static F broadcast(const float* q) {
        int word;
        std::memcpy(&word, q, sizeof word);
        return (F)_mm512_set1_epi32(word);
    }
    KITH_HD static Acc start(const float* q) { return broadcast(q); }
    KITH_HD static Acc step(Acc acc, F q, F x) {
        // Of the intrinsic gcc 12 makes a copy of every accumulator in memory.
        __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(x), "v"(q));
        return acc;
    }
    KITH_HD static F finish(Acc acc, F half_norm, F scale, const float* query_scale) {
        const F product = (F)_mm512_maskz_cvtepi32_ps(0xffff, (__m512i)acc);
        return (F)_mm512_fnmadd_ps((__m512)(*query_scale - F{}), (__m512)(product * scale), (__m512)half_norm);
    }
};

template <std::size_t... queries>
constexpr ByteKernels make_bytes(std::index_sequence<queries...>) {
    ByteKernels k = byte_row_kernels();
    k.queries = ByteStep::queries;
    k.query_header = ByteStep::query_header;
    k.word_multiple = 1;
    ((k.tile[queries + 1] = tile<ByteStep, static_cast<int>(queries) + 1>), ...);
    return k;
}

constexpr ByteKernels bytes_of_target = make_bytes(std::make_index_sequence<ByteStep::queries>{});

}  // namespace

const ByteKernels& byte_kernel_table() {
    return bytes_of_target;
}

}  // namespace kith::cpu::KITH_TARGET
KITH_TARGET_END
#endif
