// The papers' component as graph() uses it (plan.h): its paths of graphs alone.
#pragma once

#include "exact/metric_spec.h"
#include "exact/report/progress.h"
#include "kith/kith.h"

namespace kith::papers {

// Computes the validated graph of validated points by a path of is_graph_path(), into `out`. Throws
// invalid_argument if the component is not built.
Report graph(const MatrixView& points, const MetricSpec& metric, std::int64_t k,
             const Options& options, ProgressMeter& progress, const NeighborsView& out);

}  // namespace kith::papers
