// A metric's factor (exact/linear/factor.h), which multiplies the coordinates of rows, as kernels
// see it.
#pragma once

#include <cstdint>

namespace kith::gpu {

struct FactorForm {
    // L, row-major d x d; null: there is no factor, and every query is scanned.
    const double* matrix = nullptr;
    const double* weights = nullptr;  // the diagonal of W
    double coordinate_error = 0, rank_error = 0;
    // L' y of the rows in this call, d per row; rows[0] belongs to position `first`.
    const double* rows = nullptr;
    std::int64_t first = 0;
};

}  // namespace kith::gpu
