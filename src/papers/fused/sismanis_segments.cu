// Scoring and sorting interleaved by segments (Sismanis 2012, 3.2), with the truncated bitonic sort
// (3.1).
//
// Grid: a block of 512 threads per four queries (or one, of few queries and of long lists) and part
// of the points. The block walks its part in segments: 1,024 points (2,048 of one query), whose
// distances it computes to shared memory, a thread two (four) points with each of its queries;
// sorts and truncates them to a list a query; and merges these with the best of the segments before
// (primitives/truncated_bitonic.cuh). Every step is the same for any data. Only a segment's
// distances exist at a time. The lists of a query's parts are then merged (fused.cu).
//
// Words of points are read once for all queries of the block, adjacent lanes adjacent points; a
// word of the queries is one load of the warp.
#include "gpu/primitives/truncated_bitonic.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/shared_memory.h"
#include "papers/distance/steps.cuh"
#include "papers/fused/fused.h"

namespace kith::gpu {

namespace {

using distance::value_of;
using tbis::threads;

constexpr int several = 4;  // queries of a block
constexpr int panel = static_cast<int>(filter_tile_queries);

constexpr int segment_of(int queries) {
    return queries == 1 ? 2048 : 1024;
}

template <class Step, int queries>
__global__ void __launch_bounds__(threads) segments_kernel(FusedJob job, int length) {
    constexpr int segment = segment_of(queries), each = segment / threads;
    static_assert(queries * segment <= tbis::longest);
    extern __shared__ Packed scores_and_best[];
    Packed *const scores = scores_and_best, *const best = scores + queries * segment;
    const std::int64_t query_blocks = (job.q + queries - 1) / queries;
    const std::int64_t first_query = blockIdx.x % query_blocks * queries,
                       part = blockIdx.x / query_blocks;
    const std::int64_t begin = part * job.parts.points, end = min(begin + job.parts.points, job.n);
    // Adjacent queries of one panel; those past the last are zeros.
    const float* const of_queries = job.queries + direct_place(first_query, 0, job.width);
    Tally tally;
    for (std::int64_t base = begin; base < end; base += segment) {
        float values[each][queries] = {};
        const float* of_points[each];
#pragma unroll
        for (int u = 0; u < each; ++u)  // past the last point, that one again
            of_points[u] =
                job.points +
                direct_place(min(base + threadIdx.x + u * threads, job.n - 1), 0, job.width);
#pragma unroll 4
        for (std::int64_t w = 0; w < job.width; ++w) {
            float q[queries];
            if constexpr (queries == 4) {
                const float4 four = *reinterpret_cast<const float4*>(of_queries + w * panel);
                q[0] = four.x;
                q[1] = four.y;
                q[2] = four.z;
                q[3] = four.w;
            } else {
                static_assert(queries == 1);
                q[0] = of_queries[w * panel];
            }
#pragma unroll
            for (int u = 0; u < each; ++u) {
                const float x = of_points[u][w * panel];
#pragma unroll
                for (int j = 0; j < queries; ++j)
                    values[u][j] = Step::add(values[u][j], q[j], x, job.exponent);
            }
        }
#pragma unroll
        for (int u = 0; u < each; ++u) {
            const int at = static_cast<int>(threadIdx.x) + u * threads;
            const std::int64_t point = base + at;
            const float h = job.half_norm[min(point, job.n - 1)];
#pragma unroll
            for (int j = 0; j < queries; ++j)
                scores[j * segment + at] =
                    point < end
                        ? pack(value_of(values[u][j], h), static_cast<std::uint32_t>(point), false)
                        : packed_end;
        }
        __syncthreads();
        tbis::truncate(scores, queries * segment, length, queries * length, tally);
        tbis::keep_best(best, scores, queries * length, length, base > begin, tally);
    }
    const int listed = static_cast<int>(job.listed);
    for (int i = threadIdx.x; i < queries * listed; i += threads) {
        const int query = i / listed, j = i % listed;
        if (first_query + query >= job.q) continue;
        const bool descends = query & 1;  // every other list does
        job.lists[((first_query + query) * job.parts.count + part) * listed + j] =
            best[query * length + (descends ? length - 1 - j : j)];
    }
}

template <class Step, int queries>
void launch(const FusedJob& job) {
    const auto length = static_cast<int>(job.capacity);
    const std::int64_t blocks = (job.q + queries - 1) / queries * job.parts.count;
    allow_shared_memory(segments_kernel<Step, queries>);
    segments_kernel<Step, queries>
        <<<static_cast<unsigned>(blocks), threads,
           static_cast<std::size_t>(queries * (segment_of(queries) + length)) * sizeof(Packed),
           job.stream>>>(job, length);
    check_launch("sismanis_segments");
}

}  // namespace

void sismanis_segments(const FusedJob& job) {
    distance::with_norm(job.step, [&]<class Step>() {
        // A segment holds a list; four of 1,024 entries take no more than the smallest devices
        // have.
        if (job.q < several || job.capacity > segment_of(several)) launch<Step, 1>(job);
        else launch<Step, several>(job);
    });
}

}  // namespace kith::gpu
