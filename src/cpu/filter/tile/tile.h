// Tiles of queries x points in f32 for one instruction set, and the packed points that they read.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "cpu/simd/isa.h"
#include "cpu/tuning.h"
#include "exact/ceil_div.h"
#include "exact/direct_form.h"

namespace kith::cpu {

// Points are packed in panels of 32, with one layout for every instruction set: 32 half norms, 32
// slacks, then 32 words for each word of a point. A 32-bit word holds a coordinate (f32), a pair of
// coordinates (bf16, the first in the low half) or four (int8). The last word is zero-padded.
inline constexpr int panel_header = static_cast<int>(point_terms) * panel_points;
inline std::int64_t panel_floats(std::int64_t words) {
    return panel_header + panel_points * words;
}

using exact::Step;

// `queries`: words in the layout that Tiles describes. Bit p of hits[i] is set unless the value of
// (query i, point p) is above threshold[i]. values + 32 i receives these values, undefined for
// points without a hit. Returns true if there is a hit.
using Tile = bool (*)(const float* panel, std::int64_t words, const float* queries,
                      const float* threshold, float exponent, std::uint32_t* hits, float* values);

inline constexpr int max_tile_queries = 32;

// Tiles of one step and one instruction set, by number of queries, with their query layout
// (query_tiles.h). `header`: words of a query before its coordinates; header words are stored word
// by word, each for all queries of the tile. Coordinate words are interleaved: `run` words of one
// query, then `run` words of the next. Vector tiles have run = 1, so their coordinates lie like the
// header. A panel's words are a multiple of `run`, zero-padded. A thread calls tiles between
// enter() and leave(), where they are not null, and does not nest them.
struct Tiles {
    int queries;  // in the largest tile
    Tile tile[max_tile_queries + 1];
    std::int64_t header = 0, run = 1;
    std::int64_t rows = 1;  // A tile stores and multiplies a multiple of this many queries.
    void (*enter)() = nullptr;
    void (*leave)() = nullptr;

