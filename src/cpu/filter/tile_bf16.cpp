// The filter's tiles for pairs of bf16: avx512 with AVX512_BF16.
#if defined(__x86_64__)
#define KITH_LEVEL 2
#define KITH_BF16
#include "cpu/simd/target-inl.h"
// After the target: every function from here on is compiled for it.
#include "cpu/filter/tile_loop-inl.h"

namespace kith::cpu::KITH_TARGET {
namespace {

// h - <q, x>, two coordinates at a time. Words are moved as integers: as floats some would be signalling NaNs.
struct PairStep : FloatQueries {
    static constexpr int queries = 14;
    KITH_HD static F broadcast(const float* q) {
        int word;
        std::memcpy(&word, q, sizeof word);
        return (F)_mm512_set1_epi32(word);
    }
    KITH_HD static F step(F acc, F q, F x) { return (F)_mm512_dpbf16_ps((__m512)acc, (__m512bh)q, (__m512bh)x); }
};

RowSums round_pairs(const double* in, const double* centre, double scale, std::int64_t d, float* out) {
    typedef std::uint16_t Half __attribute__((may_alias));
    auto* half = reinterpret_cast<Half*>(out);
    double norm2 = 0, rounded2 = 0, residual2 = 0;
#pragma omp simd reduction(+ : norm2, rounded2, residual2)
    for (std::int64_t i = 0; i < d; ++i) {
        const double v = (in[i] - centre[i]) * scale;
        const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(v));
        // To nearest, ties to even; what the instruction reads as zero becomes zero here and counts as residual.
        const std::uint32_t nearest = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
        const std::uint32_t kept = (bits & 0x7fffffff) < 0x00800000 ? 0 : nearest;
        half[i] = static_cast<std::uint16_t>(kept >> 16);
        const double r = static_cast<double>(std::bit_cast<float>(kept)), e = v - r;
        norm2 += v * v;
        rounded2 += r * r;
        residual2 += e * e;
    }
    if (d % 2) half[d] = 0;
    return {norm2, rounded2, residual2};
}

template <std::size_t... queries>
constexpr PairKernels make_pairs(std::index_sequence<queries...>) {
    PairKernels k{};
    k.queries = PairStep::queries;
    ((k.tile[queries + 1] = tile<PairStep, static_cast<int>(queries) + 1>), ...);
    k.round_row = round_pairs;
    k.product = product<PairStep>;
    return k;
}

constexpr PairKernels pairs_of_target = make_pairs(std::make_index_sequence<PairStep::queries>{});

}  // namespace

const PairKernels& pair_kernel_table() {
    return pairs_of_target;
}

}  // namespace kith::cpu::KITH_TARGET
KITH_TARGET_END
#endif
