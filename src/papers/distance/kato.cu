// Kato and Hosino 2009, "Solving k-Nearest Neighbor Problem on Multiple Graphics Processors", phase
// 1 (their Fig. 7): a block owns rows of the matrix and computes them a band of columns after the
// other.
//
// grid    a block per BSIZE queries and run of points: all points where queries alone fill the
// device block   BSIZE x C1 threads; the words of its queries and of a band of C1 points come to
// shared memory C2 at a time thread  one pair of the band, its sum in a register: a lane a point, a
// warp a query
#include "gpu/runtime/check.h"
#include "papers/distance/bands.h"
#include "papers/distance/steps.cuh"

namespace kith::gpu {

namespace {

// Their BSIZE, C1 and C2, which is to be a multiple of 32.
constexpr int block_rows = 16, band = 32, piece = 32, threads = block_rows * band;
static_assert(filter_tile_queries % band == 0, "a band is within a panel");
static_assert(piece * block_rows == threads,
              "a thread brings one word of a query, and piece / block_rows of points");

template <class Step>
__global__ void __launch_bounds__(threads)
    kato_kernel(DistanceJob job, unsigned query_blocks, unsigned runs) {
    __shared__ float query_words[piece][block_rows + 1], point_words[piece][band];  // [word][row]
    const int thread = static_cast<int>(threadIdx.x), lane = thread % band, row = thread / band;
    const std::int64_t first_query = std::int64_t{blockIdx.x % query_blocks} * block_rows,
                       query = first_query + row, bands = (job.n + band - 1) / band,
                       run = blockIdx.x / query_blocks;
    // What this thread brings: a word of a query (past the last one that one again), and some of a
    // point.
    const int query_row = thread % block_rows, query_word = thread / block_rows;
    const float* const queries =
        job.queries + distance::row_place<Step>(
                          job.first_query + min(first_query + query_row, job.q - 1), job.width);
    const std::int64_t last = bands * (run + 1) / runs;
    for (std::int64_t at = bands * run / runs; at < last; ++at) {
        // Panels are whole: there are words past the last point.
        const std::int64_t point = at * band + lane;
        const float* const points = job.points + distance::row_place<Step>(point, job.width);
        typename Step::Acc sum{};
        for (std::int64_t first = 0; first < job.width; first += piece) {
            // Zeros on both sides add nothing.
            const auto word_of = [&](const float* from, int word) {
                return first + word < job.width ? from[distance::word_place<Step>(first + word)]
                                                : 0.0f;
            };
            query_words[query_word][query_row] = word_of(queries, query_word);
#pragma unroll
            for (int word = row; word < piece; word += block_rows)
                point_words[word][lane] = word_of(points, word);
            __syncthreads();
#pragma unroll
            for (int i = 0; i < piece; ++i)
                Step::step(sum, query_words[i][row], point_words[i][lane], job.exponent);
            __syncthreads();
        }
        if (point < job.n && query < job.q) distance::store_value<Step>(job, query, point, sum);
    }
}

}  // namespace

void kato_distances(const DistanceJob& job) {
    const std::int64_t query_blocks = (job.q + block_rows - 1) / block_rows;
    const unsigned runs = distance::runs_of((job.n + band - 1) / band, query_blocks);
    distance::with_step(job.step, [&]<class Step>() {
        kato_kernel<Step><<<static_cast<unsigned>(query_blocks) * runs, threads, 0, job.stream>>>(
            job, static_cast<unsigned>(query_blocks), runs);
    });
    check_launch("kato_distances");
}

}  // namespace kith::gpu
