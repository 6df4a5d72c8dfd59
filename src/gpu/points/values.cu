// What a metric demands of coordinates, looked for where the rows lie.
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
__global__ void first_outside_kernel(Rows rows, std::int64_t cols, metric::Traits traits, unsigned long long* first) {
    const std::int64_t cell = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (cell >= rows.count * cols) return;
    const bool across = rows.col_stride == 1;  // adjacent threads read adjacent elements
    const std::int64_t row = across ? cell / cols : cell % rows.count, col = across ? cell % cols : cell / rows.count;
    const double x = rows.at(row, col);
    if (!traits.admits(col, x)) atomicMin(first, static_cast<unsigned long long>(row));
}

}  // namespace

std::int64_t first_outside(const MatrixView& view, const metric::Traits& traits) {
    const DeviceScope scope(view.device);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    auto first = static_cast<unsigned long long>(view.rows);
    Buffer<unsigned long long> found(1, nullptr);
    InFlight work(nullptr);
    check(cudaMemcpyAsync(found.get(), &first, sizeof first, cudaMemcpyDefault, nullptr), "cudaMemcpy");
    first_outside_kernel<<<item_blocks(view.rows * view.cols), item_threads>>>(rows_of(view), view.cols, traits,
                                                                               found.get());
    check_launch("first_outside");
    check(cudaMemcpyAsync(&first, found.get(), sizeof first, cudaMemcpyDefault, nullptr), "cudaMemcpy");
    work.wait("looking for values that a metric does not take");
    return static_cast<std::int64_t>(first);
}

}  // namespace kith::gpu
