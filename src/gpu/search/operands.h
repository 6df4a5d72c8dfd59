// The two sides of a sweep that k nearest neighbours and range searches share.
#pragma once

#include "gpu/filter/pass.h"
#include "gpu/points/points.h"

namespace kith::gpu {

// `vectors` and `query_error` (2 q, see filter_queries) are what the filter prepared of q queries.
inline Operands operands_of(const FilterVectors& filter, const DeviceMetric& metric,
                            const void* vectors, const float* query_error, std::int64_t q,
                            std::int64_t n) {
    const exact::DirectForm& direct = filter.form.direct;
    return {.step = direct.step,
            .coordinates = direct.coordinates,
            .exponent = direct.exponent,
            .formula = metric.spec.formula.get(),
            .queries = vectors,
            .points = filter.vectors.get(),
            .half_norm = filter.half_norm.get(),
            .query_term = query_error + q,
            .q = q,
            .n = n,
            .width = filter.form.width};
}

}  // namespace kith::gpu
