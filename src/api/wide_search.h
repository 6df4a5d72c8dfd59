// Searches under metrics with a root, among points with distance keys that may leave binary64's
// range (docs/proofs/filter.md, lemma 4). An ordinary search answers what its keys distinguish; the
// remaining queries are scanned by wide keys.
#pragma once

#include <functional>

#include "api/check/magnitudes.h"
#include "api/radius/radius.h"
#include "exact/metric_spec.h"
#include "exact/report/progress.h"
#include "kith/types.h"

namespace kith::api {

// Validated points and queries, in host or device memory.
struct WideCall {
    const MetricSpec& metric;
    const MatrixView& points;
    const MatrixView& queries;  // for a graph, the points
    std::int64_t k;
    bool graph;
    KeyRange range;
    const Options& options;
    ProgressMeter& progress;
    const NeighborsView& out;
};

// search(k, options, into): the ordinary search of the call with these arguments.
using OrdinarySearch =
    std::function<Report(std::int64_t k, const Options& options, const NeighborsView& into)>;
Report search_beyond_range(const WideCall& call, const OrdinarySearch& search);
template <class Search>
Report search_in_range(const WideCall& call, const Search& search) {
    return call.range.is_left() ? search_beyond_range(call, std::cref(search))
                                : search(call.k, call.options, call.out);
}

// Likewise for a range search.
struct WideRadius {
    const MetricSpec& metric;
    const MatrixView& points;
    const MatrixView& queries;  // for a graph, the points
    KeyRange range;
    const RadiusCall& call;
};
// search(call): the ordinary range search.
using OrdinaryRadius = std::function<Report(const RadiusCall& call)>;
Report radius_beyond_range(const WideRadius& radius, const OrdinaryRadius& search);
template <class Search>
Report radius_in_range(const WideRadius& radius, const Search& search) {
    return radius.range.is_left() ? radius_beyond_range(radius, std::cref(search))
                                  : search(radius.call);
}

}  // namespace kith::api
