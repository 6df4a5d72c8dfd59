// Kernels of results.h.
#include "gpu/search/results.h"

#include "exact/order.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

constexpr std::uint64_t missing = exact::Order<double>::nan;
// A missing entry comes after every other.
__device__ bool precedes(std::uint64_t ka, std::int64_t ia, std::uint64_t kb, std::int64_t ib) {
    return ka != kb ? ka < kb : ia < ib;
}

// A thread owns one entry of either list and finds its place among both: its own position plus the
// entries of the other list that come before it.
__global__ void merge_kernel(Lists a, const std::uint64_t* keys, const std::uint32_t* ids,
                             std::int64_t first_id, std::int64_t rows, std::int64_t k, Lists out) {
    const std::int64_t cell = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (cell >= rows * k * 2) return;
    const std::int64_t row = cell / (2 * k), i = cell % (2 * k);
    const bool from_a = i < k;
    const std::int64_t mine = row * k + (from_a ? i : i - k);
    const std::uint64_t key = from_a ? a.keys[mine] : keys[mine];
    const std::int64_t id = from_a ? a.ids[mine] : static_cast<std::int64_t>(ids[mine]) + first_id;
    // Entries of the other list before this one. Equal (key, id) is possible only for missing
    // entries: those of `a` first.
    std::int64_t low = 0, high = k;
    while (low < high) {
        const std::int64_t middle = (low + high) / 2, at = row * k + middle;
        const std::uint64_t other_key = from_a ? keys[at] : a.keys[at];
        const std::int64_t other_id =
            from_a ? static_cast<std::int64_t>(ids[at]) + first_id : a.ids[at];
        bool before = precedes(other_key, other_id, key, id);
        if (key == missing && other_key == missing) before = !from_a;
        if (before) low = middle + 1;
        else high = middle;
    }
    const std::int64_t place = (from_a ? i : i - k) + low;
    if (place >= k) return;
    out.keys[row * k + place] = key;
    out.ids[row * k + place] = key == missing ? -1 : id;
}

__global__ void assign_kernel(Lists lists, const std::uint64_t* keys, const std::uint32_t* ids,
                              std::int64_t first_id, std::int64_t cells) {
    const std::int64_t cell = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (cell >= cells) return;
    lists.keys[cell] = keys[cell];
    lists.ids[cell] = keys[cell] == missing ? -1 : static_cast<std::int64_t>(ids[cell]) + first_id;
}

}  // namespace

void merge_rows(Lists lists, const std::uint64_t* keys, const std::uint32_t* ids,
                std::int64_t first_id, std::int64_t rows, std::int64_t k, Lists scratch,
                cudaStream_t stream) {
    merge_kernel<<<item_blocks(rows * k * 2), item_threads, 0, stream>>>(lists, keys, ids, first_id,
                                                                         rows, k, scratch);
    check_launch("merge_rows");
    const auto cells = static_cast<std::size_t>(rows * k);
    check(cudaMemcpyAsync(lists.keys, scratch.keys, cells * sizeof(std::uint64_t),
                          cudaMemcpyDeviceToDevice, stream),
          "cudaMemcpy");
    check(cudaMemcpyAsync(lists.ids, scratch.ids, cells * sizeof(std::int64_t),
                          cudaMemcpyDeviceToDevice, stream),
          "cudaMemcpy");
}

void assign_rows(Lists lists, const std::uint64_t* keys, const std::uint32_t* ids,
                 std::int64_t first_id, std::int64_t rows, std::int64_t k, cudaStream_t stream) {
    assign_kernel<<<item_blocks(rows * k), item_threads, 0, stream>>>(lists, keys, ids, first_id,
                                                                      rows * k);
    check_launch("assign_rows");
}

}  // namespace kith::gpu
