// What points keep of a projection that a sample has found: its matrix with errors, and how its
// numbers are rounded.
#pragma once

#include <cstdint>

#include "gpu/points/byte_form.h"
#include "gpu/points/projection.h"
#include "gpu/points/projection_costs.h"
#include "gpu/points/projection_sample.h"

namespace kith::gpu {

// Numbers of 8 bits of the vectors' own coordinates, or of these turned, where their sizes differ
// so much that one step does not suit all.
struct CoordinateBytes {
    ChosenBytes chosen{};  // of step 0: all coordinates are equal
    bool is_turned = false;
    Buffer<double> rotation{};
    std::int64_t stride = 0;  // of the rotation

    explicit operator bool() const { return chosen.step > 0; }
};
CoordinateBytes choose_coordinate_bytes(const ProjectionSample& sample);

// What `out` has beside rows: of directions of the sample, in fp16 or in 8 bits, with stages behind
// them, or of all coordinates in 8 bits. False where rounding leaves none of them.
bool keep_directions(const ProjectionSample& sample, ChosenColumns choice, bool in_bytes,
                     ProjectedVectors& out);
bool keep_coordinates(const ProjectionSample& sample, const CoordinateBytes& bytes,
                      ProjectedVectors& out);

}  // namespace kith::gpu
