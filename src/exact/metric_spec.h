// A validated metric. Backends trust it and never read Options.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kith/types.h"
#include "metric/metric.h"

namespace kith::formula {
struct Program;
}

namespace kith {

// A formula or a functor: no table of kernels has it.
constexpr bool is_user_metric(MetricId id) {
    return id == MetricId::formula || id == MetricId::functor;
}

// A validated metric: parameters are complete, and constants are owned.
struct MetricSpec {
    MetricId id = MetricId::sqeuclidean;
    metric::Params params;  // .constants points into `constants` (host)
    std::shared_ptr<const std::vector<double>> constants;  // see metric::Params
    std::shared_ptr<const ::kith::formula::Program> formula;
    double start = 0;  // formula, functor
    const FunctorMetric* functor = nullptr;
    // Distance keys are wide keys (exact/wide_key.h). Only full scans on a CPU use them; filters do
    // not.
    bool wide = false;
};

}  // namespace kith
