// How the coordinates of rows are multiplied by a metric's factor (exact/factor.h), as kernels see
// it.
#pragma once

#include <cstdint>

namespace kith::gpu {

struct FactorForm {
    const double* matrix =
        nullptr;  // L, row k from k * d; null: there is none, and every query is scanned
    const double* weights = nullptr;  // the diagonal of W
    double coordinate_error = 0, rank_error = 0;
    // L' y of the rows in hand, d per row, beginning with that of position `first`.
    const double* rows = nullptr;
    std::int64_t first = 0;
};

}  // namespace kith::gpu
