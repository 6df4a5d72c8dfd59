// Rows of a matrix in device memory, in any element type and layout, as kernels see them.
#pragma once

#include <type_traits>

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
    // Calls use(col, value) for every lanes-th column below `cols`, from `first` on, of a row whose
    // elements lie side by side. Four elements are loaded before the first is used.
    template <int lanes, class Use>
    KITH_HD void each(std::int64_t row, std::int64_t first, std::int64_t cols,
                      const Use& use) const {
        exact::with_elements(data, type, [&](const auto* elements) {
            constexpr int ahead = 4;
            const auto* const own = elements + row * row_stride;
            std::int64_t col = first;
            for (; col + (ahead - 1) * lanes < cols; col += ahead * lanes) {
                std::remove_cvref_t<decltype(*own)> loaded[ahead];
                for (int i = 0; i < ahead; ++i) loaded[i] = own[col + i * lanes];
                for (int i = 0; i < ahead; ++i) use(col + i * lanes, exact::value_of(loaded[i]));
            }
            for (; col < cols; col += lanes) use(col, exact::value_of(own[col]));
        });
    }
};

inline Rows rows_of(const MatrixView& v) {
    const bool row_major = v.layout == Layout::row_major;
    return {v.data, v.rows, row_major ? v.stride : 1, row_major ? 1 : v.stride, v.type};
}

// Rows [first, first + count) of `r`.
inline Rows slice(Rows r, std::int64_t first, std::int64_t count) {
    r.data = static_cast<const char*>(r.data) +
             first * r.row_stride * static_cast<std::int64_t>(size_of(r.type));
    r.count = count;
    return r;
}

}  // namespace kith::gpu
