// Prepares points for a filter: the filter's form, from a sample, and the points' vectors.
#pragma once

#include "gpu/points/points.h"

namespace kith::gpu {

// True if the metric has that kind of filter for points of that type.
bool has_filter(const DeviceMetric& metric, ElementType points, FilterKind kind);
// Fills the vectors of the filter's form, in its order, with half norms and errors.
void fill_filter(const DeviceRows& points, const DeviceMetric& metric, FilterVectors& out,
                 cudaStream_t stream);
// The form alone, for products in one term. Synchronises for centre and scale.
FilterVectors prepare_form(const DeviceRows& points, const DeviceMetric& metric,
                           cudaStream_t stream);
// The form of f32 words of rows in their own order, without tie shares; and the words themselves,
// in the metric's own direct form. Synchronises for centre and scale.
FilterVectors prepare_words_form(const exact::DirectForm& words, const DeviceRows& points,
                                 const DeviceMetric& metric, cudaStream_t stream);
FilterVectors prepare_words(const DeviceRows& points, const DeviceMetric& metric,
                            cudaStream_t stream);
// Form and vectors of the filter. Synchronises for the sample.
FilterVectors prepare_filter(const DeviceRows& points, const DeviceMetric& metric, FilterKind kind,
                             cudaStream_t stream);

}  // namespace kith::gpu
