// Calls of no points or no queries, whose answer is known: no device works.
#pragma once

#include "api/radius.h"
#include "kith/types.h"

namespace kith::api {

inline bool has_no_pairs(const MatrixView& points, const MatrixView& queries) {
    return points.rows == 0 || queries.rows == 0;
}

// Of a call of q queries. Throws invalid_argument of options that no machine would take.
Report report_without_pairs(const Options& options, std::int64_t q);

// Every neighbour missing, in all q rows of a result, on the host or a device. `element`: of its
// distances.
void put_missing(std::int64_t q, std::int64_t k, bool largest, ElementType element,
                 const NeighborsView& out);
// The same of a search.
Report search_without_pairs(std::int64_t q, std::int64_t k, const Options& options,
                            const NeighborsView& out);

// Nothing within any radius: counts of 0, or q rows without points.
Report radius_without_pairs(std::int64_t q, const Options& options, const RadiusWants& wants);

}  // namespace kith::api
