// A metric that has been validated. Backends trust it and never look at Options.
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

// A validated metric: parameters completed, the constants owned.
struct MetricSpec {
    MetricId id = MetricId::sqeuclidean;
    metric::Params params;  // .constants points into `constants` (host)
    std::shared_ptr<const std::vector<double>> constants;  // see metric::Params
    std::shared_ptr<const ::kith::formula::Program> formula;
    double start = 0;  // formula, functor
    const FunctorMetric* functor = nullptr;
    // Distance keys are wide keys (exact/wide_key.h). Of plain scans on a CPU: filters know nothing
    // of it.
    bool wide = false;
};

}  // namespace kith
