// A block owns a query (or a slice of its candidates), a warp four candidates at a time, whose rows it reads together.
#include "gpu/filter/reread.h"

#include "gpu/filter/levels.h"
#include "gpu/filter/row_products.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

constexpr int threads = 128, warps = threads / 32, batch = 4;

__global__ void __launch_bounds__(threads) reread_kernel(CandidateLists lists, RereadTask task) {
    extern __shared__ uint4 query[];
    const std::int64_t q = blockIdx.x;
    const int count = task.counts[q];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const auto words = static_cast<int>(task.width / 8);
    const auto* const own = static_cast<const uint4*>(task.queries) + q * words;
    if (count > task.room) {  // the query is tried again
        if (blockIdx.y == 0 && threadIdx.x == 0) lists.overflowed[q] = 1;
        return;
    }
    if (static_cast<int>(blockIdx.y) * warps * batch >= count) return;
    for (int i = threadIdx.x; i < words; i += threads) query[i] = own[i];
    __syncthreads();
    const Candidate* const found = task.found + q * task.room;
    const float threshold = lists.threshold[q];
    for (int first = (static_cast<int>(blockIdx.y) * warps + warp) * batch; first < count;
         first += static_cast<int>(gridDim.y) * warps * batch) {
        std::uint32_t point[batch];
#pragma unroll
        for (int j = 0; j < batch; ++j) point[j] = found[min(first + j, count - 1)].point;
        const float value = row_products(query, task.points, point, words);
        std::uint32_t own_point = point[0];
#pragma unroll
        for (int j = 1; j < batch; ++j)
            if (lane == j) own_point = point[j];
        if (lane >= batch || first + lane >= count) continue;
        const float a = task.half_norm[own_point] - value;
        if (!(a <= threshold)) continue;
        const int at = atomicAdd(&lists.counts[q], 1);
        if (at < lists.capacity) lists.candidates[q * lists.capacity + at] = {a, own_point};
    }
}

}  // namespace

void reread(const CandidateLists& lists, const RereadTask& task, cudaStream_t stream) {
    const auto bytes = static_cast<std::size_t>(task.width) * 2;
    const unsigned slices = lists.q >= 64 ? 4 : 16;
    reread_kernel<<<dim3(static_cast<unsigned>(lists.q), slices), threads, bytes, stream>>>(lists, task);
    check_launch("reread");
}

}  // namespace kith::gpu
