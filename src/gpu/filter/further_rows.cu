// A warp owns a row, a lane two numbers at a time.
#include "gpu/filter/along.cuh"
#include "gpu/filter/projection.h"
#include "gpu/primitives/warp.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

__global__ void rows_kernel(Directions directions, FurtherColumns columns, bool queries,
                            const __half* vectors, Along along, std::int64_t first,
                            std::int64_t count, char* out) {
    const std::int64_t i = (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) / 32,
                       at = first + i;
    if (i >= count) return;
    const int lane = threadIdx.x % 32;
    const __half* const vector = vectors + at * directions.depth;
    const double *const before = along.coordinates + i * along.stride, *const own =
                                                                           before + columns.first;
    char* const row = out + at * (queries ? columns.query_bytes() : columns.row_bytes());
    FurtherSums sums;
    for (std::int64_t j = lane; j < directions.depth; j += 32) {
        const auto x = static_cast<double>(__half2float(vector[j]));
        sums.norm2 += x * x;
    }
    for (std::int64_t c = lane; c < columns.first; c += 32) sums.before2 += before[c] * before[c];
    constexpr std::int64_t half = FurtherColumns::piece / 2;
    const std::int64_t pieces = columns.pieces();
    const double step = queries ? columns.query_step : columns.step, inverse = 1 / step;
    // Of a piece the numbers of columns c and c + 16.
    for (std::int64_t i = lane; i < pieces * half; i += 32) {
        const std::int64_t c = i / half * FurtherColumns::piece + i % half;
        int numbers[2] = {};
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            if (c + j * half >= columns.count) continue;
            const double y = own[c + j * half], b = further_number(y, inverse, queries),
                         stepped = b * step, rest = y - stepped;
            numbers[j] = static_cast<int>(b);
            sums.own2 += y * y;
            sums.stepped2 += stepped * stepped;
            sums.rest2 += rest * rest;
        }
        if (queries) {
            row[c] = static_cast<char>(numbers[0]);
            row[c + half] = static_cast<char>(numbers[1]);
        } else {
            row[i] = static_cast<char>(numbers[0] + 8 + 16 * (numbers[1] + 8));
        }
    }
    sums.norm2 = warp_sum(sums.norm2);
    sums.before2 = warp_sum(sums.before2);
    sums.own2 = warp_sum(sums.own2);
    sums.stepped2 = warp_sum(sums.stepped2);
    sums.rest2 = warp_sum(sums.rest2);
    if (lane == 0)
        *reinterpret_cast<FurtherTerms*>(
            row + pieces * (queries ? FurtherColumns::piece : FurtherColumns::piece_bytes)) =
            further_terms(sums, error_of_row(directions, along, i, sums.norm2), queries);
}

}  // namespace

void further_rows(const Directions& directions, int stage, bool queries, const __half* vectors,
                  const Along& along, std::int64_t first, std::int64_t count, char* out,
                  cudaStream_t stream) {
    rows_kernel<<<blocks_for(count, item_warps), item_threads, 0, stream>>>(
        directions, directions.further[stage], queries, vectors, along, first, count, out);
    check_launch("further_rows");
}

}  // namespace kith::gpu
