// Centre, scale and kappa of a filter of products, from a sample of the points.
#pragma once

#include <vector>

#include "gpu/points/points.h"

namespace kith::gpu {

// Chooses those of `out.form`, whose other fields are set. They affect how tight the bound is, not
// the answer. Waits for the stream, and computes on the host.
void choose_from_sample(const DeviceRows& points, const DeviceMetric& metric, FilterVectors& out,
                        cudaStream_t stream);

// Makes a copy of d coordinates the centre of the form.
void set_centre(FilterVectors& out, const std::vector<double>& centre, cudaStream_t stream);

}  // namespace kith::gpu
