// The public merge queue in a kernel of one's own: threads of rows that differ, beside a sort on the host.
#include <gtest/gtest.h>

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kith/merge_queue.cuh"

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

// A thread per row; `values` by column.
template <class Queue, int k>
__global__ void nearest(const float* values, int n, int rows, float* keys, int* indices) {
    const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    Queue queue;
    for (int i = 0; i < n; ++i) queue.insert(row < rows ? values[i * rows + row] : NAN, i);
    queue.sort();
    for (int j = 0; row < rows && j < k; ++j) {
        keys[row * k + j] = queue.key(j);
        indices[row * k + j] = queue.index(j);
    }
}

template <class T>
T* on_device(const std::vector<T>& host) {
    T* device = nullptr;
    EXPECT_EQ(cudaSuccess, cudaMalloc(&device, host.size() * sizeof(T)));
    EXPECT_EQ(cudaSuccess, cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    return device;
}

template <class T>
std::vector<T> on_host(T* device, std::size_t count) {
    std::vector<T> host(count);
    EXPECT_EQ(cudaSuccess, cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
    cudaFree(device);
    return host;
}

// Random rows, rows with few values, descending rows and NaN, next to each other in a warp.
template <class Queue, int k>
void as_on_the_host(int n, int rows) {
    std::mt19937 random(7);
    std::vector<float> values(static_cast<std::size_t>(n * rows));
    for (int i = 0; i < n; ++i)
        for (int row = 0; row < rows; ++row) {
            const float uniform = std::uniform_real_distribution<float>(0, 1)(random);
            values[static_cast<std::size_t>(i * rows + row)] = row % 4 == 0   ? uniform
                                                               : row % 4 == 1 ? std::floor(8 * uniform)
                                                               : row % 4 == 2 ? static_cast<float>(n - i)
                                                               : i % 2        ? NAN
                                                                              : uniform;
        }
    float* const on = on_device(values);
    float* const keys = on_device(std::vector<float>(static_cast<std::size_t>(rows * k)));
    int* const indices = on_device(std::vector<int>(static_cast<std::size_t>(rows * k)));
    nearest<Queue, k><<<(rows + 63) / 64, 64>>>(on, n, rows, keys, indices);
    ASSERT_EQ(cudaSuccess, cudaDeviceSynchronize());
    cudaFree(on);
    const std::vector<float> got = on_host(keys, static_cast<std::size_t>(rows * k));
    const std::vector<int> ids = on_host(indices, static_cast<std::size_t>(rows * k));
    for (int row = 0; row < rows; ++row) {
        const auto at = [&](int i) { return values[static_cast<std::size_t>(i * rows + row)]; };
        std::vector<int> order;
        for (int i = 0; i < n; ++i)
            if (!std::isnan(at(i))) order.push_back(i);
        std::ranges::stable_sort(order, {}, at);
        for (int j = 0; j < k; ++j) {
            const bool there = j < static_cast<int>(order.size());
            const auto cell = static_cast<std::size_t>(row * k + j);
            ASSERT_EQ(there ? order[static_cast<std::size_t>(j)] : Queue::none, ids[cell]) << row << ", " << j;
            ASSERT_EQ(there ? at(order[static_cast<std::size_t>(j)]) : infinity, got[cell]) << row << ", " << j;
        }
    }
}

TEST(GpuMergeQueue, AsOnTheHost) {
    as_on_the_host<kith::MergeQueue<32>, 32>(2000, 100);
    as_on_the_host<kith::MergeQueue<32, 8, false>, 32>(2000, 100);
    as_on_the_host<kith::MergeQueue<5>, 5>(300, 65);
    as_on_the_host<kith::MergeQueue<100, 16>, 100>(1000, 33);
    as_on_the_host<kith::MergeQueue<64>, 64>(40, 32);
}

}  // namespace
