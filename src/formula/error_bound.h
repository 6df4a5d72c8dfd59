// What a formula's value in f32 may differ by from the one in binary64: a bound for all coordinates
// of a range, from the formula's program, or why there is none (docs/exactness.md, section 6).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formula/program.h"

namespace kith::formula {

// Coordinates of queries and points are from `least` to `most`.
struct Range {
    double least, most;
};

struct ErrorBound {
    std::string refused;  // why there is none, "" where there is one
    // |f32 - binary64| <= relative |binary64| + absolute, of keys that are at least 0 where it is
    // not `signed_keys`. Else `relative` is 0.
    double relative = 0, absolute = 0;
    bool signed_keys = false;
};

// Of the value after d steps from `start`. Coordinates are f32; the evaluation in f32 takes each
// operation as gpu/filter/formula_pass_text.cpp writes it, or fuses products into sums. In time of
// the order of d and the program's length.
ErrorBound error_bound(const Program& program, double start, std::int64_t d, const Range& range);

// The ranges that may be tried for coordinates from `least` to `most`: the widest first.
std::vector<Range> ranges_around(double least, double most);

// Whether coordinates near 1 have a bound: "" or why not. What is true of others, a sample of them
// says.
std::string why_no_bound(const Program& program, double start, std::int64_t d);

}  // namespace kith::formula
