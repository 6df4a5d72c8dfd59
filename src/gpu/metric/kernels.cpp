// The metrics' kernel tables by id, from kith/metrics.def.
#include "gpu/metric/kernels.h"

#include <array>
#include <memory>

#include "machine/lasting.h"

namespace kith::gpu {

#define KITH_METRIC(name, type, aliases, what) MetricKernels name##_kernels();
#include "kith/metrics.def"
#undef KITH_METRIC

namespace {

using Tables = std::array<MetricKernels, static_cast<std::size_t>(MetricId::formula)>;
constinit machine::Lasting<const Tables> tables;

std::unique_ptr<const Tables> make_tables() {
    return std::make_unique<const Tables>(Tables{
#define KITH_METRIC(name, type, aliases, what) name##_kernels(),
#include "kith/metrics.def"
#undef KITH_METRIC
    });
}

}  // namespace

const MetricKernels& metric_kernels(MetricId id) {
    return tables.get(make_tables).at(static_cast<std::size_t>(id));
}

}  // namespace kith::gpu
