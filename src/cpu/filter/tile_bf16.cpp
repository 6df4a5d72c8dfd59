// The filter's tiles for pairs of bf16: avx512 with AVX512_BF16.
#if defined(__x86_64__)
#define KITH_LEVEL 2
#define KITH_BF16
#include "cpu/simd/target-inl.h"
// After the target: every function from here on is compiled for it.
#include "cpu/filter/row_sums-inl.h"
#include "cpu/filter/tile_loop-inl.h"

namespace kith::cpu::KITH_TARGET {
namespace {

// h - <q, x>, two coordinates at a time. Words are moved as integers: as floats some would be
// signalling NaNs.
struct PairStep : FloatQueries {
    static constexpr int queries = 14;
    KITH_HD static F broadcast(const float* q) {
        int word;
        std::memcpy(&word, q, sizeof word);
        return (F)_mm512_set1_epi32(word);
    }
    KITH_HD static F step(F acc, F q, F x) {
        return (F)_mm512_dpbf16_ps((__m512)acc, (__m512bh)q, (__m512bh)x);
    }
};

typedef float Singles __attribute__((vector_size(32)));
typedef std::uint32_t Words __attribute__((vector_size(32)));
typedef std::uint16_t Halves __attribute__((vector_size(16)));

RowSums round_pairs(const double* in, const double* centre, double scale, std::int64_t d,
                    float* out) {
    using Real = VectorOps<double>;
    auto* half = reinterpret_cast<std::byte*>(out);
    RowSumLanes sums;
    const auto eight = [&](Real::V from, Real::V less, std::size_t bytes) {
        const Real::V v = (from - less) * scale;
        const auto bits = (Words) __builtin_convertvector(v, Singles);
        // To nearest, ties to even; what the instruction reads as zero becomes zero here and counts
        // as residual.
        const Words nearest = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
        const Words kept = nearest & (Words)((bits & 0x7f800000) != 0);
        const Halves halves = __builtin_convertvector(kept >> 16, Halves);
        std::memcpy(half, &halves, bytes);
        half += bytes;
        sums.add(v, __builtin_convertvector((Singles)kept, Real::V));
    };
    std::int64_t i = 0;
    for (; i + 8 <= d; i += 8) eight(Real::load(in + i), Real::load(centre + i), sizeof(Halves));
    const int rest = static_cast<int>(d - i);
    if (rest > 0)
        eight(Real::load_part(in + i, rest), Real::load_part(centre + i, rest),
              sizeof(std::uint16_t) * rest);
    if (d % 2) std::memset(half, 0, sizeof(std::uint16_t));
    return sums.total();
}

constexpr PairKernels pairs_of_target{tiles_of<PairStep>(), round_pairs, product<PairStep>};

}  // namespace

const PairKernels& pair_kernel_table() {
    return pairs_of_target;
}

}  // namespace kith::cpu::KITH_TARGET
KITH_TARGET_END
#endif
