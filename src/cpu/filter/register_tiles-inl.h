// The filter's tiles in matrix registers, for pairs of bf16 and for whole numbers of 8 bits: up to
// 32 queries x the 32 points of a panel, 64 bytes of coordinates at a time. A panel's words lie as
// the registers want them: 16 rows of words x 16 points; of a query 16 words lie together, and
// behind them those of the next query.
//
// `Registers` are the hardware's (tile_amx.cpp) or, in tests, software's: eight of them for each
// thread, of the shapes that configure(RegisterShapes) names, until release(). zero<r>(),
// load<r>(from, stride), load_streamed<r>(likewise, past the first cache) and store<r>(to, stride),
// strides in bytes; multiply_bytes<sums, queries, points>() and multiply_pairs<...>() add the
// products of two registers to a third.
#pragma once

#include "cpu/filter/tile_loop-inl.h"

namespace kith::cpu::KITH_TARGET {
namespace {

// Rows and words of a row of a register.
constexpr int register_rows = 16, register_words = 16;
// Bytes from a row of a register to the next, in memory: of queries, of points and of sums.
constexpr std::int64_t query_stride = 4 * register_words, point_stride = 4 * panel_points;
static_assert(panel_points == 2 * register_words && max_tile_queries == 2 * register_rows);

// Which registers hold the (first, other) queries, the (first, other) points and the sums of each
// with each.
constexpr int queries_register[] = {4, 5}, points_register[] = {6, 7},
              sums_register[2][2] = {{0, 1}, {2, 3}};

// What LDTILECFG reads: the shapes of registers, all alike.
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

// Whole numbers, summed exactly.
struct ByteProducts {
    // Of which the second is used. Of 16 queries they fill cache lines: those of coordinates begin
    // with one.
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
    // What is made of sums.
    KITH_HD static F value(const float* sums, F half_norm, F point_scale, float query_scale) {
        const F product = __builtin_convertvector((Single::M)Single::load(sums), F) * -point_scale;
        return Single::fma(query_scale - F{}, product, half_norm);
    }
};

// Pairs, whose sums start with the half norms.
struct PairProducts {
    static constexpr std::int64_t header = 0;

    // Rows without a stride are the same one 16 times.
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

// The sums of 16 or 32 queries with the 32 points of a panel. The first cache is left to the panel,
// which all queries of a block are compared with: with both in it one takes the other's place.
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
