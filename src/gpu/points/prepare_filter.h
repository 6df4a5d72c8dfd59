// Preparing points for a filter: its form, from a sample of them, and their vectors.
#pragma once

#include "gpu/points/points.h"

namespace kith::gpu {

// Whether the metric has that kind of filter, for points of that type.
bool has_filter(const DeviceMetric& metric, ElementType points, FilterKind kind);
// The vectors of its form, in its order, with what belongs to them.
void fill_filter(const DeviceRows& points, const DeviceMetric& metric, FilterVectors& out,
                 cudaStream_t stream);
// Its form alone, of products in one term. Synchronises for centre and scale.
FilterVectors prepare_form(const DeviceRows& points, const DeviceMetric& metric,
                           cudaStream_t stream);
// Vectors of the filter. Synchronises likewise.
FilterVectors prepare_filter(const DeviceRows& points, const DeviceMetric& metric, FilterKind kind,
                             cudaStream_t stream);

}  // namespace kith::gpu
