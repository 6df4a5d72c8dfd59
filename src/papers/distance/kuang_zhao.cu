// Kuang and Zhao 2009, "A practical GPU based kNN algorithm": the matrix in tiles, coordinates in
// shared memory.
//
// A block of 16 x 16 threads owns a tile of 16 queries x 16 points, a thread one pair of it.
// Coordinates come 16 at a time: a thread brings one word of a query and one of a point, and takes
// 16 steps with what the block has brought.
#include "gpu/runtime/check.h"
#include "papers/distance/steps.cuh"

namespace kith::gpu {

namespace {

constexpr int tile = 16;

template <class Step>
__global__ void __launch_bounds__(tile* tile) kuang_zhao_kernel(DistanceJob job) {
    __shared__ float query_words[tile][tile + 1], point_words[tile][tile + 1];  // [word][row]
    const auto across = static_cast<unsigned>((job.n + tile - 1) / tile);
    const std::int64_t first_point = std::int64_t{blockIdx.x % across} * tile,
                       first_query = std::int64_t{blockIdx.x / across} * tile;
    const std::int64_t point = first_point + threadIdx.x, query = first_query + threadIdx.y;
    // The row and the word that this thread brings: adjacent threads, adjacent rows. Past the last
    // row, that one again.
    const int row = static_cast<int>(threadIdx.x), word = static_cast<int>(threadIdx.y);
    const float* const q =
        job.queries +
        distance::row_place<Step>(job.first_query + min(first_query + row, job.q - 1), job.width);
    const float* const x =
        job.points + distance::row_place<Step>(min(first_point + row, job.n - 1), job.width);
    typename Step::Acc sum{};
    for (std::int64_t first = 0; first < job.width; first += tile) {
        const bool there = first + word < job.width;
        const std::int64_t at = distance::word_place<Step>(first + word);
        query_words[word][row] = there ? q[at] : 0.0f;
        point_words[word][row] = there ? x[at] : 0.0f;
        __syncthreads();
        // Zeros on both sides add nothing.
#pragma unroll
        for (int i = 0; i < tile; ++i)
            Step::step(sum, query_words[i][threadIdx.y], point_words[i][threadIdx.x], job.exponent);
        __syncthreads();
    }
    if (point >= job.n || query >= job.q) return;
    distance::store_value<Step>(job, query, point, sum);
}

}  // namespace

void kuang_zhao_distances(const DistanceJob& job) {
    const std::int64_t blocks = (job.n + tile - 1) / tile * ((job.q + tile - 1) / tile);
    distance::with_step(job.step, [&]<class Step>() {
        kuang_zhao_kernel<Step>
            <<<static_cast<unsigned>(blocks), dim3(tile, tile), 0, job.stream>>>(job);
    });
    check_launch("kuang_zhao_distances");
}

}  // namespace kith::gpu
