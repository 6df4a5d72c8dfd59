// Kernels of ragged.h: a thread per element.
#include "gpu/select/ragged.h"

#include "exact/missing.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

__device__ std::int64_t length_of(const std::int64_t* lengths, std::int64_t row, std::int64_t n) {
    return lengths ? min(max(lengths[row], std::int64_t{0}), n) : n;
}

template <class T>
__global__ void widen_kernel(Rows rows, const std::int64_t* lengths, std::int64_t n, T* out) {
    const std::int64_t cell = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (cell >= rows.count * n) return;
    const std::int64_t row = cell / n, column = cell % n;
    out[cell] = column < length_of(lengths, row, n) ? static_cast<T>(rows.at(row, column))
                                                    : static_cast<T>(nan(""));
}

template <class T>
__global__ void finish_kernel(Rows rows, const std::int64_t* lengths, std::int64_t n,
                              std::int64_t cells, std::int64_t k, T missing, std::int64_t* ids,
                              T* out) {
    const std::int64_t cell = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (cell >= cells) return;
    const std::int64_t row = cell / k, id = ids[cell];
    const bool there = id >= 0 && id < length_of(lengths, row, n);
    if (!there) ids[cell] = -1;
    if (out)
        out[cell] =
            there ? static_cast<const T*>(rows.data)[row * rows.row_stride + id * rows.col_stride]
                  : missing;
}

}  // namespace

void widen_rows(const Rows& rows, const std::int64_t* lengths, std::int64_t n, void* out,
                cudaStream_t stream) {
    const unsigned blocks = item_blocks(rows.count * n);
    if (rows.type == ElementType::f64)
        widen_kernel<<<blocks, item_threads, 0, stream>>>(rows, lengths, n,
                                                          static_cast<double*>(out));
    else
        widen_kernel<<<blocks, item_threads, 0, stream>>>(rows, lengths, n,
                                                          static_cast<float*>(out));
    check_launch("widen_rows");
}

void finish_rows(const Rows& rows, const std::int64_t* lengths, std::int64_t n,
                 std::int64_t row_count, std::int64_t k, bool largest, std::int64_t* ids, void* out,
                 cudaStream_t stream) {
    const std::int64_t cells = row_count * k;
    const auto launch = [&]<class T>(T missing) {
        finish_kernel<T><<<item_blocks(cells), item_threads, 0, stream>>>(
            rows, lengths, n, cells, k, missing, ids, static_cast<T*>(out));
    };
    switch (rows.type) {
        case ElementType::f64:
            launch(exact::missing_value<double>(largest));
            break;
        case ElementType::f16:
            launch(exact::missing_value<float16>(largest));
            break;
        case ElementType::bf16:
            launch(exact::missing_value<bfloat16>(largest));
            break;
        default:
            launch(exact::missing_value<float>(largest));
    }
    check_launch("finish_rows");
}

}  // namespace kith::gpu
