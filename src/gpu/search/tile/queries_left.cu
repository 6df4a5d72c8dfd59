// Kernels of queries_left.h: a thread owns a query.
#include "gpu/search/tile/queries_left.h"

#include "exact/order.h"
#include "gpu/filter/lists/ball_thresholds.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

__global__ void last_kernel(const std::uint64_t* keys, std::int64_t q, std::int64_t k,
                            double* out) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i < q) out[i] = exact::Order<double>::value(keys[i * k + k - 1]);
}

__global__ void left_kernel(const std::uint8_t* state, const std::uint8_t* reached, std::int64_t q,
                            std::int64_t* left, unsigned long long* count) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i < q && (state[i] != ball_answered || reached[i])) left[atomicAdd(count, 1ull)] = i;
}

}  // namespace

void last_keys(const std::uint64_t* keys, std::int64_t q, std::int64_t k, double* out,
               cudaStream_t stream) {
    last_kernel<<<item_blocks(q), item_threads, 0, stream>>>(keys, q, k, out);
    check_launch("last_keys");
}

void list_left(const std::uint8_t* state, const std::uint8_t* reached, std::int64_t q,
               std::int64_t* left, unsigned long long* count, cudaStream_t stream) {
    left_kernel<<<item_blocks(q), item_threads, 0, stream>>>(state, reached, q, left, count);
    check_launch("list_left");
}

}  // namespace kith::gpu
