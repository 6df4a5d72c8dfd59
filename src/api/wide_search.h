// Searches of roots among points whose distance keys may leave binary64 (docs/exactness.md, section
// 4): an ordinary search finds what its keys tell apart, and the queries that it does not answer so
// are scanned by wide keys.
#pragma once

#include <functional>

#include "api/magnitudes.h"
#include "api/radius.h"
#include "exact/metric_spec.h"
#include "exact/progress.h"
#include "kith/types.h"

namespace kith::api {

// Validated points and queries, wherever they lie.
struct WideCall {
    const MetricSpec& metric;
    const MatrixView& points;
    const MatrixView& queries;  // of a graph, the points
    std::int64_t k;
    bool graph;
    KeyRange range;
    const Options& options;
    ProgressMeter& progress;
    const NeighborsView& out;
};

// search(k, options, into): the ordinary search of the call, as those have it.
using OrdinarySearch =
    std::function<Report(std::int64_t k, const Options& options, const NeighborsView& into)>;
Report search_beyond_range(const WideCall& call, const OrdinarySearch& search);
template <class Search>
Report search_in_range(const WideCall& call, const Search& search) {
    return call.range.is_left() ? search_beyond_range(call, std::cref(search))
                                : search(call.k, call.options, call.out);
}

// The same of a radius.
struct WideRadius {
    const MetricSpec& metric;
    const MatrixView& points;
    const MatrixView& queries;  // of a graph, the points
    KeyRange range;
    const RadiusCall& call;
};
// search(call): the ordinary one.
using OrdinaryRadius = std::function<Report(const RadiusCall& call)>;
Report radius_beyond_range(const WideRadius& radius, const OrdinaryRadius& search);
template <class Search>
Report radius_in_range(const WideRadius& radius, const Search& search) {
    return radius.range.is_left() ? radius_beyond_range(radius, std::cref(search))
                                  : search(radius.call);
}

}  // namespace kith::api
