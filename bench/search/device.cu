// Data of searches made on a device, and the copy that a search from host memory is held against.
//
// fill: a warp owns rows its grid's warps apart, a lane columns 32 apart.
#include <cuda_runtime.h>

#include "cuda_timing.h"
#include "device_memory.h"
#include "search/data.h"
#include "search/pinned_copy.h"

namespace kith::bench {

namespace {

constexpr int threads = 256, lanes = 32;
constexpr int blocks = 4096;
constexpr int copies = 7;

template <class T>
__global__ void __launch_bounds__(threads) fill_rows(T* to, std::int64_t rows, std::int64_t d, Recipe r) {
    const int lane = threadIdx.x % lanes;
    const std::int64_t warps = static_cast<std::int64_t>(gridDim.x) * (threads / lanes);
    std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * (threads / lanes) + threadIdx.x / lanes;
    for (; row < rows; row += warps) {
        float scale = 1;
        if (r.data == Data::unit) {
            double squares = 0;
            for (std::int64_t i = lane; i < d; i += lanes) {
                const double value = coordinate(r, row, i, d);
                squares += value * value;
            }
            for (int apart = lanes / 2; apart; apart /= 2) squares += __shfl_xor_sync(0xffffffffu, squares, apart);
            scale = static_cast<float>(1 / std::sqrt(squares));
        }
        for (std::int64_t i = lane; i < d; i += lanes)
            to[row * d + i] = element_of<T>(scale * coordinate(r, row, i, d), r.data);
    }
}

}  // namespace

void fill_on_device(int device, void* to, ElementType type, std::int64_t rows, std::int64_t d, const Recipe& recipe) {
    check(cudaSetDevice(device), "cudaSetDevice");
    with_element(type, [&]<class T>(T) { fill_rows<<<blocks, threads>>>(static_cast<T*>(to), rows, d, recipe); });
    check(cudaGetLastError(), "fill_rows");
    check(cudaDeviceSynchronize(), "fill_rows");
}

double pinned_copy_seconds(int device, std::size_t bytes) {
    const std::shared_ptr<void> to = device_array(device, bytes);
    void* from = nullptr;
    check(cudaHostAlloc(&from, bytes, cudaHostAllocDefault), "cudaHostAlloc");
    const std::shared_ptr<void> pinned(from, [](void* p) { cudaFreeHost(p); });
    const auto copy = [&] { check(cudaMemcpyAsync(to.get(), from, bytes, cudaMemcpyHostToDevice), "cudaMemcpyAsync"); };
    copy();
    return event_seconds(copies, copy)[copies / 2];
}

}  // namespace kith::bench
