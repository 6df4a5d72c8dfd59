// Values on a device, and the limits that selections are held against: reading, the copy to the host.
//
// fill: a thread owns elements its grid's width apart. read: a thread owns 16 bytes at a time, four loads in flight.
#include <cuda_runtime.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cuda_timing.h"
#include "device_memory.h"
#include "select/device.h"

namespace kith::bench {

namespace {

constexpr int threads = 256;
constexpr int repeats = 7, copy_repeats = 3;

int blocks_of(int device, int per_multiprocessor) {
    int multiprocessors = 0;
    check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
    return multiprocessors * per_multiprocessor;
}

// The median of some runs, in seconds, after one that warms up.
template <class F>
double median_seconds(int runs, F run) {
    run();
    return event_seconds(runs, run)[static_cast<std::size_t>(runs) / 2];
}

__global__ void fill_values(float* to, std::int64_t rows, std::int64_t n, Order order, bool by_column) {
    const std::int64_t count = rows * n, step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
    for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
        const std::int64_t row = by_column ? i % rows : i / n, column = by_column ? i / rows : i % n;
        to[i] = value_at(order, row, column, n);
    }
}

// The sums only keep the compiler from leaving the loads out.
__global__ void __launch_bounds__(threads) read_values(const float4* values, std::int64_t count, float* sums) {
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads;
    std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
    float sum = 0;
    for (; i + 3 * step < count; i += 4 * step) {
        const float4 a = values[i], b = values[i + step], c = values[i + 2 * step], d = values[i + 3 * step];
        sum += (a.x + a.y + a.z + a.w) + (b.x + b.y + b.z + b.w) + (c.x + c.y + c.z + c.w) + (d.x + d.y + d.z + d.w);
    }
    for (; i < count; i += step) sum += values[i].x + values[i].y + values[i].z + values[i].w;
    sums[static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x] = sum;
}

}  // namespace

void fill(int device, float* to, std::int64_t rows, std::int64_t n, Order order, bool by_column) {
    check(cudaSetDevice(device), "cudaSetDevice");
    fill_values<<<blocks_of(device, 16), threads>>>(to, rows, n, order, by_column);
    check(cudaGetLastError(), "fill_values");
    check(cudaDeviceSynchronize(), "fill_values");
}

double read_seconds(int device, const float* values, std::int64_t count) {
    check(cudaSetDevice(device), "cudaSetDevice");
    const int blocks = blocks_of(device, 8);
    const auto sums = device_array(device, static_cast<std::size_t>(blocks) * threads * sizeof(float));
    return median_seconds(repeats, [&] {
        read_values<<<blocks, threads>>>(reinterpret_cast<const float4*>(values), count / 4,
                                         static_cast<float*>(sums.get()));
        check(cudaGetLastError(), "read_values");
    });
}

double copy_seconds(int device, const float* values, std::int64_t count, float* to) {
    check(cudaSetDevice(device), "cudaSetDevice");
    return median_seconds(copy_repeats, [&] {
        check(cudaMemcpy(to, values, static_cast<std::size_t>(count) * sizeof(float), cudaMemcpyDeviceToHost),
              "cudaMemcpy");
    });
}

}  // namespace kith::bench
