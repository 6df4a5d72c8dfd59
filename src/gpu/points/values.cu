// Coordinates that a metric does not admit, and how large they are, where the rows lie.
#include <algorithm>

#include "gpu/backend.h"
#include "gpu/primitives/rows.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/device_memory.h"
#include "gpu/runtime/in_flight.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

// A thread per coordinate.
__global__ void first_outside_kernel(Rows rows, std::int64_t cols, metric::Traits traits,
                                     unsigned long long* first) {
    const std::int64_t cell = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (cell >= rows.count * cols) return;
    const bool across = rows.col_stride == 1;  // adjacent threads read adjacent elements
    const std::int64_t row = across ? cell / cols : cell % rows.count,
                       col = across ? cell % cols : cell / rows.count;
    const double x = rows.at(row, col);
    if (!traits.admits(col, x)) atomicMin(first, static_cast<unsigned long long>(row));
}

// As many threads as the device has room for, each of every so many coordinates; then each warp.
__global__ void magnitudes_kernel(Rows rows, std::int64_t cols, unsigned long long* least,
                                  unsigned long long* most) {
    const bool across = rows.col_stride == 1;
    const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
    Magnitudes own;
    for (std::int64_t cell = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
         cell < rows.count * cols; cell += threads)
        own.add(across ? rows.at(cell / cols, cell % cols)
                       : rows.at(cell % rows.count, cell / rows.count));
    for (int lanes = 16; lanes > 0; lanes /= 2)
        own.join({__shfl_xor_sync(0xffffffffu, own.least, lanes),
                  __shfl_xor_sync(0xffffffffu, own.most, lanes)});
    if (threadIdx.x % 32 != 0) return;
    // Numbers that are not negative are ordered as their bits.
    atomicMin(least, double_to_bits(own.least));
    atomicMax(most, double_to_bits(own.most));
}

}  // namespace

Magnitudes magnitudes(const MatrixView& view) {
    constexpr int blocks = 1024;
    const DeviceScope scope(view.device);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    const Magnitudes none;
    unsigned long long bits[2] = {double_to_bits(none.least), double_to_bits(none.most)};
    Buffer<unsigned long long> found(2, nullptr);
    InFlight work(nullptr);
    check(cudaMemcpyAsync(found.get(), bits, sizeof bits, cudaMemcpyDefault, nullptr),
          "cudaMemcpy");
    const auto grid = std::min<std::int64_t>(blocks, item_blocks(view.rows * view.cols));
    magnitudes_kernel<<<static_cast<unsigned>(grid), item_threads>>>(rows_of(view), view.cols,
                                                                     found.get(), found.get() + 1);
    check_launch("magnitudes");
    check(cudaMemcpyAsync(bits, found.get(), sizeof bits, cudaMemcpyDefault, nullptr),
          "cudaMemcpy");
    work.wait("measuring the magnitudes of coordinates");
    return {bits_to_double(bits[0]), bits_to_double(bits[1])};
}

std::int64_t first_outside(const MatrixView& view, const metric::Traits& traits) {
    const DeviceScope scope(view.device);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    auto first = static_cast<unsigned long long>(view.rows);
    Buffer<unsigned long long> found(1, nullptr);
    InFlight work(nullptr);
    check(cudaMemcpyAsync(found.get(), &first, sizeof first, cudaMemcpyDefault, nullptr),
          "cudaMemcpy");
    first_outside_kernel<<<item_blocks(view.rows * view.cols), item_threads>>>(
        rows_of(view), view.cols, traits, found.get());
    check_launch("first_outside");
    check(cudaMemcpyAsync(&first, found.get(), sizeof first, cudaMemcpyDefault, nullptr),
          "cudaMemcpy");
    work.wait("looking for values that a metric does not take");
    return static_cast<std::int64_t>(first);
}

}  // namespace kith::gpu
