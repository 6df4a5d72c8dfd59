// The contract of a metric. One metric is one struct in one header; kernels ask its traits, never
// its name.
//
// The canonical distance of (query, point): step() adds coordinates j, j + 32, ... to partial
// accumulator j of 32. combine() joins the partials in the fixed tree xor 16, 8, 4, 2, 1. finish()
// gives the rank, which is the distance key: neighbours are ordered by (rank, id), smaller first.
// report() turns a rank into the distance that the caller sees.
//
// A metric that differs from another in report() and traits alone derives from that one and names
// it, `using Keys = Other`: the GPU's kernels of the other serve both.
#pragma once

#include <cstdint>

#include "metric/ops.h"

namespace kith::metric {

// The most accumulators and per-vector auxiliary values of a metric.
inline constexpr int max_accumulators = 2;
inline constexpr int max_aux = 2;
// The most dimensions of a metric with limits per coordinate.
inline constexpr int max_limits = 2;

// Run-time parameters, equal for every pair. Plain data: it is copied to the device unchanged.
struct Params {
    double p = 2;              // minkowski
    std::int64_t d = 0;        // dimension
    bool packed_bits = false;  // Traits::packed_bits
    // In the memory of the backend that runs. mahalanobis: the matrix, d x d, row-major;
    // Traits::per_coordinate: d constants.
    const double* constants = nullptr;
};

// The matrix-product form that can serve as the filter.
enum class Gemm {
    none,
    l2,      // rank = |v(q) - v(x)|^2
    dot,     // rank = -<v(q), v(x)>
    cosine,  // rank = 1 - <v(q), v(x)> / (|v(q)| |v(x)|), clipped to [0, 2]
    // rank = sum over q > 0 of q log q - q log x, coordinates at least 0; +inf where x is 0.
    cross_entropy,
};

// The direct form that can serve as the filter, in f32, with an error relative to the rank
// (docs/proofs/direct.md).
enum class Direct {
    none,
    squares,     // rank = sum (q - x)^2
    sum,         // rank = sum |q - x|
    maximum,     // rank = max |q - x|
    powers,      // rank = sum |q - x|^p, p = Params::p
    quotients,   // rank = sum |q - x| / (|q| + |x|), 0 / 0 is 0
    quotient,    // rank = sum |q - x| / sum |q + x|, 0 / 0 is 0
    mismatches,  // rank = the number of coordinates, or packed bits, that differ
    jaccard,     // rank = coordinates (or bits) nonzero in one only / nonzero in either; 0 / 0 is 0
    dice,  // rank = the same numerator over the total of nonzero coordinates (or bits) of both
    divergence,  // rank = sum (q log(q / m) + x log(x / m)), m = (q + x) / 2; coordinates >= 0
};

// The meaning of a coordinate, and its largest magnitude; 0: no limit.
struct Limit {
    double largest;
    const char* what;  // host memory
};

// The rank is this power of the differences, and its root is reported. The distance may be
// representable in binary64 where its rank is not (exact/wide_key.h).
enum class Root {
    none,
    square,  // |c v(q) - c v(x)| has c^2 times the rank, and c times the distance
    power,   // c^Params::p times the rank, likewise
};

// Properties that a metric guarantees. The defaults suit most metrics.
struct Traits {
    Gemm gemm = Gemm::none;  // v(x) = map(x)
    // rank = |L' map(q) - L' map(x)|^2 with L L' = Params::constants; gemm stays none
    bool factored = false;
    Direct direct = Direct::none;
    // The rank, as computed, never decreases when a |map(q) - map(x)| grows (docs/proofs/tree.md,
    // lemma 1). It requires that step() and combine() never decrease, that combine() with an
    // untouched accumulator changes nothing, that finish() is Base's, and that aux is 0.
    bool monotone = false;
    bool non_negative = false;  // negative coordinates are an input error
    bool similarity = false;    // larger is nearer; missing neighbours are at -inf
    bool whole_vector = false;  // needs all differences at once: whole_term(), no step()
    // map() and aux_step() receive Params::constants[i] for coordinate i.
    bool per_coordinate = false;
    bool packed_bits = false;       // u8 coordinates may hold eight bits each: Params::packed_bits
    bool scale_free = false;        // the rank of c q and x equals that of q and x, for any c > 0
    Root root = Root::none;         // if set, aux is 0 and step() depends on q - x only
    int dimensions = 0;             // the only allowed dimension; 0: any
    Limit limits[max_limits] = {};  // per coordinate; values beyond are an input error

    KITH_HD constexpr bool limited() const { return non_negative || limits[0].largest > 0.0; }
    // True if the coordinate's value is valid for the metric. NaN is handled elsewhere.
    KITH_HD constexpr bool admits(std::int64_t coordinate, double value) const {
        if (non_negative && value < 0.0) return false;
        if (coordinate >= max_limits || limits[coordinate].largest == 0.0) return true;
        return !(value > limits[coordinate].largest || value < -limits[coordinate].largest);
    }
};

// The product form that serves as a filter. A factored metric multiplies rows by its factor.
constexpr Gemm product_form(const Traits& traits) {
    return traits.factored ? Gemm::l2 : traits.gemm;
}

// Defaults. A metric derives from it and hides what differs.
struct Base {
    static constexpr Traits traits{};
    static constexpr int accumulators = 1;
    // number of per-vector values, computed once: see aux_step, aux_finish
    static constexpr int aux = 0;

    // Joins partials j and j ^ 16, ...; `a` is the lower one.
    template <class O>
    KITH_HD static void combine(typename O::V* a, const typename O::V* b) {
        a[0] = O::add(a[0], b[0]);
    }
    // Computes auxiliary value s of a vector: aux_step adds its coordinates to the partials of a
    // canonical sum, then aux_finish applies. Values 0..s-1 are ready in `aux`. The last argument,
    // here and of map(), is the coordinate's constant (Traits::per_coordinate).
    template <class O>
    KITH_HD static typename O::V aux_step(int, typename O::V sum, typename O::V x,
                                          const typename O::V*, typename O::V) {
        return O::add(sum, x);
    }
    KITH_HD static double aux_finish(int, double sum, const Params&) { return sum; }
    // The coordinate that step() receives.
    template <class O>
    KITH_HD static typename O::V map(typename O::V x, const typename O::V*, typename O::V) {
        return x;
    }
    KITH_HD static double finish(const double* a, const double*, const double*, const Params&) {
        return a[0];
    }
    KITH_HD static double report(double rank, const Params&) { return rank; }
};

// The constant of coordinate i; 0 for metrics without constants.
template <class M>
KITH_HD double constant(const Params& params, std::int64_t i) {
    if constexpr (M::traits.per_coordinate) return params.constants[i];
    else return 0.0;
}

}  // namespace kith::metric
