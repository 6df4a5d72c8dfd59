// The direct filter of a user's formula: the range of coordinates that its bound covers, from a
// sample of the points, and the words of rows.
#pragma once

#include "gpu/points/points.h"

namespace kith::gpu {

// Its form: growth, lost and range. Where no range that the points suggest has a bound that serves,
// none (see filters_nothing). Synchronises for the sample.
void set_formula_form(const DeviceRows& points, const DeviceMetric& metric, FilterVectors& out,
                      cudaStream_t stream);
// Such a form: all queries are scanned. It is never one of a metric.
bool filters_nothing(const FilterForm& form);

// As MetricKernels::filter_points and filter_queries, for the form and the range of `of`.
void formula_points(const PreparedRows& rows, const FilterVectors& of, void* words,
                    float* half_norm, float* point_error, const metric::Params& params,
                    cudaStream_t stream);
void formula_queries(const PreparedRows& rows, const FilterVectors& of, void* words,
                     float* query_error, std::uint8_t* unfit, const metric::Params& params,
                     cudaStream_t stream);

}  // namespace kith::gpu
