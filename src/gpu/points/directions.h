// Orthonormal columns on a device: what subspace iteration needs of linear algebra.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace kith::gpu {

// rows x columns of binary64, `stride` apart.
struct Columns {
    double* data;
    std::int64_t rows, columns, stride;
};

// Columns near the directions in which `count` rows of `depth` halves are longest, orthonormal but for rounding; the
// first of them are the directions of as many. A column that the ones before span becomes 0. The same bits at each
// call.
void find_directions(const __half* rows, std::int64_t count, const Columns& out, cudaStream_t stream);

// A' A: columns x columns, out.stride apart.
void gram(const Columns& a, const Columns& out, cudaStream_t stream);

// What `queries` rows of a sample, evenly spaced, and all `count` rows of it make of a pair's value by all coordinates,
// and by the first columns and the remainder, for each of `choices` numbers of columns: from out[(i * count + x) *
// (choices + 2)] on the value by all, the others, and the least that a row as long as x could have. A value is half of
// |x|^2 (`square`) less the product, or its lower bound.
struct TrialTask {
    const __half* rows;
    std::int64_t count, depth, queries;
    const double* along;  // coordinates of the rows along the columns, `stride` apart
    std::int64_t stride;
    int choices;
    int columns[4];
    bool square;
};
void trial_values(const TrialTask& task, float* out, cudaStream_t stream);

}  // namespace kith::gpu
