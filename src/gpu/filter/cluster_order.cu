// Kernels of cluster_order.h.
#include "gpu/filter/cluster_order.h"

#include <cub/block/block_scan.cuh>

#include "gpu/filter/clusters.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

__device__ __forceinline__ std::int64_t own_item() {
    return blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
}

// A thread owns eight halves.
__global__ void permute_kernel(const uint4* vectors, const std::uint32_t* order, std::int64_t count,
                               std::int64_t pieces, uint4* out) {
    const std::int64_t at = own_item();
    if (at < count * pieces) out[at] = vectors[order[at / pieces] * pieces + at % pieces];
}

__global__ void count_kernel(const std::uint32_t* clusters, std::int64_t rows,
                             std::uint32_t* counts) {
    const std::int64_t row = own_item();
    if (row < rows) atomicAdd(&counts[clusters[row]], 1u);
}

constexpr int scan_threads = 1024;

// One block: counts become begins, in place, with the sum behind them.
__global__ void __launch_bounds__(scan_threads)
    scan_kernel(std::uint32_t* counts, std::int64_t count) {
    using Scan = cub::BlockScan<std::uint32_t, scan_threads>;
    __shared__ typename Scan::TempStorage storage;
    std::uint32_t before = 0;
    for (std::int64_t first = 0; first < count; first += scan_threads) {
        const std::int64_t at = first + threadIdx.x;
        const std::uint32_t own = at < count ? counts[at] : 0;
        std::uint32_t sum = 0, total = 0;
        Scan(storage).ExclusiveSum(own, sum, total);
        if (at < count) counts[at] = before + sum;
        before += total;
        __syncthreads();
    }
    if (threadIdx.x == 0) counts[count] = before;
}

// Rows of a warp of the filter: of 16 queries in turn each comes to another one. A last group that
// is not whole keeps its order.
__global__ void deal_kernel(const std::uint32_t* ordered, std::int64_t q, std::int64_t* out) {
    constexpr std::int64_t rows = 16, warps = listed_queries / rows;
    const std::int64_t i = own_item();
    if (i >= q) return;
    const std::int64_t own = i % listed_queries, first = i - own;
    out[first + listed_queries <= q ? first + own % warps * rows + own / warps : i] = ordered[i];
}

__global__ void order_kernel(const std::uint32_t* members, std::int64_t first, std::int64_t n,
                             std::uint32_t stride, std::uint32_t* order) {
    const std::int64_t p = own_item();
    if (p >= n) return;
    const std::int64_t before = p < first ? p : first + members[p - first];
    order[p] = static_cast<std::uint32_t>(static_cast<std::uint64_t>(before) * stride %
                                          static_cast<std::uint64_t>(n));
}

}  // namespace

void permute_vectors(const void* vectors, const std::uint32_t* order, std::int64_t count,
                     std::int64_t width, void* out, cudaStream_t stream) {
    const std::int64_t pieces = width / 8;
    permute_kernel<<<item_blocks(count * pieces), item_threads, 0, stream>>>(
        static_cast<const uint4*>(vectors), order, count, pieces, static_cast<uint4*>(out));
    check_launch("permute_vectors");
}

void cluster_begins(const std::uint32_t* clusters, std::int64_t rows, std::int64_t count,
                    std::uint32_t* begin, cudaStream_t stream) {
    check(cudaMemsetAsync(begin, 0, static_cast<std::size_t>(count + 1) * sizeof(begin[0]), stream),
          "cudaMemset");
    count_kernel<<<item_blocks(rows), item_threads, 0, stream>>>(clusters, rows, begin);
    check_launch("cluster_begins");
    scan_kernel<<<1, scan_threads, 0, stream>>>(begin, count);
    check_launch("cluster_begins");
}

void deal_queries(const std::uint32_t* ordered, std::int64_t q, std::int64_t* out,
                  cudaStream_t stream) {
    deal_kernel<<<item_blocks(q), item_threads, 0, stream>>>(ordered, q, out);
    check_launch("deal_queries");
}

void ordered_rows(const std::uint32_t* members, std::int64_t first, std::int64_t n,
                  std::uint32_t stride, std::uint32_t* order, cudaStream_t stream) {
    order_kernel<<<item_blocks(n), item_threads, 0, stream>>>(members, first, n, stride, order);
    check_launch("ordered_rows");
}

}  // namespace kith::gpu
