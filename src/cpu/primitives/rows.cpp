// Rows of any view as binary64.
#include "cpu/primitives/rows.h"

#include "cpu/simd/dispatch.h"
#include "exact/element.h"

namespace kith::cpu {

KITH_TABLES(const RowKernels&, row_kernel_table)

const RowKernels& row_kernels(Isa isa) {
    return KITH_TABLE_OF(isa, row_kernel_table);
}

void widen_view(const RowKernels& kernels, const MatrixView& m, std::int64_t first,
                std::int64_t count, double* out, std::int64_t out_stride, std::uint8_t* nan) {
    if (m.layout == Layout::row_major) {
        const auto* start = static_cast<const std::byte*>(m.data) +
                            static_cast<std::size_t>(first * m.stride) * size_of(m.type);
        kernels.widen(start, m.type, m.stride, count, m.cols, out, out_stride, nan);
        return;
    }
    for (std::int64_t i = 0; i < count; ++i) nan[i] = 0;
    for (std::int64_t j = 0; j < m.cols; ++j) {
        for (std::int64_t i = 0; i < count; ++i) {
            const double x = exact::load(m.data, m.type, exact::offset(m, first + i, j));
            out[i * out_stride + j] = x;
            if (x != x) nan[i] = 1;
        }
    }
}

}  // namespace kith::cpu
