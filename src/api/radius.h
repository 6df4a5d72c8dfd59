// A validated radius search on the devices of an index: what kith::radius and Index share.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "api/device_group.h"
#include "api/device_index.h"
#include "kith/radius.h"

namespace kith::api {

struct RadiusCall {
    const MatrixView* queries;  // null: the points among themselves
    const Radius& r;
    const Options& options;
    ProgressMeter& progress;
    std::int64_t* counts = nullptr;  // of each query, unless null: then only these are asked for
    const TakeRadiusRows* take = nullptr;
};

// Throws invalid_argument for options that serve other searches.
void check_options(const Options& options);
// The radius of each of q queries. Throws invalid_argument.
std::vector<double> radii_of(const Radius& r, std::int64_t q, const MetricSpec& metric);

// Of validated queries.
Report run_radius(const DeviceIndex& index, const RadiusCall& call);
Report run_radius(const DeviceGroup& group, const MetricSpec& metric, const RadiusCall& call);

// Searches of some queries (host memory) among all points: as DeviceIndex::run, with distances of f64.
using SearchRows =
    std::function<Report(const MatrixView& queries, std::int64_t k, const Options& options, const NeighborsView& out)>;
// The same answer from searches of growing k, of `first_k` at first.
Report radius_by_rounds(const SearchRows& search, std::int64_t n, const MatrixView& queries, const MetricSpec& metric,
                        const RadiusCall& call, std::int64_t first_k = 64);

// An answer from a function that hands on its rows; counts from one that writes them.
RadiusNeighbors collect_radius(std::int64_t q, bool f64, const std::function<Report(const TakeRadiusRows&)>& fill);
RadiusCounts collect_counts(std::int64_t q, const std::function<Report(std::int64_t*)>& fill);

}  // namespace kith::api
