// mma.sync of 8 x 8 x 4, or of 16 x 8 x 8 from compute capability 9.0 on.
#include "gpu/primitives/product_f64.h"

#include <algorithm>

#include "gpu/runtime/check.h"
#include "gpu/runtime/device_memory.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

// A block owns 128 x 64 of the product, a warp 32 x 32; 16 of the depth are in shared memory while
// the next are read. The strides of its rows spread a quarter-warp's reads over all banks. Of few
// blocks each has a part of the depth: as many as fill a device, `least_part` at least.
constexpr int block_rows = 128, block_columns = 64, stage = 16, threads = 256;
constexpr int few_blocks = 64, all_blocks = 256, least_part = 4 * stage;
constexpr int a_stride = stage + 4, b_stage_stride = block_columns + 4;
constexpr int a_each = block_rows * stage / threads, b_each = stage * block_columns / threads;

__device__ __forceinline__ double value(double x) {
    return x;
}
__device__ __forceinline__ double value(__half x) {
    return static_cast<double>(__half2float(x));
}

// 16 x 8 sums, of which a thread has two of the upper and two of the lower 8 rows, and 8 of the
// depth: rows lane / 4 and that of the next 8, depths lane % 4 and that of the next 4.
__device__ __forceinline__ void multiply(double (&sum)[4], const double (&upper)[2],
                                         const double (&lower)[2], const double (&b)[2]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, "
        "%9}, {%0, %1, %2, "
        "%3};"
        : "+d"(sum[0]), "+d"(sum[1]), "+d"(sum[2]), "+d"(sum[3])
        : "d"(upper[0]), "d"(lower[0]), "d"(upper[1]), "d"(lower[1]), "d"(b[0]), "d"(b[1]));
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    for (int k = 0; k < 2; ++k) {
        asm volatile(
            "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(sum[0]), "+d"(sum[1])
            : "d"(upper[k]), "d"(b[k]));
        asm volatile(
            "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(sum[2]), "+d"(sum[3])
            : "d"(lower[k]), "d"(b[k]));
    }
#endif
}

// Which element of a stage of `a` a thread reads as its i-th: adjacent threads read adjacent
// elements.
template <bool by_row>
__device__ __forceinline__ void place(int i, int& row, int& k) {
    const int at = static_cast<int>(threadIdx.x) + i * threads;
    if (by_row) {
        row = at / stage;
        k = at % stage;
    } else {
        row = at % block_rows;
        k = at / block_rows;
    }
}

// Whether rows of `a` are halves that a thread reads eight at a time.
template <class T>
bool in_eights(const Operand<T>& a) {
    return sizeof(T) == 2 && a.col_stride == 1 && a.row_stride % 8 == 0 && a.depth % 8 == 0 &&
           reinterpret_cast<std::uintptr_t>(a.data) % 16 == 0;
}

template <class T, bool by_row, bool eights>
__global__ void __launch_bounds__(threads, 2)
    product_kernel(Operand<T> a, const double* b, std::int64_t b_stride, std::int64_t columns,
                   std::int64_t part, double* out, std::int64_t out_stride) {
    static_assert(!eights || (a_each == 8 && stage == 16));
    __shared__ alignas(16) double as[block_rows * a_stride], bs[stage * b_stage_stride];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row0 = warp / 2 * 32, column0 = warp % 2 * 32;
    const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.x) * block_rows;
    const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.y) * block_columns;
    T a_next[eights ? 1 : a_each];
    uint4 a_eight{};
    double b_next[b_each];
    const int own_row = static_cast<int>(threadIdx.x) / 2,
              own_depth = static_cast<int>(threadIdx.x) % 2 * 8;
    // Of stages of `b` a thread reads one column, every fourth row.
    static_assert(threads % block_columns == 0);
    const int b_row = static_cast<int>(threadIdx.x) / block_columns,
              b_column = static_cast<int>(threadIdx.x) % block_columns;
    const bool column_there = first_column + b_column < columns;
    const std::int64_t begin = blockIdx.z * part,
                       end = begin + part < a.depth ? begin + part : a.depth;
    const double* b_at = b + (begin + b_row) * b_stride + first_column + b_column;
    out += blockIdx.z * a.rows * out_stride;
    const auto read = [&](std::int64_t depth) {
        if constexpr (eights) {
            const bool there = first_row + own_row < a.rows && depth + own_depth < a.depth;
            a_eight = there
                          ? __ldg(reinterpret_cast<const uint4*>(
                                a.data + (first_row + own_row) * a.row_stride + depth + own_depth))
                          : uint4{};
        } else {
#pragma unroll
            for (int i = 0; i < a_each; ++i) {
                int row = 0, k = 0;
                place<by_row>(i, row, k);
                const bool there = first_row + row < a.rows && depth + k < a.depth;
                a_next[i] =
                    there ? a.data[(first_row + row) * a.row_stride + (depth + k) * a.col_stride]
                          : T{};
            }
        }
#pragma unroll
        for (int i = 0; i < b_each; ++i) {
            const int k = i * (threads / block_columns);
            b_next[i] = column_there && depth + b_row + k < a.depth ? b_at[k * b_stride] : 0.0;
        }
        b_at += stage * b_stride;
    };
    double sums[2][4][4] = {};
    read(begin);
    for (std::int64_t depth = begin; depth < end; depth += stage) {
        __syncthreads();
        if constexpr (eights) {
            const auto* const pairs = reinterpret_cast<const __half2*>(&a_eight);
            auto* const to = reinterpret_cast<double2*>(as + own_row * a_stride + own_depth);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const float2 pair = __half22float2(pairs[i]);
                to[i] = {static_cast<double>(pair.x), static_cast<double>(pair.y)};
            }
        } else {
#pragma unroll
            for (int i = 0; i < a_each; ++i) {
                int row = 0, k = 0;
                place<by_row>(i, row, k);
                as[row * a_stride + k] = value(a_next[i]);
            }
        }
