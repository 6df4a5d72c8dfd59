// The loop of the tiles of queries x points for one instruction set. Lanes are points; a tile keeps
// queries x 2 vectors of accumulators in registers, reads two vectors of the panel per word and
// broadcasts each query's word from memory. AVX-512: 14 x 2 accumulators of 32 registers, 28
// multiply-adds per 16 loads.
#pragma once

#include "cpu/filter/tile.h"
#include "cpu/simd/vector_ops-inl.h"

namespace kith::cpu::KITH_TARGET {
namespace {

using Single = VectorOps<float>;
using F = Single::V;
inline constexpr int vector_points = Single::lanes;
inline constexpr int tile_vectors = 2;

// Words that are one f32 each, a pair's accumulator a vector of them that is initialised to the
// half norms.
struct FloatQueries {
    using Acc = F;
    KITH_HD static F broadcast(const float* q) { return *q - F{}; }
    KITH_HD static F start(F half_norm) { return half_norm; }
    KITH_HD static F finish(F acc, F) { return acc; }
};

// A step whose queries have words before those of their coordinates: one that an accumulator starts
// with, and one that a value is made of it with.
template <class S>
concept WithQueryHeader = S::query_header >
0;
template <class S>
inline constexpr int query_header_of = 0;
template <WithQueryHeader S>
inline constexpr int query_header_of<S> = S::query_header;

// A step, of the exponent where it has one.
template <class S>
KITH_HD S step_of(float exponent) {
    if constexpr (std::is_constructible_v<S, float>) return S(exponent);
    else return S{};
}

// Lanes that are not above the threshold, NaN among them.
KITH_HD std::uint32_t not_above(F value, F threshold) {
#if KITH_LEVEL == 2
    return _mm512_cmp_ps_mask((__m512)value, (__m512)threshold, _CMP_NGT_UQ);
#elif KITH_LEVEL == 1
    return static_cast<std::uint32_t>(
        _mm256_movemask_ps(_mm256_cmp_ps((__m256)value, (__m256)threshold, _CMP_NGT_UQ)));
#elif defined(__x86_64__)
    return static_cast<std::uint32_t>(
        _mm_movemask_ps(_mm_cmpngt_ps((__m128)value, (__m128)threshold)));
#else
    std::uint32_t mask = 0;
    for (int i = 0; i < vector_points; ++i)
        mask |= static_cast<std::uint32_t>(!(value[i] > threshold[i])) << i;
    return mask;
#endif
}

template <class S, int queries>
bool tile(const float* panel, std::int64_t words, const float* q, const float* threshold,
          float exponent, std::uint32_t* hits, float* values) {
    constexpr int width = tile_vectors * vector_points;
    const S s = step_of<S>(exponent);
    std::uint32_t any = 0;
    for (int i = 0; i < queries; ++i) hits[i] = 0;
    for (int part = 0; part < panel_points; part += width) {
        typename S::Acc acc[queries][tile_vectors];
#pragma GCC unroll 16
        for (int i = 0; i < queries; ++i) {
#pragma GCC unroll 4
            for (int v = 0; v < tile_vectors; ++v) {
                if constexpr (WithQueryHeader<S>) acc[i][v] = S::start(q + i);
                else acc[i][v] = S::start(Single::load(panel + part + v * vector_points));
            }
        }
        const float* x = panel + panel_header + part;
        const float* b = q + query_header_of<S> * queries;
        for (std::int64_t j = 0; j < words; ++j, x += panel_points, b += queries) {
            F vx[tile_vectors];
#pragma GCC unroll 4
            for (int v = 0; v < tile_vectors; ++v) vx[v] = Single::load(x + v * vector_points);
#pragma GCC unroll 16
            for (int i = 0; i < queries; ++i) {
                const F vq = S::broadcast(b + i);
#pragma GCC unroll 4
                for (int v = 0; v < tile_vectors; ++v) acc[i][v] = s.step(acc[i][v], vq, vx[v]);
            }
        }
#pragma GCC unroll 16
        for (int i = 0; i < queries; ++i) {
            const F t = threshold[i] - F{};
            F value[tile_vectors];
            std::uint32_t mask = 0;
#pragma GCC unroll 4
            for (int v = 0; v < tile_vectors; ++v) {
                const F half_norm = Single::load(panel + part + v * vector_points);
                if constexpr (WithQueryHeader<S>) {
                    const F of_points =
                        Single::load(panel + panel_points + part + v * vector_points);
                    value[v] = S::finish(acc[i][v], half_norm, of_points, q + queries + i);
                } else {
                    value[v] = S::finish(acc[i][v], half_norm);
                }
                mask |= not_above(value[v], t) << (v * vector_points);
            }
            if (mask) {
#pragma GCC unroll 4
                for (int v = 0; v < tile_vectors; ++v)
                    Single::store(values + i * panel_points + part + v * vector_points, value[v]);
                hits[i] |= mask << part;
                any |= mask;
            }
        }
    }
    return any != 0;
}

template <class S>
constexpr Tiles tiles_of() {
    Tiles t{};
    t.queries = S::queries;
    t.header = query_header_of<S>;
    [&]<std::size_t... queries>(std::index_sequence<queries...>) {
        ((t.tile[queries + 1] = tile<S, static_cast<int>(queries) + 1>), ...);
    }
    (std::make_index_sequence<S::queries>{});
    return t;
}

#if KITH_LEVEL > 0
KITH_HD float sum_of_lanes(F v) {
#if KITH_LEVEL == 2
    // Both halves by the form with zeroing: gcc 12 warns of the undefined operand in the others.
    const __m256 eight = _mm256_add_ps(_mm512_maskz_extractf32x8_ps(0xff, (__m512)v, 0),
                                       _mm512_maskz_extractf32x8_ps(0xff, (__m512)v, 1));
#else
    const auto eight = (__m256)v;
#endif
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
#endif

// The sum of the step over the words of a query and a point, in four chains, which hide the latency
// of the additions.
template <class S>
float product(const float* q, const float* x, std::int64_t words) {
    constexpr int chains = 4;
    constexpr std::int64_t width = chains * vector_points;
    F sum[chains] = {};
    std::int64_t j = 0;
    for (; j + width <= words; j += width) {
#pragma GCC unroll 4
        for (int c = 0; c < chains; ++c)
            sum[c] = S::step(sum[c], Single::load(q + j + c * vector_points),
                             Single::load(x + j + c * vector_points));
    }
    for (; j < words; j += vector_points) {
        const int rest = static_cast<int>(std::min<std::int64_t>(words - j, vector_points));
        sum[0] = rest == vector_points ? S::step(sum[0], Single::load(q + j), Single::load(x + j))
                                       : S::step(sum[0], Single::load_part(q + j, rest),
                                                 Single::load_part(x + j, rest));
    }
    const F all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
#if KITH_LEVEL > 0
    return sum_of_lanes(all);
#else
    float lanes[vector_points], out = 0;
    Single::store(lanes, all);
    for (const float lane : lanes) out += lane;
    return out;
#endif
}

}  // namespace
}  // namespace kith::cpu::KITH_TARGET
