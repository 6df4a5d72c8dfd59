// The path of a search: which one serves it, and takes least.
#pragma once

#include <string>

#include "plan/planner.h"
#include "plan/rates/costs.h"
#include "strategy/facts.h"

namespace kith::planner {

// A path, and what its sentence in Plan::why says in addition to what the path is.
struct Choice {
    Path path = Path::exact;
    std::string because;
    double seconds = 0;  // by the planner's rates; 0: there are none
};

// `device`: the GPU, or null. Throws invalid_argument for a path that is unknown or cannot serve.
Choice choose_path(const Request& request, const Machine::Device* device, const Machine& machine);

// Seconds of a search by a plan of a CPU, where a sample may decide what is likely; infinity where
// rates are absent.
double planned_seconds(const CostRates& rates, const Request& request, const Plan& plan);

// Seconds of one of a plan's strategies that answers all queries, by the planner's own rates; 0
// where it has none, and for a variant of another strategy.
double attempt_seconds(const strategy::Facts& strategy, const Request& request, const Plan& plan);

// The strategy that Options::path puts ahead of the planner's choice; "": none.
std::string first_of(const Request& request, bool gpu);
// The path whose tiles a tree's plan has on a GPU, for queries that look at too many points.
Path behind_tree(const Request& request, const Machine::Device& device, const Machine& machine);
// True if a sample of the points is asked about boxes.
bool tries_tree(const Request& request, const Machine::Device* device, const Machine& machine,
                const Plan& plan);

}  // namespace kith::planner
