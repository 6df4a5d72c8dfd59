// Applies a projection that a sample has found: its matrix with error bounds, and the quantization
// of its coordinates.
#pragma once

#include <cstdint>

#include "gpu/points/pca/byte_form.h"
#include "gpu/points/pca/projection.h"
#include "gpu/points/pca/projection_costs.h"
#include "gpu/points/pca/projection_sample.h"

namespace kith::gpu {

// int8 quantization of the vectors' own coordinates. They are rotated first if they differ too much
// in size for one step.
struct CoordinateBytes {
    ChosenBytes chosen{};  // step 0: all coordinates are equal
    bool is_turned = false;
    Buffer<double> rotation{};
    std::int64_t stride = 0;  // of the rotation

    explicit operator bool() const { return chosen.step > 0; }
};
CoordinateBytes choose_coordinate_bytes(const ProjectionSample& sample);

// Sets everything in `out` except rows: for principal components of the sample in fp16 or int8,
// with residual stages; or for all coordinates in int8. Returns false if quantization leaves no
// usable column or step.
bool keep_directions(const ProjectionSample& sample, ChosenColumns choice, bool in_bytes,
                     ProjectedVectors& out);
bool keep_coordinates(const ProjectionSample& sample, const CoordinateBytes& bytes,
                      ProjectedVectors& out);

}  // namespace kith::gpu
