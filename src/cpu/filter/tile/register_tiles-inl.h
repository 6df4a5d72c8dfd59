// The filter's tiles in matrix registers, for pairs of bf16 and for int8: up to 32 queries x the 32
// points of a panel. A step multiplies 64 bytes of coordinates. A panel stores 16 rows of words x
// 16 points, the layout of the registers. Queries are interleaved: 16 words of one, then 16 words
// of the next.
//
// `Registers` are the hardware's (tile_amx.cpp) or a software model (tests). A thread has eight of
// them, with the shapes that configure(RegisterShapes) names, until release(). Operations:
// zero<r>(), load<r>(from, stride), load_streamed<r>(likewise, bypassing L1) and store<r>(to,
// stride), with strides in bytes. multiply_bytes<sums, queries, points>() and multiply_pairs<...>()
// add the products of two registers to a third.
#pragma once

#include "cpu/filter/tile/tile_loop-inl.h"

namespace kith::cpu::KITH_TARGET {
namespace {

// Rows of a register, and words per row.
constexpr int register_rows = 16, register_words = 16;
// Byte strides of register rows in memory: of queries, of points and of sums.
constexpr std::int64_t query_stride = 4 * register_words, point_stride = 4 * panel_points;
static_assert(panel_points == 2 * register_words && max_tile_queries == 2 * register_rows);

// Register numbers of the (first, second) queries, of the (first, second) points, and of the four
// sums of one with the other.
constexpr int queries_register[] = {4, 5}, points_register[] = {6, 7},
              sums_register[2][2] = {{0, 1}, {2, 3}};

// The operand of LDTILECFG: all registers have one shape.
struct alignas(64) RegisterShapes {
    std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr RegisterShapes register_shapes;

template <class Registers>
void enter() {
    Registers::configure(register_shapes);
}

template <class Registers>
void leave() {
    Registers::release();
}

// int8 products, summed exactly.
struct ByteProducts {
    // Only the second header word is used. The headers of 16 queries fill whole cache lines, so
    // that their coordinates begin at one.
    static constexpr std::int64_t header = 2;

    template <class Registers, int queries, int points>
    KITH_HD static void start(const float*) {
        Registers::template zero<sums_register[queries][points]>();
    }
    template <class Registers, int queries, int points>
    KITH_HD static void multiply() {
        Registers::template multiply_bytes<sums_register[queries][points],
                                           queries_register[queries], points_register[points]>();
    }
    // The filter's value of each sum.
    KITH_HD static F value(const float* sums, F half_norm, F point_scale, float query_scale) {
        const F product = __builtin_convertvector((Single::M)Single::load(sums), F) * -point_scale;
        return Single::fma(query_scale - F{}, product, half_norm);
    }
};

// bf16 pairs; their sums start with the half norms.
struct PairProducts {
    static constexpr std::int64_t header = 0;

    // A stride of 0 repeats one row 16 times.
    template <class Registers, int queries, int points>
    KITH_HD static void start(const float* half_norms) {
        Registers::template load<sums_register[queries][points]>(
            half_norms + points * register_words, 0);
    }
    template <class Registers, int queries, int points>
    KITH_HD static void multiply() {
        Registers::template multiply_pairs<sums_register[queries][points],
                                           queries_register[queries], points_register[points]>();
    }
    KITH_HD static F value(const float* sums, F, F, float) { return Single::load(sums); }
};

// The sums of 16 or 32 queries with the 32 points of a panel. Loads of queries bypass L1, which the
// panel needs: every query of a block reads it, and both together do not fit.
template <class Registers, class Products, bool two>
KITH_HD void sum_products(const float* panel, std::int64_t words, const float* q, float* sums) {
    constexpr std::int64_t other_queries = register_rows * register_words,
                           step = (two ? 2 : 1) * other_queries;
    Products::template start<Registers, 0, 0>(panel);
    Products::template start<Registers, 0, 1>(panel);
    if constexpr (two) {
        Products::template start<Registers, 1, 0>(panel);
        Products::template start<Registers, 1, 1>(panel);
    }
    const float* x = panel + panel_header;
    for (std::int64_t j = 0; j < words;
         j += register_words, x += register_words * panel_points, q += step) {
        Registers::template load<points_register[0]>(x, point_stride);
        Registers::template load_streamed<queries_register[0]>(q, query_stride);
        Products::template multiply<Registers, 0, 0>();
        Registers::template load<points_register[1]>(x + register_words, point_stride);
        Products::template multiply<Registers, 0, 1>();
        if constexpr (two) {
            Registers::template load_streamed<queries_register[1]>(q + other_queries, query_stride);
            Products::template multiply<Registers, 1, 0>();
            Products::template multiply<Registers, 1, 1>();
        }
    }
    constexpr std::int64_t other_sums = register_rows * panel_points;
    Registers::template store<sums_register[0][0]>(sums, point_stride);
    Registers::template store<sums_register[0][1]>(sums + register_words, point_stride);
    if constexpr (two) {
        Registers::template store<sums_register[1][0]>(sums + other_sums, point_stride);
        Registers::template store<sums_register[1][1]>(sums + other_sums + register_words,
                                                       point_stride);
    }
}

template <class Registers, class Products, int queries>
bool register_tile(const float* panel, std::int64_t words, const float* q, const float* threshold,
                   float, std::uint32_t* hits, float* values) {
    constexpr bool two = queries > register_rows;
    constexpr int rows = (two ? 2 : 1) * register_rows, vectors = panel_points / vector_points;
    alignas(64) float sums[rows * panel_points];
    sum_products<Registers, Products, two>(panel, words, q + Products::header * rows, sums);
    F half_norm[vectors], scale[vectors];
    for (int v = 0; v < vectors; ++v) {
        half_norm[v] = Single::load(panel + v * vector_points);
        scale[v] = Single::load(panel + panel_points + v * vector_points);
    }
    std::uint32_t any = 0;
    for (int i = 0; i < queries; ++i) {
        const F t = threshold[i] - F{};
        const float query_scale = Products::header > 0 ? q[rows + i] : 0;
        std::uint32_t mask = 0;
        F value[vectors];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) {
            const int at = v * vector_points;
            value[v] =
                Products::value(sums + i * panel_points + at, half_norm[v], scale[v], query_scale);
            mask |= not_above(value[v], t) << at;
        }
        hits[i] = mask;
        any |= mask;
        if (!mask) continue;
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v)
            Single::store(values + i * panel_points + v * vector_points, value[v]);
    }
    return any != 0;
}

template <class Registers, class Products>
constexpr Tiles tiles_in_registers() {
    Tiles t{};
    t.queries = max_tile_queries;
    [&]<std::size_t... queries>(std::index_sequence<queries...>) {
        ((t.tile[queries + 1] = register_tile<Registers, Products, static_cast<int>(queries) + 1>),
         ...);
    }
    (std::make_index_sequence<max_tile_queries>{});
    t.header = Products::header;
    t.run = register_words;
    t.rows = register_rows;
    t.enter = enter<Registers>;
    t.leave = leave<Registers>;
    return t;
}

}  // namespace
}  // namespace kith::cpu::KITH_TARGET
