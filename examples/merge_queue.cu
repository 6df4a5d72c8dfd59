// A kernel of one's own that keeps each row's nearest with the merge queue of Tang et al. 2015: distances are made and
// selected in one pass, and no matrix of them is stored. nvcc -std=c++20 -I include examples/merge_queue.cu
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#include "kith/merge_queue.cuh"

constexpr int n = 20000, q = 1000, d = 3, k = 16;

// A thread per query. Points and queries are by column, so that adjacent threads read adjacent values.
__global__ void nearest(const float* points, const float* queries, float* distances, int* ids) {
    const int query = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    float own[d];
    for (int c = 0; c < d; ++c) own[c] = query < q ? queries[c * q + query] : 0;
    kith::MergeQueue<k> queue;
    for (int i = 0; i < n; ++i) {
        float sum = 0;
        for (int c = 0; c < d; ++c) sum += (own[c] - points[c * n + i]) * (own[c] - points[c * n + i]);
        queue.insert(sum, i);  // by all threads of a warp together
    }
    queue.sort();
    for (int j = 0; query < q && j < k; ++j) {
        distances[query * k + j] = queue.key(j);
        ids[query * k + j] = queue.index(j);
    }
}

int main() {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::puts("no GPU");
        return 77;
    }
    float *points = nullptr, *queries = nullptr, *distances = nullptr;
    int* ids = nullptr;
    cudaMallocManaged(&points, sizeof(float) * n * d);
    cudaMallocManaged(&queries, sizeof(float) * q * d);
    cudaMallocManaged(&distances, sizeof(float) * q * k);
    cudaMallocManaged(&ids, sizeof(int) * q * k);
    unsigned state = 1;
    const auto random = [&state] {
        return static_cast<float>((state = state * 1664525U + 1013904223U) >> 8) / 16777216;
    };
    for (int i = 0; i < n * d; ++i) points[i] = random();
    for (int c = 0; c < d; ++c)  // the queries are the first points
        for (int i = 0; i < q; ++i) queries[c * q + i] = points[c * n + i];
    nearest<<<(q + 127) / 128, 128>>>(points, queries, distances, ids);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    bool right = true;
    for (int i = 0; i < q; ++i) {
        right = right && ids[i * k] == i && distances[i * k] == 0;  // each is its own nearest
        for (int j = 1; j < k; ++j) right = right && distances[i * k + j - 1] <= distances[i * k + j];
    }
    for (int j = 0; j < k; ++j) std::printf("%d: %g\n", ids[j], distances[j]);
    for (void* each : {static_cast<void*>(points), static_cast<void*>(queries), static_cast<void*>(distances),
                       static_cast<void*>(ids)})
        cudaFree(each);
    return right ? 0 : 1;
}
