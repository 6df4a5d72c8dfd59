// Selects the table of metric kernels for an instruction set.
#include "cpu/metric/kernels.h"

#include "cpu/simd/dispatch.h"

namespace kith::cpu {

KITH_TABLES(const MetricKernels*, metric_kernel_table)

const MetricKernels& metric_kernels(MetricId id, Isa isa) {
    const auto i = static_cast<int>(id);
    return KITH_TABLE_OF(isa, metric_kernel_table)[i];
}

}  // namespace kith::cpu
