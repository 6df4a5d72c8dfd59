// Which table of metric kernels serves an instruction set.
#include "cpu/metric_kernels.h"

namespace kith::cpu {

namespace baseline {
const MetricKernels* metric_kernel_table();
}
#if defined(__x86_64__)
namespace avx2 {
const MetricKernels* metric_kernel_table();
}
namespace avx512 {
const MetricKernels* metric_kernel_table();
}
#endif

const MetricKernels& metric_kernels(MetricId id, Isa isa) {
    const auto i = static_cast<int>(id);
#if defined(__x86_64__)
    if (isa == Isa::avx512) return avx512::metric_kernel_table()[i];
    if (isa == Isa::avx2) return avx2::metric_kernel_table()[i];
#endif
    (void)isa;
    return baseline::metric_kernel_table()[i];
}

}  // namespace kith::cpu
