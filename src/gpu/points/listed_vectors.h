// Host-resident points with int8 vectors of all rows on the device, but no fp16 vectors
// (HostPoints::bytes). A first sample has fp16 vectors on the device. Candidates of the int8 filter
// get theirs from the host rows when they are rescored.
#pragma once

#include "gpu/points/points.h"

namespace kith::gpu {

// Makes vectors, half norms and errors of rows index[0 .. count) of the points (device memory), in
// that order, in a filter's form. Half norms and errors have room for whole tiles.
void make_vectors(const DeviceRows& points, const DeviceMetric& metric, const FilterForm& form,
                  const std::int64_t* index, std::int64_t count, void* vectors, float* half_norm,
                  float* point_error, cudaStream_t stream);

// Makes the chunk's filter, from a sample, and its int8 projection, from all rows of `source`,
// which are the chunk's points. Returns false if no int8 step serves the points. Synchronises.
// `poll` is called repeatedly, and may throw.
bool prepare_bytes(const MatrixView& source, Chunk& chunk, const DeviceMetric& metric,
                   cudaStream_t stream, const std::function<void()>& poll);

}  // namespace kith::gpu
