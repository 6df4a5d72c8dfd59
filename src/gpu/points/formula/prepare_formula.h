// The direct filter of a user's formula: the coordinate range that its bound covers, from a sample
// of the points, and the words of rows.
#pragma once

#include "gpu/points/points.h"

namespace kith::gpu {

// Sets the form: growth, lost and range. If no range around the sample has a usable bound, the form
// filters nothing (filters_nothing). Synchronises for the sample.
void set_formula_form(const DeviceRows& points, const DeviceMetric& metric, FilterVectors& out,
                      cudaStream_t stream);
// True for such a form: all queries are scanned. Forms of metrics never are.
bool filters_nothing(const FilterForm& form);

// Like MetricKernels::filter_points and filter_queries, for the form and the range of `of`.
void formula_points(const PreparedRows& rows, const FilterVectors& of, void* words,
                    float* half_norm, float* point_error, const metric::Params& params,
                    cudaStream_t stream);
void formula_queries(const PreparedRows& rows, const FilterVectors& of, void* words,
                     float* query_error, std::uint8_t* unfit, const metric::Params& params,
                     cudaStream_t stream);

}  // namespace kith::gpu
