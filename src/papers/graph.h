// What graph() asks of the papers' component (plan.h): its paths of graphs alone.
#pragma once

#include "exact/metric_spec.h"
#include "exact/progress.h"
#include "kith/kith.h"

namespace kith::papers {

// The validated graph of validated points by a path of is_graph_path(), into `out`. Throws
// invalid_argument where the component is not built.
Report graph(const MatrixView& points, const MetricSpec& metric, std::int64_t k,
             const Options& options, ProgressMeter& progress, const NeighborsView& out);

}  // namespace kith::papers
