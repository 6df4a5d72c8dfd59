// Rows of a matrix in device memory, in any element type and layout, as kernels see them.
#pragma once

#include "exact/element.h"
#include "kith/types.h"

namespace kith::gpu {

struct Rows {
    const void* data = nullptr;
    std::int64_t count = 0;
    std::int64_t row_stride = 0, col_stride = 1;  // elements
    ElementType type = ElementType::f32;

    KITH_HD double at(std::int64_t row, std::int64_t col) const {
        return exact::load(data, type, row * row_stride + col * col_stride);
    }
};

inline Rows rows_of(const MatrixView& v) {
    const bool row_major = v.layout == Layout::row_major;
    return {v.data, v.rows, row_major ? v.stride : 1, row_major ? 1 : v.stride, v.type};
}

// Rows [first, first + count) of `r`.
inline Rows slice(Rows r, std::int64_t first, std::int64_t count) {
    r.data = static_cast<const char*>(r.data) + first * r.row_stride * static_cast<std::int64_t>(size_of(r.type));
    r.count = count;
    return r;
}

}  // namespace kith::gpu
