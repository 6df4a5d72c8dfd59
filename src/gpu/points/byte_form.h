// Step and shift of numbers of 8 bits, from a sample of what is rounded. Plain host code. They affect how tight the
// bound is, not the answer.
#pragma once

#include <cstdint>
#include <vector>

namespace kith::gpu {

struct ChosenBytes {
    double step = 0;            // a power of two where it leaves every coordinate of the sample as it is
    std::vector<double> shift;  // of each column
    double kappa = 0;           // typical residual over norm: no less than what a bound needs room for
    double slack = 0;           // by how much a typical pair's product may be larger than that of the numbers
};

// Of `rows` x `columns` coordinates, row-major: at least one row, finite; step 0 where all are equal.
ChosenBytes choose_bytes(const std::vector<double>& sample, std::int64_t rows, std::int64_t columns);

}  // namespace kith::gpu
