// Step and shift of numbers of 8 bits, from a sample of what is rounded. Plain host code. They
// affect how tight the bound is, not the answer.
#pragma once

#include <cstdint>
#include <vector>

namespace kith::gpu {

struct ChosenBytes {
    double step = 0;  // a power of two where it leaves every coordinate of the sample as it is
    std::vector<double> shift;  // of each column
    double kappa = 0;  // typical residual over norm: no less than what a bound needs room for
    double slack =
        0;  // by how much a typical pair's product may be larger than that of the numbers
};

// Of `rows` x `columns` coordinates, row-major: at least one row, finite; step 0 where all are
// equal.
ChosenBytes choose_bytes(const std::vector<double>& sample, std::int64_t rows,
                         std::int64_t columns);

// The step with whose numbers of 4 bits (FurtherColumns) the squares of what rounding and clipping
// leave of such coordinates are least; 0 where all are 0.
double choose_four_bits(const std::vector<double>& sample);

// Of rows that were rounded so, what their coordinates along leading directions are rounded to as
// well (LeadingDirections).
struct ChosenLeading {
    double coarse = 0, fine = 0;  // multiples of the step by a power of two; 0: no such
    double kappa = 0, coarse_kappa = 0, fine_kappa = 0;
};
// `matrix`: a row of `directions` numbers for each of the first columns of the sample, at least
// one; its columns are orthonormal, or there is none of them.
ChosenLeading choose_leading(const std::vector<double>& sample, std::int64_t rows,
                             std::int64_t columns, const ChosenBytes& bytes,
                             const std::vector<double>& matrix, std::int64_t directions);

}  // namespace kith::gpu
