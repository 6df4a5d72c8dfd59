// Calls without points or queries: their answer is known and no device works.
#pragma once

#include "api/radius/radius.h"
#include "kith/types.h"

namespace kith::api {

inline bool has_no_pairs(const MatrixView& points, const MatrixView& queries) {
    return points.rows == 0 || queries.rows == 0;
}

// For a call of q queries. Throws invalid_argument for options that no machine accepts.
Report report_without_pairs(const Options& options, std::int64_t q);

// Marks every neighbour missing in all q rows of a result, on the host or a device. `element`: the
// type of its distances.
void put_missing(std::int64_t q, std::int64_t k, bool largest, ElementType element,
                 const NeighborsView& out);
// Likewise for a search; returns its report.
Report search_without_pairs(std::int64_t q, std::int64_t k, const Options& options,
                            const NeighborsView& out);

// Nothing within any radius: counts of 0, or q empty rows.
Report radius_without_pairs(std::int64_t q, const Options& options, const RadiusWants& wants);

}  // namespace kith::api
