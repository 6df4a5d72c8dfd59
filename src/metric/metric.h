// The contract of a metric. One metric is one struct in one header; kernels ask its traits, never
// its name.
//
// The canonical distance of (query, point) is: 32 partial accumulators, number j taking coordinates
// j, j + 32, ... through step(); the partials joined by combine() in the fixed tree xor 16, 8, 4,
// 2, 1; then finish() gives the rank, which is the distance key: neighbours are ordered by (rank,
// id), smaller first; report() turns a rank into the distance that the caller sees. A metric that
// differs from another in report() alone, and in traits of it, derives from that one and names it,
// `using Keys = Other`: the GPU's kernels of that one serve both.
#pragma once

#include <cstdint>

#include "metric/ops.h"

namespace kith::metric {

// The most accumulators and per-vector auxiliary values that a metric may have.
inline constexpr int max_accumulators = 2;
inline constexpr int max_aux = 2;
// The most dimensions of a metric that limits each coordinate on its own.
inline constexpr int max_limits = 2;

// Run-time parameters, the same for every pair. Plain data: it crosses to the device as it is.
struct Params {
    double p = 2;              // minkowski
    std::int64_t d = 0;        // dimensions
    bool packed_bits = false;  // Traits::packed_bits
    // In the memory of the backend that runs. mahalanobis: the matrix, d x d, row-major;
    // Traits::per_coordinate: d.
    const double* constants = nullptr;
};

// The form in which a matrix product can serve as the filter.
enum class Gemm {
    none,
    l2,      // rank = |v(q) - v(x)|^2
    dot,     // rank = -<v(q), v(x)>
    cosine,  // rank = 1 - <v(q), v(x)> / (|v(q)| |v(x)|), clipped to [0, 2]
    // rank = sum over q > 0 of q log q - q log x, coordinates at least 0; +inf where x is 0.
    cross_entropy,
};

// The direct form that can serve as the filter, in f32: its error is relative to the rank
// (docs/exactness.md).
enum class Direct {
    none,
    squares,     // rank = sum (q - x)^2
    sum,         // rank = sum |q - x|
    maximum,     // rank = max |q - x|
    powers,      // rank = sum |q - x|^p, p = Params::p
    quotients,   // rank = sum |q - x| / (|q| + |x|), 0 / 0 being 0
    quotient,    // rank = sum |q - x| / sum |q + x|, 0 / 0 being 0
    mismatches,  // rank = the number of coordinates, or packed bits, that differ
    jaccard,     // rank = those (or bits) that are 0 in one only, over those not 0 in either; 0 / 0
                 // being 0
    dice,        // rank = the same over the sizes of both, in coordinates (or bits) that are not 0
    divergence,  // rank = sum (q log(q / m) + x log(x / m)) with m = (q + x) / 2, coordinates at
                 // least 0
};

// What a coordinate is, and the largest magnitude that it may have; 0: any.
struct Limit {
    double largest;
    const char* what;  // of the host
};

// The power of the differences that the rank is of, and whose root is reported: a distance may be a
// number of binary64 where its rank is none (exact/scaled_distance.h).
enum class Root {
    none,
    square,  // |c v(q) - c v(x)| has c^2 times the rank, and c times the distance
    power,   // c^Params::p times the rank, likewise
};

// What a metric promises of itself; every field has the value that most metrics need.
struct Traits {
    Gemm gemm = Gemm::none;  // v(x) = map(x)
    bool factored = false;   // rank = |L' map(q) - L' map(x)|^2 with L L' = Params::constants; gemm
                             // does not say so
    Direct direct = Direct::none;
    // As computed, the rank never falls where a |map(q) - map(x)| grows (docs/exactness.md, section
    // 10): step() and combine() never do, an untouched accumulator changes nothing in combine(),
    // finish() is that of Base, aux is 0.
    bool monotone = false;
    bool non_negative = false;  // coordinates below zero are an input error
    bool similarity = false;    // larger is nearer; missing neighbours are at -inf
    bool whole_vector = false;  // needs all differences at once: whole_term(), no step()
    bool per_coordinate =
        false;  // map() and aux_step() take a constant of their coordinate, Params::constants[i]
    bool packed_bits = false;       // u8 coordinates may be eight bits each: Params::packed_bits
    bool scale_free = false;        // the rank of c q and x is that of q and x, for any c > 0
    Root root = Root::none;         // aux is 0 where there is one, and step() sees only q - x
    int dimensions = 0;             // the only number of dimensions that there may be; 0: any
    Limit limits[max_limits] = {};  // of each of these; coordinates beyond are an input error

    KITH_HD constexpr bool limited() const { return non_negative || limits[0].largest > 0.0; }
    // Whether the metric has a meaning for a coordinate. NaN is dealt with elsewhere.
    KITH_HD constexpr bool admits(std::int64_t coordinate, double value) const {
        if (non_negative && value < 0.0) return false;
        if (coordinate >= max_limits || limits[coordinate].largest == 0.0) return true;
        return !(value > limits[coordinate].largest || value < -limits[coordinate].largest);
    }
};

// The form that serves as a filter. A metric with a factor is multiplied by it.
constexpr Gemm product_form(const Traits& traits) {
    return traits.factored ? Gemm::l2 : traits.gemm;
}

// Defaults. A metric derives from it and hides what differs.
struct Base {
    static constexpr Traits traits{};
    static constexpr int accumulators = 1;
    static constexpr int aux = 0;  // per-vector values, computed once: see aux_term, aux_finish

    // Of partials j and j ^ 16, ..., `a` is the lower one.
    template <class O>
    KITH_HD static void combine(typename O::V* a, const typename O::V* b) {
        a[0] = O::add(a[0], b[0]);
    }
    // Auxiliary value s of a vector: its coordinates added by aux_step to the partials of a
    // canonical sum, then aux_finish. Values 0..s-1 are ready in `aux`. The last argument, here and
    // of map(), is the coordinate's constant (Traits::per_coordinate).
    template <class O>
    KITH_HD static typename O::V aux_step(int, typename O::V sum, typename O::V x,
                                          const typename O::V*, typename O::V) {
        return O::add(sum, x);
    }
    KITH_HD static double aux_finish(int, double sum, const Params&) { return sum; }
    // The coordinate that step() sees.
    template <class O>
    KITH_HD static typename O::V map(typename O::V x, const typename O::V*, typename O::V) {
        return x;
    }
    KITH_HD static double finish(const double* a, const double*, const double*, const Params&) {
        return a[0];
    }
    KITH_HD static double report(double rank, const Params&) { return rank; }
};

// The constant of coordinate i, 0 for metrics without.
template <class M>
KITH_HD double constant(const Params& params, std::int64_t i) {
    if constexpr (M::traits.per_coordinate) return params.constants[i];
    else return 0.0;
}

}  // namespace kith::metric
