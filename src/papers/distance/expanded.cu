// Squares of rows, and their shares of the expanded form's bound. A thread owns a row: its warp
// reads adjacent words.
#include "papers/distance/expanded.h"

#include "gpu/filter/direct.h"
#include "gpu/metric/kernels.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"
#include "papers/distance/expanded_bound.h"

namespace kith::gpu {

namespace {

using distance::ExpandedBound;

__device__ double square_of(const float* words, std::int64_t row, std::int64_t width) {
    const float* const from = words + direct_place(row, 0, width);
    double sum = 0;
    for (std::int64_t i = 0; i < width; ++i) {
        const auto x = static_cast<double>(from[i * filter_tile_queries]);
        sum += x * x;
    }
    return sum;
}

__global__ void __launch_bounds__(item_threads)
    expanded_points_kernel(DirectSides sides, ExpandedBound bound, float* half_norm,
                           float* point_error) {
    const std::int64_t row = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (row >= sides.n) return;
    const float infinity = __int_as_float(0x7f800000), h = sides.half_norm[row];
    half_norm[row] = h;
    point_error[row] = sides.point_error[row];
    if (isinf(h)) return;
    const double square = square_of(sides.points, row, sides.width);
    // Both parts are subtracted from the square, which rounds once more.
    const double share =
        (static_cast<double>(sides.point_error[row]) + bound.share(square)) * (1 + 0x1p-20);
    const bool covered = square <= distance::largest_square && share <= distance::largest_square;
    half_norm[row] = covered ? __double2float_rd(square - share) : -infinity;
    point_error[row] = covered ? __double2float_ru(share) : infinity;
}

__global__ void __launch_bounds__(item_threads)
    expanded_queries_kernel(DirectSides sides, ExpandedBound bound, float* query_square,
                            float* query_error) {
    const std::int64_t row = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (row >= sides.q) return;
    const double square = square_of(sides.queries, row, sides.width);
    const bool covered = square <= distance::largest_square;
    query_square[row] = covered ? static_cast<float>(square) : 0.0f;
    const double share = static_cast<double>(sides.growth) * bound.share(square) * (1 + 0x1p-20);
    query_error[row] = covered
                           ? __double2float_ru(static_cast<double>(sides.query_error[row]) + share)
                           : __int_as_float(0xff800000);
    if (!covered && sides.unfit[row] == fit) sides.unfit[row] = to_scan;
}

}  // namespace

ExpandedTerms expanded_terms(const DirectSides& sides, cudaStream_t stream) {
    const ExpandedBound bound(sides.width);
    ExpandedTerms terms{Buffer<float>(whole_tiles(sides.n), stream),
                        Buffer<float>(whole_tiles(sides.n), stream), Buffer<float>(sides.q, stream),
                        Buffer<float>(sides.q, stream)};
    expanded_points_kernel<<<item_blocks(sides.n), item_threads, 0, stream>>>(
        sides, bound, terms.half_norm.get(), terms.point_error.get());
    expanded_queries_kernel<<<item_blocks(sides.q), item_threads, 0, stream>>>(
        sides, bound, terms.query_square.get(), terms.query_error.get());
    check_launch("expanded_terms");
    return terms;
}

}  // namespace kith::gpu
