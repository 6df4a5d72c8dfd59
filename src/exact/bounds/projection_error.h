// Error bounds of the computed phi(v) = (Q' v, |v - Q Q' v|) (docs/proofs/pca.md, lemma 2), for
// both backends.
#pragma once

#include <cmath>
#include <cstdint>

#include "metric/portable.h"

namespace kith::exact {

// Q is the matrix of orthonormal columns nearest to the stored one, P.
struct ProjectionError {
    // For a vector of length 1: the error of P' v, and of the squared residual.
    double coordinates = 0, square = 0;

    ProjectionError() = default;
    // `defect2`: at least the squared spectral norm of the computed P'P - I; the sum of its squares
    // serves. The rounding of these products adds less than m (depth + 4) 2^-52.
    ProjectionError(double defect2, std::int64_t depth, std::int64_t columns) {
        const auto d = static_cast<double>(depth), m = static_cast<double>(columns);
        const double rounding = (d + 4) * 0x1p-52;
        const double defect = std::sqrt(defect2) * (1 + 0x1p-20) + m * rounding;
        coordinates = (defect + std::sqrt(m) * rounding) * (1 + 0x1p-20);
        square = coordinates * (2 + coordinates) + (d + m + 16) * 0x1p-51;
    }

    // The bounds for a vector with an additional error in its product with P: `lost` times its
    // length, over all columns together.
    KITH_HD ProjectionError with(double lost) const {
        ProjectionError out;
        out.coordinates = (coordinates + lost) * (1 + 0x1p-40);
        out.square = square + lost * (2 + 2 * coordinates + lost) * (1 + 0x1p-40);
        return out;
    }
    // An upper bound of the residual norm; left2 is the computed square.
    KITH_HD double remainder(double norm2, double left2) const {
        return std::sqrt((left2 > 0 ? left2 : 0.0) + square * norm2) * (1 + 0x1p-50);
    }
    // The error of the computed residual norm `left`, with |v|^2 = norm2.
    KITH_HD double of_left(double norm2, double left) const {
        // |a - b| is at most the root of |a^2 - b^2|, and at most |a^2 - b^2| / a.
        const double error2 = square * norm2, root = std::sqrt(error2),
                     over = left > 0 ? error2 / left : root;
        return (over < root ? over : root) + left * 0x1p-52;
    }
    // The error of the computed phi(v), with |v|^2 = norm2 and the computed residual norm `left`.
    KITH_HD double of(double norm2, double left) const {
        const double remainder = of_left(norm2, left),
                     of_coordinates = coordinates * std::sqrt(norm2);
        return std::sqrt(of_coordinates * of_coordinates + remainder * remainder);
    }
};

}  // namespace kith::exact
