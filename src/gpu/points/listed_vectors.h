// Points that stay in host memory while numbers of 8 bits of all of them are on the device and
// their fp16 vectors are not (HostPoints::bytes): the vectors of a first sample are there, and
// those of rows that pass the bytes are made of the rows when they are wanted.
#pragma once

#include "gpu/points/points.h"

namespace kith::gpu {

// Vectors, half norms and errors of the rows index[0 .. count) of the points (device memory), in
// that order, by a filter's form; half norms and errors have room for whole tiles.
void make_vectors(const DeviceRows& points, const DeviceMetric& metric, const FilterForm& form,
                  const std::int64_t* index, std::int64_t count, void* vectors, float* half_norm,
                  float* point_error, cudaStream_t stream);

// Makes the chunk's filter, of a sample, and its projection in bytes, of all rows of `source`,
// which the chunk's points are. False where no step of bytes serves such points. Synchronises;
// `poll` is called now and then, and may throw.
bool prepare_bytes(const MatrixView& source, Chunk& chunk, const DeviceMetric& metric,
                   cudaStream_t stream, const std::function<void()>& poll);

}  // namespace kith::gpu
