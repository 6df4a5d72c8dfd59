// The matrix product of MAGMA with other operators in place of times and plus (Hanak 2023, 3.3):
// tiles of shared memory, and of registers.
//
// A block of 256 threads owns a tile of 128 queries x 128 points, a thread 8 x 8 pairs of it: per
// word it reads 16 and takes 64 steps. Words come 8 of a row at a time: while the block takes the
// steps of one slice, its threads hold the next one in registers, and write it to the other of two
// buffers, so that a barrier per slice is enough.
#include "gpu/runtime/check.h"
#include "papers/distance/store.cuh"

namespace kith::gpu {

namespace {

using distance::FourWords;
using distance::load_four;

constexpr int tile = 128, threads = 256, slice = 8, own = 8;
static_assert(tile == filter_tile_queries, "a tile is a panel on either side");
static_assert(slice * tile == 4 * threads, "a thread brings four words of either side");

// A thread's rows of a side: four, and four half a tile on.
__device__ __forceinline__ int own_row(int part, int i) {
    return i / 4 * (tile / 2) + part * 4 + i % 4;
}

// Words whose steps stand in the text: those of other steps than powers are long.
template <class Step>
constexpr int unrolled = distance::is_norm<Step> ? slice : Step::unrolled;

template <class Step>
__global__ void __launch_bounds__(threads, Step::blocks)
    register_tiled_kernel(DistanceJob job, unsigned query_panels) {
    __shared__ __align__(16) float query_words[2][slice][tile], point_words[2][slice][tile];
    const int thread = static_cast<int>(threadIdx.x), across = thread % 16, down = thread / 16;
    const auto query_panel = static_cast<int>(job.first_query / tile + blockIdx.x % query_panels),
               point_panel = static_cast<int>(blockIdx.x / query_panels),
               width = static_cast<int>(job.width);
    // What this thread brings.
    const FourWords own_words = distance::four_words<Step>(thread, tile);
    const int place = distance::place_in_panel<Step>(own_words);
    const float* const queries = job.queries + std::int64_t{query_panel} * tile * width + place;
    const float* const points = job.points + std::int64_t{point_panel} * tile * width + place;
    float4 next_query, next_point;
    const auto bring = [&](int first) {
        // Zeros on both sides add nothing.
        const bool there = first + own_words.word < width;
        const float4 zeros = make_float4(0, 0, 0, 0);
        next_query = there ? *reinterpret_cast<const float4*>(queries + first * tile) : zeros;
        next_point = there ? *reinterpret_cast<const float4*>(points + first * tile) : zeros;
    };
    const auto keep = [&](int buffer) {
        distance::keep_four<Step>(query_words[buffer][0], own_words, tile, next_query);
        distance::keep_four<Step>(point_words[buffer][0], own_words, tile, next_point);
    };

    typename Step::Acc sums[own][own] = {};
    bring(0);
    keep(0);
    __syncthreads();
    int buffer = 0;
    for (int first = 0; first < width; first += slice) {
        const bool more = first + slice < width;
        if (more) bring(first + slice);
#pragma unroll unrolled < Step>
        for (int w = 0; w < slice; ++w) {
            float q[own], x[own];
#pragma unroll
            for (int i = 0; i < own; i += 4) {
                load_four(q + i, &query_words[buffer][w][own_row(down, i)]);
                load_four(x + i, &point_words[buffer][w][own_row(across, i)]);
            }
#pragma unroll
            for (int a = 0; a < own; ++a)
#pragma unroll
                for (int b = 0; b < own; ++b) Step::step(sums[a][b], q[a], x[b], job.exponent);
        }
        // Everyone is past the other buffer since the last barrier.
        buffer ^= 1;
        if (more) keep(buffer);
        __syncthreads();
    }
#pragma unroll
    for (int a = 0; a < own; ++a) {
        const std::int64_t query =
            std::int64_t{query_panel} * tile + own_row(down, a) - job.first_query;
#pragma unroll
        for (int b = 0; b < own; b += 4)
            distance::store_four<Step>(
                job, query, std::int64_t{point_panel} * tile + own_row(across, b), &sums[a][b]);
    }
}

}  // namespace

void register_tiled_distances(const DistanceJob& job) {
    const std::int64_t query_panels =
                           (job.first_query + job.q - 1) / tile - job.first_query / tile + 1,
                       point_panels = (job.n + tile - 1) / tile;
    distance::with_step(job.step, [&]<class Step>() {
        register_tiled_kernel<Step>
            <<<static_cast<unsigned>(query_panels * point_panels), threads, 0, job.stream>>>(
                job, static_cast<unsigned>(query_panels));
    });
    check_launch("register_tiled_distances");
}

}  // namespace kith::gpu
