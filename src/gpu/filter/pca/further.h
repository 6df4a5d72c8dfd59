// Residual rescoring stages: the bounds of a PCA projection's candidates are tightened with more
// principal components (docs/proofs/pca.md, lemma 6). A stage has short rows of quantized
// coordinates, int4 for points and int8 for queries, and the norms for the bound. Plain host code
// too: tests/unit attacks the arithmetic without a device.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "exact/bounds/projection_error.h"
#include "metric/portable.h"

namespace kith::gpu {

// Largest number of stages between a pass and the full-dimensional rows.
inline constexpr int most_stages = 2;

// The candidates of each of q queries are divided into shares, one per warp. Few queries get more
// shares each, so that the device is full. Function left_room() returns the counters that all
// shares of up to q queries need.
inline constexpr std::int64_t most_shares = 64, queries_of_most_shares = 64;
inline std::int64_t shares_of(std::int64_t q) {
    return q < queries_of_most_shares ? most_shares : most_shares / 4;
}
inline std::int64_t left_room(std::int64_t q) {
    return most_shares / 4 * q + most_shares * std::min(q, queries_of_most_shares);
}

// Fewer queries leave more than half of the device idle while full-dimensional rows are read best
// first, with one block per query. Reasoned, for 16 such blocks on each of 132 multiprocessors; see
// also search/projected_tuning.h.
inline constexpr std::int64_t filling_queries = 1024;

// The last 16 bytes of a row. The exact coordinates are y = step b + rest, with the row's quantized
// values b and its step.
struct alignas(16) FurtherTerms {
    float before = 0;  // lower bound of the vector's remainder after the columns before `first`
    float after = 0;   // upper bound of the remainder after this stage's columns as well
    float size = 0;    // upper bound of |step b| of a point, of |y| of a query
    float noise = 0;   // upper bound of |rest|
};

// The columns of one stage, and the quantization steps of points and of queries.
struct FurtherColumns {
    // A point's row takes whole runs of bytes. A piece of 16 bytes holds 32 columns, with 8 added
    // to each value. The low halves of the bytes are the first 16 columns, the high halves the
    // other 16.
    static constexpr std::int64_t run = 128, piece = 32, piece_bytes = piece / 2;
    static_assert(piece_bytes == sizeof(FurtherTerms));
    std::int64_t first = 0, count = 0;
    double step = 0, query_step = 0;

    // Bytes of a point's row: the pieces and the terms.
    KITH_HD static constexpr std::int64_t row_bytes(std::int64_t count) {
        return ((count + piece - 1) / piece * piece_bytes + piece_bytes + run - 1) / run * run;
    }
    KITH_HD std::int64_t row_bytes() const { return row_bytes(count); }
    KITH_HD std::int64_t pieces() const { return row_bytes() / piece_bytes - 1; }
    // Bytes of a query's row: one for each value of the pieces, 0 past the last column, and the
    // terms.
    KITH_HD std::int64_t query_bytes() const { return pieces() * piece + piece_bytes; }
};

// y quantized in units of 1 / inverse: int8 for queries, int4 for points.
KITH_HD double further_number(double y, double inverse, bool query) {
    const double least = query ? -128 : -8, most = query ? 127 : 7;
    return std::fmin(std::fmax(std::rint(y * inverse), least), most);
}

// Squared norms of a vector and of its computed coordinates.
struct FurtherSums {
    double norm2 = 0, before2 = 0, own2 = 0, stepped2 = 0, rest2 = 0;
};

// Lower and upper bounds in f32, valid also for x near f32's smallest number or beyond its largest.
KITH_HD float at_most(double x) {
    return x > 1e-30 ? static_cast<float>((x < 3e38 ? x : 3e38) * (1 - 0x1p-22)) : 0.0f;
}
KITH_HD float at_least(double x) {
    return static_cast<float>(x * (1 + 0x1p-22) + 1e-30);
}

KITH_HD FurtherTerms further_terms(const FurtherSums& sums, const exact::ProjectionError& error,
                                   bool query) {
    const double left2 = sums.norm2 - sums.before2, square = error.square * sums.norm2,
                 coordinates = error.coordinates * std::sqrt(sums.norm2);
    FurtherTerms out;
    out.before = at_most(std::sqrt(left2 > square ? left2 - square : 0.0));
    const double after2 = left2 - sums.own2;
    out.after = at_least(std::sqrt((after2 > 0 ? after2 : 0.0) + square));
    out.size = at_least(query ? std::sqrt(sums.own2) + coordinates : std::sqrt(sums.stepped2));
    out.noise = at_least(std::sqrt(sums.rest2) + coordinates);
    return out;
}

// A lower bound of a pair's full-dimensional value. `a` is the lower bound from the columns before,
// which has the product of both remainders subtracted. `sum` is the product of the rows' quantized
// values, `unit` the product of their steps. NaN or -inf if `a` is -inf or a term is infinite.
KITH_HD float further_value(float a, const FurtherTerms& u, const FurtherTerms& v, float unit,
                            int sum) {
    const float taken = u.before * v.before, product = unit * static_cast<float>(sum),
                lost = u.noise * v.size + u.size * v.noise + u.after * v.after,
                sizes = std::fabs(a) + taken + std::fabs(product) + lost;
    // The last two terms cover f32 rounding, of normal and of subnormal numbers.
    return a + taken - product - lost - sizes * 0x1p-20f - 1e-37f;
}
// A lower bound of an int8 pass's sum as `a`, and an upper bound of a threshold of sums.
KITH_HD float value_of_sum(int sum, float unit) {
    const float value = unit * static_cast<float>(sum);
    return value - std::fabs(value) * 0x1p-20f - 1e-37f;
}
KITH_HD float threshold_of_sum(int threshold, float unit) {
    const float value = unit * static_cast<float>(threshold);
    return value + std::fabs(value) * 0x1p-20f + 1e-37f;
}

}  // namespace kith::gpu
