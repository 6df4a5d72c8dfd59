// The CPU backend: points prepared once, exact searches on them.
#pragma once

#include <cstdint>
#include <memory>

#include "cpu/search/results.h"
#include "exact/metric_spec.h"
#include "exact/report/progress.h"
#include "exact/request.h"
#include "kith/plan.h"

namespace kith::cpu {

// Points of a metric, prepared: converted, and where the plan's path has a filter, packed with the
// terms of its bound. Immutable: searches may share it. With `copy` (an Index) the points' elements
// are copied, otherwise (a single search) the caller's memory is read until the last search. Points
// prepared for a filter serve the path "exact" as well.
class Points;
// Polls `progress` as stage "prepare" and throws where it is cancelled.
std::shared_ptr<const Points> prepare(const MatrixView& points, const MetricSpec& metric,
                                      const Plan& plan, bool copy, ProgressMeter& progress);

// The elements of the points, as kept (valid as long as they are).
MatrixView elements(const Points& points);

// True if their tree has been made, which searches then take instead of a scan.
bool has_tree(const Points& points);
// True if a sample of them has said that boxes leave out most (Plan::tries_tree).
bool boxes_pay(const Points& points);

// The nearest of each query, as many as a row of `results` holds. `graph`: query i excludes id i.
// `only`: the points serve no other search. Adds to the counters of `report`.
void search(const Points& points, const MatrixView& queries, bool graph, const Plan& plan,
            ProgressMeter& progress, const Results& results, Report& report, bool only = false);

// All distances of the queries, in host memory, to the points, into a matrix there.
void distances(const Points& points, const DistancesRequest& request);

}  // namespace kith::cpu
