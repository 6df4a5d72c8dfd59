// Candidates of a pass along few directions are looked at along further ones (docs/exactness.md,
// section 11): short rows, which are coordinates as whole numbers, of points in 4 bits, of queries
// in 8, and the norms that the bound is made of. Plain host code too: tests/unit attacks the
// arithmetic without a device.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "exact/projection_error.h"
#include "metric/portable.h"

namespace kith::gpu {

// Stages between a pass and the rows of all coordinates, at most.
inline constexpr int most_stages = 2;

// Shares of the candidates of each of q queries, of which a warp looks at one: of few queries more,
// so that the device is full. What is left of each has room in so many places, for any number of up
// to q queries.
inline constexpr std::int64_t most_shares = 64, queries_of_most_shares = 64;
inline std::int64_t shares_of(std::int64_t q) {
    return q < queries_of_most_shares ? most_shares : most_shares / 4;
}
inline std::int64_t left_room(std::int64_t q) {
    return most_shares / 4 * q + most_shares * std::min(q, queries_of_most_shares);
}

// A block for each of fewer queries leaves more than half of the device idle while rows of all
// coordinates are read in order, as an NVIDIA H100 holds 2,112 such blocks. Reasoned; 512 queries
// are timed in search/projected_tuning.h.
inline constexpr std::int64_t filling_queries = 1024;

// The last 16 bytes of a row. Of the exact coordinates y = step b + rest, b the row's numbers and
// the step their own.
struct alignas(16) FurtherTerms {
    float before = 0;  // what the columns before `first` leave of the vector, at most
    float after = 0;   // what these leave as well, at least
    float size = 0;    // |step b| of a point, |y| of a query, at least
    float noise = 0;   // |rest|, at least
};

// Columns of a projection's matrix, and what a number of points' and of queries' coordinates
// counts.
struct FurtherColumns {
    // Bytes of a point's row are whole runs. 16 of them are a piece, the numbers of 32 columns plus
    // 8: the lower halves of the bytes those of the first 16, the upper halves those of the others.
    static constexpr std::int64_t run = 128, piece = 32, piece_bytes = piece / 2;
    static_assert(piece_bytes == sizeof(FurtherTerms));
    std::int64_t first = 0, count = 0;
    double step = 0, query_step = 0;

    // The pieces, and the terms.
    KITH_HD static constexpr std::int64_t row_bytes(std::int64_t count) {
        return ((count + piece - 1) / piece * piece_bytes + piece_bytes + run - 1) / run * run;
    }
    KITH_HD std::int64_t row_bytes() const { return row_bytes(count); }
    KITH_HD std::int64_t pieces() const { return row_bytes() / piece_bytes - 1; }
    // Of a query: a byte for each number of the pieces, 0 where there is no column, and the terms.
    KITH_HD std::int64_t query_bytes() const { return pieces() * piece + piece_bytes; }
};

// The whole number nearest to y of so many bits, in units of 1 / inverse.
KITH_HD double further_number(double y, double inverse, bool query) {
    const double least = query ? -128 : -8, most = query ? 127 : 7;
    return std::fmin(std::fmax(std::rint(y * inverse), least), most);
}

// Of a vector and its coordinates as computed.
struct FurtherSums {
    double norm2 = 0, before2 = 0, own2 = 0, stepped2 = 0, rest2 = 0;
};

// Also of numbers so small that f32 holds few of their bits, or so large that it holds none.
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

// A lower bound of a pair's value by all coordinates, where `a` is one that the columns before
// these say, with what they leave of both vectors multiplied; `sum`: of the products of the rows'
// numbers, `unit`: the product of their steps. Not a number, or -inf, where `a` is -inf or a term
// is infinite.
KITH_HD float further_value(float a, const FurtherTerms& u, const FurtherTerms& v, float unit,
                            int sum) {
    const float taken = u.before * v.before, product = unit * static_cast<float>(sum),
                lost = u.noise * v.size + u.size * v.noise + u.after * v.after,
                sizes = std::fabs(a) + taken + std::fabs(product) + lost;
    // The last two are more than f32 rounds, of normal numbers and of others.
    return a + taken - product - lost - sizes * 0x1p-20f - 1e-37f;
}
// No more than what a pass says in whole numbers, as `a`, and no less than a threshold of these.
KITH_HD float value_of_sum(int sum, float unit) {
    const float value = unit * static_cast<float>(sum);
    return value - std::fabs(value) * 0x1p-20f - 1e-37f;
}
KITH_HD float threshold_of_sum(int threshold, float unit) {
    const float value = unit * static_cast<float>(threshold);
    return value + std::fabs(value) * 0x1p-20f + 1e-37f;
}

}  // namespace kith::gpu
