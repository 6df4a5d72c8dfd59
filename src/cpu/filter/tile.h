// Tiles of queries x points in f32 for one instruction set, and the packed form of points that they
// read.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "cpu/filter/tuning.h"
#include "cpu/simd/isa.h"
#include "exact/ceil_div.h"
#include "exact/direct_form.h"

namespace kith::cpu {

// Points are packed in panels of 32, for every instruction set alike: 32 half norms, 32 slacks,
// then 32 words of 32 bits for each coordinate (f32), pair of coordinates (bf16, the first in the
// low half) or four of them (bytes). The last word is filled with 0.
inline constexpr int panel_points = 32;
inline constexpr int panel_header = static_cast<int>(point_terms) * panel_points;
inline std::int64_t panel_floats(std::int64_t words) {
    return panel_header + panel_points * words;
}

using exact::Step;

// `queries`: their words as Tiles says. Bit p of hits[i] is set unless the value of (query i, point
// p) is above threshold[i]; values + 32 i holds those values (undefined for points that miss). True
// if there is a hit.
using Tile = bool (*)(const float* panel, std::int64_t words, const float* queries,
                      const float* threshold, float exponent, std::uint32_t* hits, float* values);

inline constexpr int max_tile_queries = 32;

// Tiles of one step and one instruction set, by number of queries, and how they take these
// (query_tiles.h). A query has `header` words before those of its coordinates: for each the values
// of all queries of the tile. Of the coordinates' words `run` of a query lie together, beside those
// of the next query: in tiles of vectors one, so that they lie like the header. The number of a
// panel's words is a multiple of that, the last of them 0. A thread may call tiles between enter()
// and leave(), where there are such, and does not enter twice.
struct Tiles {
    int queries;  // of the largest
    Tile tile[max_tile_queries + 1];
    std::int64_t header = 0, run = 1;
    std::int64_t rows =
        1;  // queries that a tile has room for, and that it multiplies, are a multiple of it
    void (*enter)() = nullptr;
    void (*leave)() = nullptr;

