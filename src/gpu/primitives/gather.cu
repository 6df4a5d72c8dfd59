// Kernels of gather.h: a thread per element, or per 16 bytes of dense rows.
#include "gpu/primitives/gather.h"

#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

template <class T>
__global__ void take_kernel(const T* data, std::int64_t row_stride, const std::uint32_t* columns,
                            std::int64_t rows, std::int64_t k, std::int64_t* ids, T* values) {
    const std::int64_t cell = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (cell >= rows * k) return;
    ids[cell] = columns[cell];
    if (values) values[cell] = data[cell / k * row_stride + columns[cell]];
}

template <class T>
__global__ void gather_kernel(const T* data, std::int64_t row_stride, std::int64_t col_stride,
                              const std::int64_t* index, std::int64_t count, std::int64_t d,
                              T* out) {
    const std::int64_t cell = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (cell < count * d) out[cell] = data[index[cell / d] * row_stride + cell % d * col_stride];
}

template <class T>
__global__ void scatter_kernel(const T* rows, const std::int64_t* index, std::int64_t count,
                               std::int64_t words, T* out) {
    const std::int64_t cell = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (cell < count * words) out[index[cell / words] * words + cell % words] = rows[cell];
}

__global__ void count_kernel(std::int64_t* out, std::int64_t count, std::int64_t first) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i < count) out[i] = first + i;
}

template <class T>
void gather(const Rows& rows, const std::int64_t* index, std::int64_t count, std::int64_t d,
            void* out, cudaStream_t stream) {
    gather_kernel<T><<<item_blocks(count * d), item_threads, 0, stream>>>(
        static_cast<const T*>(rows.data), rows.row_stride, rows.col_stride, index, count, d,
        static_cast<T*>(out));
    check_launch("gather_rows");
}

}  // namespace

void take_values(const Rows& rows, const std::uint32_t* columns, std::int64_t row_count,
                 std::int64_t k, std::int64_t* ids, void* values, cudaStream_t stream) {
    if (rows.type == ElementType::f64)
        take_kernel<<<item_blocks(row_count * k), item_threads, 0, stream>>>(
            static_cast<const double*>(rows.data), rows.row_stride, columns, row_count, k, ids,
            static_cast<double*>(values));
    else
        take_kernel<<<item_blocks(row_count * k), item_threads, 0, stream>>>(
            static_cast<const float*>(rows.data), rows.row_stride, columns, row_count, k, ids,
            static_cast<float*>(values));
    check_launch("take_values");
}

void gather_rows(const Rows& rows, const std::int64_t* index, std::int64_t count, std::int64_t d,
                 void* out, cudaStream_t stream) {
    // Rows of host memory cross the bus in requests, each of which costs as much.
    constexpr std::int64_t word = sizeof(uint4);
    const auto element = static_cast<std::int64_t>(size_of(rows.type));
    const auto starts = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(rows.data) |
                                                  reinterpret_cast<std::uintptr_t>(out));
    if (rows.col_stride == 1 && (starts | rows.row_stride * element | d * element) % word == 0) {
        Rows words = rows;
        words.row_stride = rows.row_stride * element / word;
        return gather<uint4>(words, index, count, d * element / word, out, stream);
    }
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

void scatter_dense(const void* rows, const std::int64_t* index, std::int64_t count,
                   std::int64_t bytes, void* out, cudaStream_t stream) {
    const auto scatter = [&]<class T>(T) {
        const std::int64_t words = bytes / static_cast<std::int64_t>(sizeof(T));
        scatter_kernel<<<item_blocks(count * words), item_threads, 0, stream>>>(
            static_cast<const T*>(rows), index, count, words, static_cast<T*>(out));
    };
    if (bytes % 16 == 0) scatter(uint4{});
    else scatter(0u);
    check_launch("scatter_dense");
}

void gather_ids(const std::int64_t* in, const std::int64_t* index, std::int64_t count,
                std::int64_t* out, cudaStream_t stream) {
    gather_kernel<std::int64_t>
        <<<item_blocks(count), item_threads, 0, stream>>>(in, 1, 1, index, count, 1, out);
    check_launch("gather_ids");
}

void count_up(std::int64_t* out, std::int64_t count, std::int64_t first, cudaStream_t stream) {
    count_kernel<<<item_blocks(count), item_threads, 0, stream>>>(out, count, first);
    check_launch("count_up");
}

}  // namespace kith::gpu
