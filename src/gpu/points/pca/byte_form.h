// int8 quantization: step and shift, from a sample of the coordinates. Plain host code. They affect
// how tight the bound is, not the answer.
#pragma once

#include <cstdint>
#include <vector>

namespace kith::gpu {

struct ChosenBytes {
    double step = 0;            // a power of two if that keeps every coordinate of the sample exact
    std::vector<double> shift;  // one per column
    double kappa =
        0;  // typical ratio of residual to norm; never below the minimum that the bound needs
    double slack = 0;  // how far a typical pair's exact product may exceed the quantized one
};

// From `rows` x `columns` coordinates, row-major: at least one row, all finite. Step 0 if all are
// equal.
ChosenBytes choose_bytes(const std::vector<double>& sample, std::int64_t rows,
                         std::int64_t columns);

// The int4 step (FurtherColumns) with the least squared error of rounding and clipping such
// coordinates; 0 if all are 0.
double choose_four_bits(const std::vector<double>& sample);

// For rows with that int8 quantization: the correction by the leading principal components
// (LeadingDirections).
struct ChosenLeading {
    double coarse = 0, fine = 0;  // the step times a power of two; 0: no correction
    double kappa = 0, coarse_kappa = 0, fine_kappa = 0;
};
// `matrix`: a row of `directions` numbers for each of the first columns of the sample, at least
// one. If its columns are not orthonormal, there is no correction.
ChosenLeading choose_leading(const std::vector<double>& sample, std::int64_t rows,
                             std::int64_t columns, const ChosenBytes& bytes,
                             const std::vector<double>& matrix, std::int64_t directions);

}  // namespace kith::gpu
