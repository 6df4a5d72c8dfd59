// Kruliš and Kratochvíl 2020, "Detailed Analysis and Optimization of CUDA K-Means Algorithm", as
// Hanak 2023, 3.3.2 has it: queries stay in shared memory, points slide past them, and a thread
// keeps r_q x r_p sums in registers.
//
// grid    a block per 64 queries and run of points: all points where queries alone fill the device
// block   256 threads; holds all words of its queries, and a window of 128 points, up to 32 words
// at a time. Where that
//         does not fit, its queries' words come in the same pieces, again for every window
// thread  4 x 8 pairs of the window: per word it reads 12 and takes 32 steps
#include "gpu/runtime/check.h"
#include "gpu/runtime/shared_memory.h"
#include "papers/distance/bands.h"
#include "papers/distance/store.cuh"

namespace kith::gpu {

namespace {

using distance::FourWords;
using distance::load_four;

constexpr int threads = 256, block_queries = 64, window = 128, query_sums = 4, point_sums = 8,
              most_words = 32;
static_assert(window == filter_tile_queries && window % block_queries == 0,
              "a window is a panel, a block within one");
static_assert(block_queries * window == threads * query_sums * point_sums);

// The words of a row that shared memory holds.
struct SharedWords {
    int query_words, point_words;
    std::size_t bytes() const {
        return (static_cast<std::size_t>(query_words) * block_queries +
                static_cast<std::size_t>(point_words) * window) *
               sizeof(float);
    }
};

template <class Step>
__global__ void __launch_bounds__(threads, 2)
    krulis_kernel(DistanceJob job, SharedWords shared, unsigned query_blocks, unsigned runs) {
    extern __shared__ __align__(16) float krulis_shared[];
    float* const query_words = krulis_shared;                                     // [word][query]
    float* const point_words = query_words + shared.query_words * block_queries;  // [word][point]
    const int thread = static_cast<int>(threadIdx.x), across = thread % 16, down = thread / 16;
    const std::int64_t first_query = (job.first_query / block_queries + blockIdx.x % query_blocks) *
                                     block_queries,
                       windows = (job.n + window - 1) / window, run = blockIdx.x / query_blocks;
    const float* const queries = job.queries + distance::row_place<Step>(first_query, job.width);
    const auto bring_queries = [&](std::int64_t first, int words) {
        constexpr int fours = block_queries / 4;
        for (int i = thread; i < words * fours; i += threads) {
            const FourWords at = distance::four_words<Step>(i, block_queries);
            distance::keep_four<Step>(
                query_words, at, block_queries,
                *reinterpret_cast<const float4*>(queries + first * filter_tile_queries +
                                                 distance::place_in_panel<Step>(at)));
        }
    };
    const bool all = shared.query_words >= job.width;
    if (all) bring_queries(0, static_cast<int>(job.width));

    const std::int64_t last = windows * (run + 1) / runs;
    for (std::int64_t at = windows * run / runs; at < last; ++at) {
        typename Step::Acc sums[query_sums][point_sums] = {};
        for (std::int64_t first = 0; first < job.width; first += shared.point_words) {
            const int words =
                static_cast<int>(min(std::int64_t{shared.point_words}, job.width - first));
            __syncthreads();  // everyone has taken the steps of the last piece
            // A panel's words are side by side, each of all its rows.
            const auto* const points =
                reinterpret_cast<const float4*>(job.points + (at * job.width + first) * window);
            for (int i = thread; i < words * (window / 4); i += threads)
                distance::keep_four<Step>(point_words, distance::four_words<Step>(i, window),
                                          window, points[i]);
            if (!all) bring_queries(first, words);
            __syncthreads();
            const float* const q_words =
                query_words + (all ? first * block_queries : std::int64_t{0}) + down * query_sums;
            const float* const x_words = point_words + across * 4;
#pragma unroll 4
            for (int w = 0; w < words; ++w) {
                float q[query_sums], x[point_sums];
                load_four(q, q_words + w * block_queries);
                load_four(x, x_words + w * window);
                load_four(x + 4, x_words + w * window + window / 2);
#pragma unroll
                for (int a = 0; a < query_sums; ++a)
#pragma unroll
                    for (int b = 0; b < point_sums; ++b)
                        Step::step(sums[a][b], q[a], x[b], job.exponent);
            }
        }
#pragma unroll
        for (int a = 0; a < query_sums; ++a) {
            const std::int64_t query = first_query + down * query_sums + a - job.first_query;
            distance::store_four<Step>(job, query, at * window + across * 4, sums[a]);
            distance::store_four<Step>(job, query, at * window + window / 2 + across * 4,
                                       sums[a] + 4);
        }
    }
}

// All words of the queries where there is room for them.
SharedWords shared_words_of(std::int64_t width, std::size_t room) {
    const int piece = static_cast<int>(std::min<std::int64_t>(width, most_words));
    const std::size_t needed = (static_cast<std::size_t>(width) * block_queries +
                                static_cast<std::size_t>(piece) * window) *
                               sizeof(float);
    return {needed <= room ? static_cast<int>(width) : piece, piece};
}

}  // namespace

void krulis_distances(const DistanceJob& job) {
    const std::int64_t query_blocks =
        (job.first_query + job.q - 1) / block_queries - job.first_query / block_queries + 1;
    const unsigned runs = distance::runs_of((job.n + window - 1) / window, query_blocks);
    distance::with_step(job.step, [&]<class Step>() {
        auto* const kernel = krulis_kernel<Step>;
        const auto most =
            static_cast<std::size_t>(most_shared_bytes.load(std::memory_order_relaxed));
        const SharedWords shared =
            shared_words_of(job.width, std::min(allow_shared_memory(kernel), most));
        kernel<<<static_cast<unsigned>(query_blocks) * runs, threads, shared.bytes(), job.stream>>>(
            job, shared, static_cast<unsigned>(query_blocks), runs);
    });
    check_launch("krulis_distances");
}

}  // namespace kith::gpu
