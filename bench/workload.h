// One timed workload: its shape, and what came out of running it.
#pragma once

#include <string>
#include <vector>

#include "kith/kith.h"
#include "search/data.h"
#include "timing.h"

namespace kith::bench {

struct Workload {
    std::string name;
    bool select = false;
    std::int64_t n = 100'000;  // points; columns of a selection
    std::int64_t q = 1'000;    // queries; rows of a selection
    std::int64_t d = 128;
    std::int64_t k = 10;
    // For a search:
    bool graph = false;  // the points are the queries
    Data data = Data::gaussian;
    ElementType type = ElementType::f32;
};

struct Result {
    Workload workload;
    double prepare_seconds = 0;  // search: making the Index
    Timing once;                 // search(), graph() or select()
    Timing indexed;              // search: Index::search, Index::graph
};

// The library's intent with it.
Plan plan_of(const Workload& workload, const Options& options);

// The workload that the metric can be timed on: where it has but one number of dimensions, that.
Workload served(Workload workload, MetricId metric);

// Data from a fixed seed, on the device that the plan of `options` names; one run to warm up, then `repeat` timed ones
// of each way. Throws kith::Error.
Result run(const Workload& workload, const Options& options, int repeat);

// The workloads of `kith-bench suite`.
std::vector<Workload> suite(bool quick);

}  // namespace kith::bench
