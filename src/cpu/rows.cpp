// Rows of any view as binary64.
#include "cpu/rows.h"

#include "exact/element.h"

namespace kith::cpu {

namespace baseline {
const RowKernels& row_kernel_table();
}
#if defined(__x86_64__)
namespace avx2 {
const RowKernels& row_kernel_table();
}
namespace avx512 {
const RowKernels& row_kernel_table();
}
#endif

const RowKernels& row_kernels(Isa isa) {
#if defined(__x86_64__)
    if (isa == Isa::avx512) return avx512::row_kernel_table();
    if (isa == Isa::avx2) return avx2::row_kernel_table();
#endif
    (void)isa;
    return baseline::row_kernel_table();
}

void widen_view(const RowKernels& kernels, const MatrixView& m, std::int64_t first, std::int64_t count, double* out,
                std::int64_t out_stride, std::uint8_t* nan) {
    if (m.layout == Layout::row_major) {
        const auto* start =
            static_cast<const std::byte*>(m.data) + static_cast<std::size_t>(first * m.stride) * size_of(m.type);
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