    std::int64_t room(std::int64_t count) const { return exact::ceil_div(count, rows) * rows; }
    // Words of a panel for points of `words` words each.
    std::int64_t padded(std::int64_t words) const { return exact::ceil_div(words, run) * run; }
    // The fewest queries at which the time per query is close to that of the largest tile.
    std::int64_t worthwhile() const { return rows > 1 ? rows : queries; }
};

// For few queries: values[32 i + p] of query i (dense rows of d) and row p < count <= 32, by the
// metric in f32 or as the product <q, x>. Products also give squares[p] = |x|^2.
enum class RowSweepForm { dot, l2, cityblock, chebyshev };
using RowSweep = void (*)(const float* rows, std::int64_t stride, std::int64_t count,
                          std::int64_t d, const float* queries, std::int64_t query_count,
                          float* values, float* squares);

struct RowSums {
    double norm2, rounded2, residual2;  // |v|^2, |v^|^2, |v - v^|^2
};

// Sums of the 8-bit integers of a row, and whether they represent it exactly.
struct WholeSums {
    std::int32_t sum, squares;
    bool whole;
};

// The sum of `count` products, a multiple of product_bytes; exact below 2^16 of them.
using ByteProduct = std::int32_t (*)(const std::uint8_t* x, const std::int8_t* q,
                                     std::int64_t count);
inline constexpr std::int64_t product_bytes = 64;

struct TileKernels {
    Tiles of_step[exact::step_count];
    RowSweep sweep[4];
    // For 32 values and squares of a sweep: low = -value - error (sqrt(square) + floor). With
    // `cosine`, low = -value / sqrt(square) - error, or NaN unless 2^-80 < square < inf.
    void (*lower)(const float* values, const float* squares, bool cosine, float error, float floor,
                  float* low);
    // v = (in - centre) scale, v^ = its rounding to f32.
    RowSums (*round_row)(const double* in, const double* centre, double scale, std::int64_t d,
                         float* out);
    // v = in, v^ = 8-bit integers, to (d + 3) / 4 words. Only |v - v^|^2 of the sums is set.
    RowSums (*round_i8)(const double* in, const double* centre, double scale, std::int64_t d,
                        float* out);
    RowSums (*round_u8)(const double* in, const double* centre, double scale, std::int64_t d,
                        float* out);
    // The natural logarithm of each of d numbers >= 0, as portable::log.
    void (*logarithms)(double* row, std::int64_t d);
    // out = L' y for the d x d lower triangle L, row-major with zeros above its diagonal; sums in
    // any order.
    void (*multiply_factor)(const double* y, const double* factor, std::int64_t d, double* out);
    // out = rows * matrix. `rows`: `count` rows of d numbers, `stride` apart. `matrix`: d rows,
    // `width` apart, of which the first `columns` numbers, a multiple of 8, are used. Rows of `out`
    // are out_stride apart. Sums run in the order of the coordinates, fused or not.
    void (*project)(const double* rows, std::int64_t stride, std::int64_t count,
                    const double* matrix, std::int64_t d, std::int64_t width, std::int64_t columns,
                    double* out, std::int64_t out_stride);
    // <q, x> of d coordinates, in any order.
    float (*product)(const float* q, const float* x, std::int64_t d);
    // Transposes 32 rows, `stride` words apart, to the words of a panel.
    void (*transpose)(const float* rows, std::int64_t stride, std::int64_t words, float* out);
    // The d numbers in - least as unsigned bytes.
    WholeSums (*take_whole)(const double* in, double least, std::int64_t d, std::uint8_t* out);
    ByteProduct byte_product;
};

const TileKernels& tile_kernels(Isa isa);

// Step::dot on pairs of bf16, stored as the bits of words. Products are added in f32, rounded to
// nearest, in the order of the instruction (docs/proofs/products.md, lemma 3). Denormals count as
// zero.
struct PairKernels {
    Tiles tiles;
    // See TileKernels::round_row; writes (d + 1) / 2 pairs.
    RowSums (*round_row)(const double* in, const double* centre, double scale, std::int64_t d,
                         float* out);
    // See TileKernels::product; `words` counts pairs.
    float (*product)(const float* q, const float* x, std::int64_t words);
};

// Null on a machine without supports_bf16(), and for instruction sets before avx512.
const PairKernels* pair_kernels(Isa isa);

// Step::dot on words of four int8 numbers: v^ = scale * numbers. A value is half norm - (scale of
// the query) * (scale of the point * <numbers, numbers>). The second row of 32 floats of a panel
// holds its points' scales. Two words precede a query's own. The second is its scale. The first
// applies if points' numbers are raised by 128: -128 times the sum of the query's numbers, as an
// integer.
struct ByteKernels {
    Tiles tiles;
    // v = in, v^ = integers times `scale`, to (d + 3) / 4 words. `scale` is whole_scale if that
    // leaves almost no residual, else the least that holds the largest coordinate; 0 for a zero
    // row.
    RowSums (*round_row)(const double* in, double whole_scale, std::int64_t d, float* out,
                         float& scale);
    // raise: adds 128 to the words of points; null if the instruction takes signed points. sum: the
    // sum of a query's numbers.
    void (*raise)(float* words, std::int64_t count);
    std::int64_t (*sum)(const float* words, std::int64_t count);
};

// Rows of int16 that coarse panels rescore from, two numbers to a word: v^ = scale * numbers.
struct ShortKernels {
    // v = in, v^ = integers of magnitude at most largest_short(d) times `scale`, to (d + 1) / 2
    // words. `scale` is the least that holds the largest coordinate; 0 for a zero row.
    RowSums (*round_row)(const double* in, std::int64_t d, float* out, float& scale);
    // half norm - query_scale * (scale * <q, x>); the sum is exact.
    float (*value)(const float* q, const float* x, std::int64_t words, float query_scale,
                   float scale, float half_norm);
};

// The largest int16 magnitude for which 32 bits hold what each of 16 lanes sums over two rows.
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
