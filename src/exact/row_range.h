// Ranges of the rows of matrices and results.
#pragma once

#include <cstdint>

#include "exact/element.h"
#include "kith/types.h"

namespace kith::exact {

// Rows [first, first + count) of a matrix.
inline MatrixView rows_of(const MatrixView& view, std::int64_t first, std::int64_t count) {
    MatrixView part = view;
    part.data = static_cast<const char*>(view.data) +
                offset(view, first, 0) * static_cast<std::int64_t>(size_of(view.type));
    part.rows = count;
    return part;
}

// Those of a result from `first` on.
inline NeighborsView rows_of(const NeighborsView& out, std::int64_t first, std::int64_t k,
                             bool f64) {
    NeighborsView part = out;
    part.ids += first * k;
    if (out.distances)
        part.distances =
            static_cast<char*>(out.distances) +
            first * k * static_cast<std::int64_t>(f64 ? sizeof(double) : sizeof(float));
    return part;
}

}  // namespace kith::exact
