// Points prepared for a filter along few directions: which directions, and whether they pay.
#pragma once

#include <optional>

#include "gpu/filter/projection.h"
#include "gpu/points/points.h"

namespace kith::gpu {

// Vectors of a filter's own vectors, by position.
struct ProjectedVectors {
    Directions directions;
    Buffer<double> matrix, shift;  // what `directions` points into
    Buffer<char> vectors;          // rows of directions.form.width halves, or of twice as many numbers of 8 bits
    Buffer<float> half_norm;       // of numbers of 8 bits, ints
    Buffer<char> terms;            // of these, where they fit into terms (bytes.h), less `base`
    int base = 0;
    double share = 0;  // of the points that pass, as a sample says, for some dozens of neighbours
};

// What may be made of a filter's vectors.
struct ProjectionChoices {
    bool directions = false, bytes = false;
    bool always = false;  // even where it saves too little
};

// The directions in which a sample of the points is longest, as many as make a search cheapest by what passes of the
// sample, or all coordinates as numbers of 8 bits where these are cheaper; none where they save too little, or where
// there are too few points or coordinates. Synchronises.
std::optional<ProjectedVectors> find_projection(const FilterVectors& filter, std::int64_t n, ProjectionChoices choices,
                                                cudaStream_t stream);

}  // namespace kith::gpu
