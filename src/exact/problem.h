// Problem: an input that has been judged. Backends trust it and never look at Options.
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

// A judged metric: parameters completed, the constants owned.
struct MetricSpec {
    MetricId id = MetricId::sqeuclidean;
    metric::Params params;                                 // .constants points into `constants` (host)
    std::shared_ptr<const std::vector<double>> constants;  // see metric::Params
    std::shared_ptr<const ::kith::formula::Program> formula;
    double start = 0;  // formula, functor
    const FunctorMetric* functor = nullptr;
};

// k neighbours of each query among the points; with `graph` the queries are the points and row i excludes id i.
struct Problem {
    MatrixView points;
    MatrixView queries;
    std::int64_t k = 0;
    bool graph = false;
};

// How many of the points a query may return at most.
inline std::int64_t eligible(const Problem& p) {
    return p.graph ? p.points.rows - 1 : p.points.rows;
}

}  // namespace kith
