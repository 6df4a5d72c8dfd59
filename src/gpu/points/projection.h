// Points prepared for a filter along few directions: which directions, and whether they pay.
#pragma once

#include <optional>

#include "gpu/filter/projection.h"
#include "gpu/points/points.h"

namespace kith::gpu {

// Vectors of a filter's own vectors, by position.
struct ProjectedVectors {
    Directions directions;
    Buffer<double> matrix;  // what `directions` points into
    Buffer<char> vectors;   // rows of directions.form.width halves
    Buffer<float> half_norm;
    double share = 0;  // of the points that pass, as a sample says, for some dozens of neighbours
};

// The directions in which a sample of the points is longest, as many as make a search cheapest by what passes of the
// sample; none where they save too little and are not wanted `always`, or where there are too few points or
// coordinates. Synchronises.
std::optional<ProjectedVectors> find_projection(const FilterVectors& filter, std::int64_t n, bool always,
                                                cudaStream_t stream);

}  // namespace kith::gpu
