// The only place that judges input: Options and views become a Problem, a MetricSpec and a planner's Request, or an
// Error.
#pragma once

#include "exact/problem.h"
#include "exact/progress.h"
#include "kith/types.h"
#include "plan/planner.h"

namespace kith::api {

// Checks one view: data, sizes, stride, element type, overflow. `what` names the argument in messages.
void check_view(const MatrixView& view, const char* what);

// Checks k against nothing but sense: k >= 1, q * k addressable.
void check_k(std::int64_t k, std::int64_t rows);

// The CPU threads that a call may have.
int threads_of(const Options& options);

// A complete metric for these points (mahalanobis may be estimated from them). Reads the points only for that.
// Polls `progress` and throws where it is cancelled, as do the others that take one.
MetricSpec judge_metric(const Metric& metric, const MatrixView& points, int threads, ProgressMeter& progress);

// Refuses coordinates that the metric has no meaning for, naming row and column.
void check_values(const MatrixView& view, const MetricSpec& metric, const char* what, int threads,
                  ProgressMeter& progress);

planner::MetricFacts facts(const MetricSpec& metric);

// This machine, asked once per call.
planner::Machine machine();

planner::Request request(const Shape& shape, const MetricSpec& metric, const Options& options, int data_device);

// What select() asks of a matrix' type and sizes; does not look at its data.
void check_selection(const MatrixView& matrix, std::int64_t k);

// The plan of selecting k of each row of a matrix.
Plan plan_selection(const MatrixView& matrix, std::int64_t k, const Options& options);

// A host copy of a view in device memory; of one in host memory, the view itself (`storage` stays empty).
MatrixView on_host(const MatrixView& view, std::vector<std::byte>& storage);

}  // namespace kith::api
