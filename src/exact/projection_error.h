// What computing phi(v) = (Q' v, |v - Q Q' v|) may be wrong by (docs/exactness.md, section 11), on either backend.
#pragma once

#include <cmath>
#include <cstdint>

#include "metric/portable.h"

namespace kith::exact {

// Q is the matrix of orthonormal columns nearest to the one that is kept, P.
struct ProjectionError {
    // Of a vector of length 1: the error of P' v, and of the square of the remainder.
    double coordinates = 0, square = 0;

    ProjectionError() = default;
    // `defect2`: the sum of the squares of P'P - I, as computed. It bounds |P'P - I| as the column sums do, which is
    // less than `depth` of these vectors' products round.
    ProjectionError(double defect2, std::int64_t depth, std::int64_t columns) {
        const auto d = static_cast<double>(depth), m = static_cast<double>(columns);
        const double rounding = (d + 4) * 0x1p-52;
        const double defect = std::sqrt(defect2) * (1 + 0x1p-20) + m * rounding;
        coordinates = (defect + std::sqrt(m) * rounding) * (1 + 0x1p-20);
        square = coordinates * (2 + coordinates) + (d + m + 16) * 0x1p-51;
    }

    // How far the computed phi(v) may be from it, where |v|^2 = norm2 and the remainder was computed as `left`.
    KITH_HD double of(double norm2, double left) const {
        // |a - b| is at most the root of |a^2 - b^2|, and that over a.
        const double error2 = square * norm2, root = std::sqrt(error2), over = left > 0 ? error2 / left : root;
        const double of_left = (over < root ? over : root) + left * 0x1p-52;
        const double of_coordinates = coordinates * std::sqrt(norm2);
        return std::sqrt(of_coordinates * of_coordinates + of_left * of_left);
    }
};

}  // namespace kith::exact
