// What the planner is asked: the facts of a metric and of this machine, and Options as its Request.
#pragma once

#include "api/validate.h"
#include "exact/metric_spec.h"
#include "kith/types.h"
#include "plan/planner.h"

namespace kith::api {

// The CPU threads that a call may have.
int threads_of(const Options& options);

// The metric that a caller named; `usual`, with the parameters that were set, of one that was left
// alone.
inline Metric named_or(Metric metric, MetricId usual) {
    if (!is_named(metric) && metric.formula.empty() && !metric.functor) {
        metric.id = usual;
        metric.chosen = true;
    }
    return metric;
}

planner::MetricFacts facts(const MetricSpec& metric);

// This machine, asked once per call; GPUs are not looked at, and CUDA is not started, where
// Options::device is "cpu". assumed: bytes that are taken for free on each GPU; 0: they are asked.
planner::Machine machine(const std::string& device, std::int64_t assumed = 0);

planner::Request request(const Shape& shape, const MetricSpec& metric, const Options& options,
                         int data_device);

// The plan of a search of the caller's points, with a share of a GPU's free memory. `allocating`:
// whether the plan may be repeated with less, as with_less_memory (run.h) asks. `prepared`: for
// searches to come, `all_points`: within radii (planner::Request).
Plan plan_search(const Shape& shape, const MetricSpec& metric, const Options& options,
                 int data_device, double share, bool& allocating, bool prepared = false,
                 bool all_points = false);

// The plan of selecting k of each row of a matrix; without its reasons, whose words take a
// microsecond, if not `explained`.
Plan plan_selection(const MatrixView& matrix, std::int64_t k, const Options& options,
                    bool explained);

// Whether its distance keys are the same bits from either side. Of a formula where that is proven.
bool is_symmetric(const Metric& metric);

}  // namespace kith::api
