// Input of the planner: the facts of a metric and of this machine, and Options as its Request.
#pragma once

#include "api/check/validate.h"
#include "exact/metric_spec.h"
#include "kith/types.h"
#include "plan/planner.h"

namespace kith::api {

// The number of CPU threads that a call may use.
int threads_of(const Options& options);

// The caller's metric; if it was left unset, `usual` with the parameters that were set.
inline Metric named_or(Metric metric, MetricId usual) {
    if (!is_named(metric) && metric.formula.empty() && !metric.functor) {
        metric.id = usual;
        metric.chosen = true;
    }
    return metric;
}

planner::MetricFacts facts(const MetricSpec& metric);

// This machine, queried once per call. If Options::device is "cpu", GPUs are not queried and CUDA
// is not started. assumed: free bytes assumed on each GPU; 0: query them.
planner::Machine machine(const std::string& device, std::int64_t assumed = 0);

planner::Request request(const Shape& shape, const MetricSpec& metric, const Options& options,
                         int data_device);

// The plan of a search of the caller's points, with a share of a GPU's free memory. `allocating`:
// whether the plan may be repeated with less, for with_less_memory (run.h). `prepared`: for
// searches to come; `all_points`: for range queries (planner::Request).
Plan plan_search(const Shape& shape, const MetricSpec& metric, const Options& options,
                 int data_device, double share, bool& allocating, bool prepared = false,
                 bool all_points = false);

// The plan of selecting k of each row of a matrix. Without `explained` it omits the reasons, which
// take a microsecond to format.
Plan plan_selection(const MatrixView& matrix, std::int64_t k, const Options& options,
                    bool explained);

// True if distance keys are bit-identical with query and point exchanged. For a formula, if proven.
bool is_symmetric(const Metric& metric);

}  // namespace kith::api
