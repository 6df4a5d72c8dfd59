// Kernels of results.h.
#include "exact/order.h"
#include "gpu/check.h"
#include "gpu/results.h"

namespace kith::gpu {

namespace {

constexpr int threads = 256;
constexpr std::uint64_t missing = exact::Order<double>::nan;
unsigned blocks(std::int64_t items) {
    return static_cast<unsigned>((items + threads - 1) / threads);
}

// A missing entry comes after every other.
__device__ bool precedes(std::uint64_t ka, std::int64_t ia, std::uint64_t kb, std::int64_t ib) {
    return ka != kb ? ka < kb : ia < ib;
}

// A thread owns one entry of either list and finds its place among both: its own position plus the entries of the other
// list that come before it.
__global__ void merge_kernel(Lists a, const std::uint64_t* keys, const std::uint32_t* ids, std::int64_t first_id,
                             std::int64_t rows, std::int64_t k, Lists out) {
    const std::int64_t cell = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (cell >= rows * k * 2) return;
    const std::int64_t row = cell / (2 * k), i = cell % (2 * k);
    const bool from_a = i < k;
    const std::int64_t mine = row * k + (from_a ? i : i - k);
    const std::uint64_t key = from_a ? a.keys[mine] : keys[mine];
    const std::int64_t id = from_a ? a.ids[mine] : static_cast<std::int64_t>(ids[mine]) + first_id;
    // Entries of the other list before this one. Equal (key, id) is possible only for missing entries: those of `a`
    // first.
    std::int64_t low = 0, high = k;
    while (low < high) {
        const std::int64_t middle = (low + high) / 2, at = row * k + middle;
        const std::uint64_t other_key = from_a ? keys[at] : a.keys[at];
        const std::int64_t other_id = from_a ? static_cast<std::int64_t>(ids[at]) + first_id : a.ids[at];
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

__global__ void place_kernel(Lists lists, const std::uint64_t* keys, const std::uint32_t* ids, std::int64_t first_id,
                             std::int64_t cells) {
    const std::int64_t cell = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (cell >= cells) return;
    lists.keys[cell] = keys[cell];
    lists.ids[cell] = keys[cell] == missing ? -1 : static_cast<std::int64_t>(ids[cell]) + first_id;
}

__global__ void scatter_kernel(std::uint64_t* keys, std::uint32_t* ids, const std::uint64_t* from_keys,
                               const std::uint32_t* from_ids, const std::int64_t* to, std::int64_t rows,
                               std::int64_t k) {
    const std::int64_t cell = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (cell >= rows * k) return;
    const std::int64_t at = to[cell / k] * k + cell % k;
    keys[at] = from_keys[cell];
    ids[at] = from_ids[cell];
}

template <class T>
__global__ void take_kernel(const T* data, std::int64_t row_stride, const std::uint32_t* columns, std::int64_t rows,
                            std::int64_t k, std::int64_t* ids, T* values) {
    const std::int64_t cell = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (cell >= rows * k) return;
    ids[cell] = columns[cell];
    if (values) values[cell] = data[cell / k * row_stride + columns[cell]];
}

template <class T>
__global__ void gather_kernel(const T* data, std::int64_t row_stride, std::int64_t col_stride,
                              const std::int64_t* index, std::int64_t count, std::int64_t d, T* out) {
    const std::int64_t cell = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (cell < count * d) out[cell] = data[index[cell / d] * row_stride + cell % d * col_stride];
}

__global__ void count_kernel(std::int64_t* out, std::int64_t count, std::int64_t first) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i < count) out[i] = first + i;
}

template <class T>
void gather(const Rows& rows, const std::int64_t* index, std::int64_t count, std::int64_t d, void* out,
            cudaStream_t stream) {
    gather_kernel<T><<<blocks(count * d), threads, 0, stream>>>(static_cast<const T*>(rows.data), rows.row_stride,
                                                                rows.col_stride, index, count, d, static_cast<T*>(out));
    check_launch("gather_rows");
}

}  // namespace

void merge_rows(Lists lists, const std::uint64_t* keys, const std::uint32_t* ids, std::int64_t first_id,
                std::int64_t rows, std::int64_t k, Lists scratch, cudaStream_t stream) {
    merge_kernel<<<blocks(rows * k * 2), threads, 0, stream>>>(lists, keys, ids, first_id, rows, k, scratch);
    check_launch("merge_rows");
    const auto cells = static_cast<std::size_t>(rows * k);
    check(cudaMemcpyAsync(lists.keys, scratch.keys, cells * sizeof(std::uint64_t), cudaMemcpyDeviceToDevice, stream),
          "cudaMemcpy");
    check(cudaMemcpyAsync(lists.ids, scratch.ids, cells * sizeof(std::int64_t), cudaMemcpyDeviceToDevice, stream),
          "cudaMemcpy");
}

void place_rows(Lists lists, const std::uint64_t* keys, const std::uint32_t* ids, std::int64_t first_id,
                std::int64_t rows, std::int64_t k, cudaStream_t stream) {
    place_kernel<<<blocks(rows * k), threads, 0, stream>>>(lists, keys, ids, first_id, rows * k);
    check_launch("place_rows");
}

void scatter_rows(std::uint64_t* keys, std::uint32_t* ids, const std::uint64_t* from_keys,
                  const std::uint32_t* from_ids, const std::int64_t* to, std::int64_t rows, std::int64_t k,
                  cudaStream_t stream) {
    scatter_kernel<<<blocks(rows * k), threads, 0, stream>>>(keys, ids, from_keys, from_ids, to, rows, k);
    check_launch("scatter_rows");
}

void take_values(const Rows& rows, const std::uint32_t* columns, std::int64_t row_count, std::int64_t k,
                 std::int64_t* ids, void* values, cudaStream_t stream) {
    if (rows.type == ElementType::f64)
        take_kernel<<<blocks(row_count * k), threads, 0, stream>>>(static_cast<const double*>(rows.data),
                                                                   rows.row_stride, columns, row_count, k, ids,
                                                                   static_cast<double*>(values));
    else
        take_kernel<<<blocks(row_count * k), threads, 0, stream>>>(static_cast<const float*>(rows.data),
                                                                   rows.row_stride, columns, row_count, k, ids,
                                                                   static_cast<float*>(values));
    check_launch("take_values");
}

void gather_rows(const Rows& rows, const std::int64_t* index, std::int64_t count, std::int64_t d, void* out,
                 cudaStream_t stream) {
    switch (size_of(rows.type)) {
        case 1:
            return gather<std::uint8_t>(rows, index, count, d, out, stream);
        case 2:
            return gather<std::uint16_t>(rows, index, count, d, out, stream);
        case 4:
            return gather<std::uint32_t>(rows, index, count, d, out, stream);
        default:
            return gather<std::uint64_t>(rows, index, count, d, out, stream);
    }
}

void gather_ids(const std::int64_t* in, const std::int64_t* index, std::int64_t count, std::int64_t* out,
                cudaStream_t stream) {
    gather_kernel<std::int64_t><<<blocks(count), threads, 0, stream>>>(in, 1, 1, index, count, 1, out);
    check_launch("gather_ids");
}

void count_up(std::int64_t* out, std::int64_t count, std::int64_t first, cudaStream_t stream) {
    count_kernel<<<blocks(count), threads, 0, stream>>>(out, count, first);
    check_launch("count_up");
}

}  // namespace kith::gpu
