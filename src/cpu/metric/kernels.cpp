// Selects the table of metric kernels for an instruction set.
#include "cpu/metric/kernels.h"

#include "cpu/simd/dispatch.h"
#include "exact/metric_spec.h"

namespace kith::cpu {

KITH_TABLES(const MetricKernels*, metric_kernel_table)

const MetricKernels& metric_kernels(MetricId id, Isa isa) {
    const auto i = static_cast<int>(id);
    return KITH_TABLE_OF(isa, metric_kernel_table)[i];
}

metric::Traits metric_traits(MetricId id) {
    if (is_user_metric(id)) return {};
    return metric_kernels(id, Isa::baseline).traits;
}

}  // namespace kith::cpu
