// mma.sync of 8 x 8 x 4, or of 16 x 8 x 8 from compute capability 9.0 on.
#include "gpu/primitives/product_f64.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

// A block owns 128 x 64 of the product, a warp 32 x 32; 16 of the depth are in shared memory while the next are read.
// The strides of its rows spread a quarter-warp's reads over all banks.
constexpr int block_rows = 128, block_columns = 64, stage = 16, threads = 256;
constexpr int a_stride = stage + 4, b_stage_stride = block_columns + 4;
constexpr int a_each = block_rows * stage / threads, b_each = stage * block_columns / threads;

__device__ __forceinline__ double value(double x) {
    return x;
}
__device__ __forceinline__ double value(__half x) {
    return static_cast<double>(__half2float(x));
}

// 16 x 8 sums, of which a thread has two of the upper and two of the lower 8 rows, and 8 of the depth: rows lane / 4
// and that of the next 8, depths lane % 4 and that of the next 4.
__device__ __forceinline__ void multiply(double (&sum)[4], const double (&upper)[2], const double (&lower)[2],
                                         const double (&b)[2]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+d"(sum[0]), "+d"(sum[1]), "+d"(sum[2]), "+d"(sum[3])
        : "d"(upper[0]), "d"(lower[0]), "d"(upper[1]), "d"(lower[1]), "d"(b[0]), "d"(b[1]));
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    for (int k = 0; k < 2; ++k) {
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+d"(sum[0]), "+d"(sum[1])
                     : "d"(upper[k]), "d"(b[k]));
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+d"(sum[2]), "+d"(sum[3])
                     : "d"(lower[k]), "d"(b[k]));
    }
#endif
}

// Which element of a stage of `a` a thread reads as its i-th: adjacent threads read adjacent elements.
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

template <class T, bool by_row>
__global__ void __launch_bounds__(threads, 2)
    product_kernel(Operand<T> a, const double* b, std::int64_t b_stride, std::int64_t columns, double* out,
                   std::int64_t out_stride) {
    __shared__ double as[block_rows * a_stride], bs[stage * b_stage_stride];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row0 = warp / 2 * 32, column0 = warp % 2 * 32;
    const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.x) * block_rows;
    const std::int64_t first_column = static_cast<std::int64_t>(blockIdx.y) * block_columns;
    T a_next[a_each];
    double b_next[b_each];
    const auto read = [&](std::int64_t depth) {
#pragma unroll
        for (int i = 0; i < a_each; ++i) {
            int row = 0, k = 0;
            place<by_row>(i, row, k);
            const bool there = first_row + row < a.rows && depth + k < a.depth;
            a_next[i] = there ? a.data[(first_row + row) * a.row_stride + (depth + k) * a.col_stride] : T{};
        }
#pragma unroll
        for (int i = 0; i < b_each; ++i) {
            const int at = static_cast<int>(threadIdx.x) + i * threads, k = at / block_columns, c = at % block_columns;
            const bool there = depth + k < a.depth && first_column + c < columns;
            b_next[i] = there ? b[(depth + k) * b_stride + first_column + c] : 0.0;
        }
    };
    double sums[2][4][4] = {};
    read(0);
    for (std::int64_t depth = 0; depth < a.depth; depth += stage) {
        __syncthreads();
#pragma unroll
        for (int i = 0; i < a_each; ++i) {
            int row = 0, k = 0;
            place<by_row>(i, row, k);
            as[row * a_stride + k] = value(a_next[i]);
        }
#pragma unroll
        for (int i = 0; i < b_each; ++i) {
            const int at = static_cast<int>(threadIdx.x) + i * threads;
            bs[at / block_columns * b_stage_stride + at % block_columns] = b_next[i];
        }
        __syncthreads();
        if (depth + stage < a.depth) read(depth + stage);
#pragma unroll
        for (int k = 0; k < stage; k += 8) {
            double left[4][2], right[4][2];
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 2; ++j)
                    left[i][j] = as[(row0 + i * 8 + lane / 4) * a_stride + k + j * 4 + lane % 4];
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 2; ++j)
                    right[i][j] = bs[(k + j * 4 + lane % 4) * b_stage_stride + column0 + i * 8 + lane / 4];
#pragma unroll
            for (int i = 0; i < 2; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) multiply(sums[i][j], left[2 * i], left[2 * i + 1], right[j]);
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
                if (row < a.rows && column < columns) out[row * out_stride + column] = sums[i][j][c];
            }
}

template <class T>
void launch(const Operand<T>& a, const double* b, std::int64_t b_stride, std::int64_t columns, double* out,
            std::int64_t out_stride, cudaStream_t stream) {
    const dim3 grid(blocks_for(a.rows, block_rows), blocks_for(columns, block_columns));
    if (a.col_stride == 1)
        product_kernel<T, true><<<grid, threads, 0, stream>>>(a, b, b_stride, columns, out, out_stride);
    else product_kernel<T, false><<<grid, threads, 0, stream>>>(a, b, b_stride, columns, out, out_stride);
    check_launch("product");
}

}  // namespace

void product(const Operand<__half>& a, const double* b, std::int64_t b_stride, std::int64_t columns, double* out,
             std::int64_t out_stride, cudaStream_t stream) {
    launch(a, b, b_stride, columns, out, out_stride, stream);
}

void product(const Operand<double>& a, const double* b, std::int64_t b_stride, std::int64_t columns, double* out,
             std::int64_t out_stride, cudaStream_t stream) {
    launch(a, b, b_stride, columns, out, out_stride, stream);
}

}  // namespace kith::gpu
