// The metrics' kernel tables by id, from THE list.
#include "gpu/metric/kernels.h"

#include <array>

namespace kith::gpu {

#define KITH_METRIC(name, type, aliases, what) MetricKernels name##_kernels();
#include "kith/metrics.def"
#undef KITH_METRIC

const MetricKernels& metric_kernels(MetricId id) {
    static const std::array tables = {
#define KITH_METRIC(name, type, aliases, what) name##_kernels(),
#include "kith/metrics.def"
#undef KITH_METRIC
    };
    return tables.at(static_cast<std::size_t>(id));
}

}  // namespace kith::gpu