#pragma unroll
        for (int i = 0; i < b_each; ++i) {
            const int at = static_cast<int>(threadIdx.x) + i * threads;
            bs[at / block_columns * b_stage_stride + at % block_columns] = b_next[i];
        }
        __syncthreads();
        if (depth + stage < end) read(depth + stage);
#pragma unroll
        for (int k = 0; k < stage; k += 8) {
            double right[4][2];
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 2; ++j)
                    right[i][j] =
                        bs[(k + j * 4 + lane % 4) * b_stage_stride + column0 + i * 8 + lane / 4];
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                double left[2][2];
#pragma unroll
                for (int half = 0; half < 2; ++half)
#pragma unroll
                    for (int j = 0; j < 2; ++j)
                        left[half][j] = as[(row0 + (2 * i + half) * 8 + lane / 4) * a_stride + k +
                                           j * 4 + lane % 4];
#pragma unroll
                for (int j = 0; j < 4; ++j) multiply(sums[i][j], left[0], left[1], right[j]);
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j)
#pragma unroll
            for (int c = 0; c < 4; ++c) {
                const std::int64_t row = first_row + row0 + i * 16 + c / 2 * 8 + lane / 4;
                const std::int64_t column = first_column + column0 + j * 8 + lane % 4 * 2 + c % 2;
                if (row < a.rows && column < columns)
                    out[row * out_stride + column] = sums[i][j][c];
            }
}

// The sums of parts, one after the other.
__global__ void sum_kernel(const double* parts, unsigned count, std::int64_t rows,
                           std::int64_t columns, double* out, std::int64_t out_stride) {
    const std::int64_t at = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (at >= rows * columns) return;
    double sum = 0;
    for (unsigned i = 0; i < count; ++i) sum += parts[i * rows * columns + at];
    out[at / columns * out_stride + at % columns] = sum;
}

template <class T>
void launch(const Operand<T>& a, const double* b, std::int64_t b_stride, std::int64_t columns,
            double* out, std::int64_t out_stride, cudaStream_t stream) {
    dim3 grid(blocks_for(a.rows, block_rows), blocks_for(columns, block_columns));
    const std::int64_t blocks = std::int64_t{grid.x} * grid.y;
    std::int64_t part = std::max<std::int64_t>(a.depth, 1);
    if (blocks < few_blocks)
        part = std::max<std::int64_t>(
            least_part, blocks_for(a.depth * blocks, all_blocks * stage) * std::int64_t{stage});
    grid.z = std::max(1u, blocks_for(a.depth, part));
    auto* kernel =
        a.col_stride == 1 ? product_kernel<T, true, false> : product_kernel<T, false, false>;
    if constexpr (sizeof(T) == 2)
        if (in_eights(a)) kernel = product_kernel<T, true, true>;
    if (grid.z == 1) {
        kernel<<<grid, threads, 0, stream>>>(a, b, b_stride, columns, part, out, out_stride);
        check_launch("product");
        return;
    }
    const Buffer<double> parts(grid.z * a.rows * columns, stream);
    kernel<<<grid, threads, 0, stream>>>(a, b, b_stride, columns, part, parts.get(), columns);
    check_launch("product");
    sum_kernel<<<item_blocks(a.rows * columns), item_threads, 0, stream>>>(
        parts.get(), grid.z, a.rows, columns, out, out_stride);
    check_launch("product");
}

}  // namespace

void product(const Operand<__half>& a, const double* b, std::int64_t b_stride, std::int64_t columns,
             double* out, std::int64_t out_stride, cudaStream_t stream) {
    launch(a, b, b_stride, columns, out, out_stride, stream);
}

void product(const Operand<double>& a, const double* b, std::int64_t b_stride, std::int64_t columns,
             double* out, std::int64_t out_stride, cudaStream_t stream) {
    launch(a, b, b_stride, columns, out, out_stride, stream);
}

}  // namespace kith::gpu