    std::int64_t room(std::int64_t count) const { return exact::ceil_div(count, rows) * rows; }
    // Words of a panel for so many words of a point.
    std::int64_t padded(std::int64_t words) const { return exact::ceil_div(words, run) * run; }
    // The fewest queries of which each takes as little time as in the largest tile, or nearly.
    std::int64_t worthwhile() const { return rows > 1 ? rows : queries; }
};

// For a few queries: values[32 i + p] of query i (dense rows of d) and row p < count <= 32, by the
// metric in f32 or as the product <q, x>; with products also squares[p] = |x|^2.
enum class RowSweepForm { dot, l2, cityblock, chebyshev };
using RowSweep = void (*)(const float* rows, std::int64_t stride, std::int64_t count,
                          std::int64_t d, const float* queries, std::int64_t query_count,
                          float* values, float* squares);

struct RowSums {
    double norm2, rounded2, residual2;  // |v|^2, |v^|^2, |v - v^|^2
};

// Of bytes: their sum, the sum of their squares, and whether they are what they were made of.
struct WholeSums {
    std::int32_t sum, squares;
    bool whole;
};

// The sum of so many products, a multiple of product_bytes: exact, below 2^16 of them.
using ByteProduct = std::int32_t (*)(const std::uint8_t* x, const std::int8_t* q,
                                     std::int64_t count);
inline constexpr std::int64_t product_bytes = 64;

struct TileKernels {
    Tiles of_step[exact::step_count];
    RowSweep sweep[4];
    // For 32 values and squares of a sweep: low = -value - error (sqrt(square) + floor), and with
    // `cosine` low = -value / sqrt(square) - error, NaN where the square is not a number of full
    // precision.
    void (*lower)(const float* values, const float* squares, bool cosine, float error, float floor,
                  float* low);
    // v = (in - centre) scale, v^ = its rounding to f32.
    RowSums (*round_row)(const double* in, const double* centre, double scale, std::int64_t d,
                         float* out);
    // v = in, v^ = whole numbers of a byte, to (d + 3) / 4 words; of the sums only |v - v^|^2.
    RowSums (*round_i8)(const double* in, const double* centre, double scale, std::int64_t d,
                        float* out);
    RowSums (*round_u8)(const double* in, const double* centre, double scale, std::int64_t d,
                        float* out);
    // The natural logarithm of each of d numbers >= 0, as portable::log.
    void (*logarithms)(double* row, std::int64_t d);
    // out = L' y for the d x d lower triangle L, row-major with zeros above its diagonal; each of d
    // sums in any order.
    void (*multiply_factor)(const double* y, const double* factor, std::int64_t d, double* out);
    // out = rows * matrix, for `count` rows of d numbers, `stride` apart, and a matrix of d rows,
    // `width` apart, of which the first `columns` numbers are taken, a multiple of 8; rows of `out`
    // are out_stride apart. Sums in order of the coordinates, fused or not.
    void (*project)(const double* rows, std::int64_t stride, std::int64_t count,
                    const double* matrix, std::int64_t d, std::int64_t width, std::int64_t columns,
                    double* out, std::int64_t out_stride);
    // <q, x> of so many coordinates, in any order.
    float (*product)(const float* q, const float* x, std::int64_t d);
    // 32 rows, `stride` words apart, to the words of a panel.
    void (*transpose)(const float* rows, std::int64_t stride, std::int64_t words, float* out);
    // The d numbers in - least as bytes without a sign.
    WholeSums (*take_whole)(const double* in, double least, std::int64_t d, std::uint8_t* out);
    ByteProduct byte_product;
};

const TileKernels& tile_kernels(Isa isa);

// Step::dot on pairs of bf16, which words hold as bits. Products are added in f32, rounding to
// nearest, in the order of the instruction (docs/exactness.md, section 6); denormals are zero.
struct PairKernels {
    Tiles tiles;
    // As TileKernels::round_row, to (d + 1) / 2 pairs.
    RowSums (*round_row)(const double* in, const double* centre, double scale, std::int64_t d,
                         float* out);
    // As TileKernels::product, of so many pairs.
    float (*product)(const float* q, const float* x, std::int64_t words);
};

// Null on a machine without supports_bf16(), and for instruction sets before avx512.
const PairKernels* pair_kernels(Isa isa);

// Step::dot on words of four whole numbers of 8 bits: v^ = scale * numbers, and a value is
// half norm - scale of the query * (scale of the point * <numbers, numbers>). A panel's second row
// of 32 floats are its points' scales. A query's words are preceded by two others, the second of
// them its scale; where the points' numbers are raised by 128, the first is 128 times the sum of
// its numbers, negated, as an integer.
struct ByteKernels {
    Tiles tiles;
    // v = in, v^ = whole numbers times `scale`, to (d + 3) / 4 words; that of whole_scale where it
    // leaves next to nothing of a row, else the least that holds the largest coordinate; 0 of a row
    // of 0.
    RowSums (*round_row)(const double* in, double whole_scale, std::int64_t d, float* out,
                         float& scale);
    // Raises the words of points by 128, or null where they are taken as they are; the sum of a
    // query's numbers.
    void (*raise)(float* words, std::int64_t count);
    std::int64_t (*sum)(const float* words, std::int64_t count);
};

// Rows of whole numbers of 16 bits behind coarse panels, two in a word: v^ = scale * numbers.
struct ShortKernels {
    // v = in, v^ = whole numbers of up to largest_short(d) times `scale`, the least that holds the
    // largest coordinate, to (d + 1) / 2 words; 0 of a row of 0.
    RowSums (*round_row)(const double* in, std::int64_t d, float* out, float& scale);
    // half norm - query_scale * (scale * <q, x>), whose sum is exact.
    float (*value)(const float* q, const float* x, std::int64_t words, float query_scale,
                   float scale, float half_norm);
};

// 32 bits hold what each of 16 lanes adds of the products of two such rows.
inline std::int64_t largest_short(std::int64_t d) {
    const std::int64_t of_a_lane = 2 * exact::ceil_div(d, std::int64_t{32});
    const std::int64_t square = std::numeric_limits<std::int32_t>::max() / of_a_lane;
    return std::min<std::int64_t>(
        std::numeric_limits<std::int16_t>::max(),
        static_cast<std::int64_t>(std::sqrt(static_cast<double>(square))));
}

// Null on a machine without them.
const ByteKernels* byte_kernels(Isa isa);
const ShortKernels* short_kernels(Isa isa);
ByteProduct byte_product(Isa isa);

}  // namespace kith::cpu
