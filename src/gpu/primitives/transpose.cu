// A transpose by tiles through shared memory.
#include "gpu/primitives/transpose.h"

#include "gpu/runtime/check.h"

namespace kith::gpu {

namespace {

constexpr int side = 32;

// A block of 32 x 8 threads owns a tile of 32 x 32.
template <class T>
__global__ void transpose_kernel(const T* from, std::int64_t stride, std::int64_t rows,
                                 std::int64_t cols, T* to) {
    __shared__ T tile[side][side + 1];
    const std::int64_t across = (cols + side - 1) / side;
    const std::int64_t row = blockIdx.x / across * side, col = blockIdx.x % across * side;
    for (int y = threadIdx.y; y < side; y += blockDim.y)
        if (row + y < rows && col + threadIdx.x < cols)
            tile[y][threadIdx.x] = from[(row + y) * stride + col + threadIdx.x];
    __syncthreads();
    for (int y = threadIdx.y; y < side; y += blockDim.y)
        if (col + y < cols && row + threadIdx.x < rows)
            to[(col + y) * rows + row + threadIdx.x] = tile[threadIdx.x][y];
}

}  // namespace

template <class T>
void transpose(const T* from, std::int64_t stride, std::int64_t rows, std::int64_t cols, T* to,
               cudaStream_t stream) {
    const std::int64_t tiles = ((rows + side - 1) / side) * ((cols + side - 1) / side);
    transpose_kernel<T>
        <<<static_cast<unsigned>(tiles), dim3(side, 8), 0, stream>>>(from, stride, rows, cols, to);
    check_launch("transpose");
}

template void transpose<float>(const float*, std::int64_t, std::int64_t, std::int64_t, float*,
                               cudaStream_t);
template void transpose<double>(const double*, std::int64_t, std::int64_t, std::int64_t, double*,
                                cudaStream_t);

}  // namespace kith::gpu
