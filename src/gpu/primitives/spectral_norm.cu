// Three squarings in binary64, and one block that adds up squares.
#include "gpu/primitives/spectral_norm.h"

#include <cmath>
#include <utility>

#include "gpu/primitives/product_f64.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/in_flight.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

constexpr int sum_threads = 1024, squarings = 3;
// Of at most 4,096 columns, each length relative to |A|^(2^k): binary64 rounds a square by no more
// than 4,096^2 2^-53 = 2^-29, and a square doubles what it is given, of which A itself may be
// 2^-26. So A^8 is within 8 * 2^-26 + 7 * 2^-29. The sum of its squares is within 2^-37, and four
// roots are within 4 * 2^-53.
constexpr double slack = 1 + 0x1p-20;

// (A + A') / 2 in place of A, whose numbers may have been added up in different orders.
__global__ void symmetric_kernel(double* a, std::int64_t columns) {
    const std::int64_t at = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x,
                       i = at / columns, j = at % columns;
    if (at >= columns * columns || j <= i) return;
    const double mean = 0.5 * (a[at] + a[j * columns + i]);
    a[at] = a[j * columns + i] = mean;
}

// One block: the same order at each call.
__global__ void __launch_bounds__(sum_threads)
    squares_kernel(const double* values, std::int64_t count, double* sum) {
    __shared__ double sums[sum_threads];
    double own = 0;
    for (std::int64_t i = threadIdx.x; i < count; i += sum_threads) own += values[i] * values[i];
    sums[threadIdx.x] = own;
    for (int half = sum_threads / 2; half > 0; half /= 2) {
        __syncthreads();
        if (static_cast<int>(threadIdx.x) < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    if (threadIdx.x == 0) *sum = sums[0];
}

}  // namespace

double spectral_norm(Buffer<double>& a, std::int64_t columns, cudaStream_t stream) {
    Buffer<double> square(columns * columns, stream);
    symmetric_kernel<<<item_blocks(columns * columns), item_threads, 0, stream>>>(a.get(), columns);
    check_launch("spectral_norm");
    for (int i = 0; i < squarings; ++i) {
        product(Operand<double>{a.get(), columns, columns, columns, 1}, a.get(), columns, columns,
                square.get(), columns, stream);
        std::swap(a, square);
    }
    const Buffer<double> sum(1, stream);
    squares_kernel<<<1, sum_threads, 0, stream>>>(a.get(), columns * columns, sum.get());
    check_launch("spectral_norm");
    double length = 0;
    InFlight copy(stream);
    check(cudaMemcpyAsync(&length, sum.get(), sizeof length, cudaMemcpyDefault, stream),
          "cudaMemcpy");
    copy.wait("spectral_norm");
    for (int i = 0; i < squarings + 1; ++i) length = std::sqrt(length);
    return length * slack;
}

}  // namespace kith::gpu
