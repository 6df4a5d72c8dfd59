// Device memory and the GPU's limits through the CUDA runtime and cuBLAS.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include "cuda_timing.h"
#include "device_memory.h"
#include "machine_limits.h"

namespace kith::bench {

namespace {

constexpr int repeats = 5;
constexpr int side = 8192;                                // of the matrix product
constexpr std::size_t copy_bytes = std::size_t{1} << 31;  // far past the cache

template <class F>
double best_of(F run) {
    return event_seconds(repeats, run).front();
}

}  // namespace

std::shared_ptr<void> device_array(int device, std::size_t bytes) {
    check(cudaSetDevice(device), "cudaSetDevice");
    void* data = nullptr;
    check(cudaMalloc(&data, bytes), "cudaMalloc");
    return {data, [](void* p) { cudaFree(p); }};
}

void copy_to_device(void* to, const void* from, std::size_t bytes) {
    check(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
}

Limits cuda_limits(int device) {
    const std::shared_ptr<void> a = device_array(device, copy_bytes), b = device_array(device, copy_bytes);
    check(cudaMemset(a.get(), 0, copy_bytes), "cudaMemset");
    const double copy = best_of(
        [&] { check(cudaMemcpyAsync(b.get(), a.get(), copy_bytes, cudaMemcpyDeviceToDevice), "cudaMemcpyAsync"); });
    cublasHandle_t handle = nullptr;
    if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) throw Error(ErrorCode::device, "cublasCreate failed");
    const float one = 1.0f, zero = 0.0f;
    const auto* x = static_cast<const float*>(a.get());
    bool done = true;
    const double product = best_of([&] {
        done &= cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, side, side, side, &one, x, side, x + side * side, side,
                            &zero, static_cast<float*>(b.get()), side) == CUBLAS_STATUS_SUCCESS;
    });
    cublasDestroy(handle);
    if (!done) throw Error(ErrorCode::device, "cublasSgemm failed");
    return {static_cast<double>(side) * side * side / product, 2.0 * static_cast<double>(copy_bytes) / copy,
            "cuBLAS f32 matrix product of side 8192; copy of 2 GiB within the device, read + written"};
}

}  // namespace kith::bench
