// A warp owns a row, a lane four numbers at a time.
#include "gpu/filter/along.cuh"
#include "gpu/filter/projection.h"
#include "gpu/primitives/warp.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

__global__ void rows_kernel(Directions directions, FurtherColumns columns, bool queries, const __half* vectors,
                            Along along, std::int64_t first, std::int64_t count, char* out) {
    const std::int64_t i = (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) / 32, at = first + i;
    if (i >= count) return;
    const int lane = threadIdx.x % 32;
    const __half* const vector = vectors + at * directions.depth;
    const double *const before = along.coordinates + i * along.stride, *const own = before + columns.first;
    char* const row = out + at * columns.row_bytes();
    FurtherSums sums;
    for (std::int64_t j = lane; j < directions.depth; j += 32) {
        const auto x = static_cast<double>(__half2float(vector[j]));
        sums.norm2 += x * x;
    }
    for (std::int64_t c = lane; c < columns.first; c += 32) sums.before2 += before[c] * before[c];
    const std::int64_t numbers = columns.numbers();
    for (std::int64_t c = 4 * lane; c < numbers; c += 128) {
        char4 four{};
        signed char* const rounded = &four.x;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            if (c + j >= columns.count) continue;
            const double y = own[c + j], b = fmin(fmax(rint(y / columns.step), -128.0), 127.0),
                         stepped = b * columns.step, rest = y - stepped;
            rounded[j] = static_cast<signed char>(static_cast<int>(b));
            sums.own2 += y * y;
            sums.stepped2 += stepped * stepped;
            sums.rest2 += rest * rest;
        }
        *reinterpret_cast<char4*>(row + c) = four;
    }
    sums.norm2 = warp_sum(sums.norm2);
    sums.before2 = warp_sum(sums.before2);
    sums.own2 = warp_sum(sums.own2);
    sums.stepped2 = warp_sum(sums.stepped2);
    sums.rest2 = warp_sum(sums.rest2);
    if (lane == 0)
        *reinterpret_cast<FurtherTerms*>(row + numbers) =
            further_terms(sums, error_of_row(directions, along, i, sums.norm2), queries);
}

}  // namespace

void further_rows(const Directions& directions, int stage, bool queries, const __half* vectors, const Along& along,
                  std::int64_t first, std::int64_t count, char* out, cudaStream_t stream) {
    rows_kernel<<<blocks_for(count, item_warps), item_threads, 0, stream>>>(directions, directions.further[stage],
                                                                            queries, vectors, along, first, count, out);
    check_launch("further_rows");
}

}  // namespace kith::gpu
