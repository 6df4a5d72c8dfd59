// Which table of kernels of trees serves an instruction set.
#include "cpu/tree/kernels.h"

#include "cpu/simd/dispatch.h"

namespace kith::cpu {

// Of each metric: any number of dimensions, then 1, 2, ..., unrolled_dimensions.
KITH_TABLES(const TreeKernels*, tree_kernel_table)

const TreeKernels& tree_kernels(MetricId id, Isa isa, std::int64_t d) {
    const std::int64_t row = d <= unrolled_dimensions ? d : 0;
    return KITH_TABLE_OF(
        isa, tree_kernel_table)[static_cast<std::int64_t>(id) * (unrolled_dimensions + 1) + row];
}

}  // namespace kith::cpu
