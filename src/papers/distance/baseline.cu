// The baseline of Hanak 2023, 3.3: a thread per pair.
//
// A block owns 32 adjacent points and 8 queries, a warp one of these queries, a lane one pair: its
// warp reads 32 adjacent words of points, and one of the query for all. Nothing is kept for another
// pair but by the caches.
#include "gpu/runtime/check.h"
#include "papers/distance/steps.cuh"

namespace kith::gpu {

namespace {

constexpr int points = 32, queries = 8;

template <class Step>
__global__ void __launch_bounds__(points* queries) baseline_kernel(DistanceJob job) {
    const auto across = static_cast<unsigned>((job.n + points - 1) / points);
    const std::int64_t point = std::int64_t{blockIdx.x % across} * points + threadIdx.x;
    const std::int64_t query = std::int64_t{blockIdx.x / across} * queries + threadIdx.y;
    if (point >= job.n || query >= job.q) return;
    const float* const q =
        job.queries + distance::row_place<Step>(job.first_query + query, job.width);
    const float* const x = job.points + distance::row_place<Step>(point, job.width);
    typename Step::Acc sum{};
    for (std::int64_t i = 0; i < job.width; ++i) {
        const std::int64_t at = distance::word_place<Step>(i);
        Step::step(sum, q[at], x[at], job.exponent);
    }
    distance::store_value<Step>(job, query, point, sum);
}

}  // namespace

void baseline_distances(const DistanceJob& job) {
    const std::int64_t blocks = (job.n + points - 1) / points * ((job.q + queries - 1) / queries);
    distance::with_step(job.step, [&]<class Step>() {
        baseline_kernel<Step>
            <<<static_cast<unsigned>(blocks), dim3(points, queries), 0, job.stream>>>(job);
    });
    check_launch("baseline_distances");
}

}  // namespace kith::gpu
