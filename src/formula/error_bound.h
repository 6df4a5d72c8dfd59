// Bounds the difference of a formula's value in f32 from that in binary64, for all coordinates of a
// range. The bound, or the reason why there is none, follows from the formula's program
// (docs/proofs/formulas.md, lemma 1).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formula/program.h"

namespace kith::formula {

// Coordinates of queries and points are in [least, most].
struct Range {
    double least, most;
};

struct ErrorBound {
    std::string refused;  // why there is no bound; "" if there is one
    // |f32 - binary64| <= relative |binary64| + absolute. Keys are not negative unless
    // `signed_keys`, which implies that `relative` is 0.
    double relative = 0, absolute = 0;
    bool signed_keys = false;
};

// The bound of the value after d steps from `start`. Coordinates are f32. The evaluation in f32
// computes each operation as gpu/filter/direct/formula_pass_text.cpp writes it, or fuses products
// into sums. Takes O(d * program length).
ErrorBound error_bound(const Program& program, double start, std::int64_t d, const Range& range);

// Ranges to try for coordinates in [least, most], the widest first.
std::vector<Range> ranges_around(double least, double most);

// Why coordinates near 1 have no bound, or "". For other coordinates a sample decides.
std::string why_no_bound(const Program& program, double start, std::int64_t d);

}  // namespace kith::formula
