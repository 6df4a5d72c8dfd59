// Device memory and the GPU's limits through the CUDA runtime and cuBLAS.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include "cuda_timing.h"
#include "device_memory.h"
#include "machine_limits.h"
#include "search/data.h"

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

Limits cuda_limits(int device) {
    const std::shared_ptr<void> a = device_array(device, copy_bytes), b = device_array(device, copy_bytes);
    // Not zeros: on those the matrix units need less power, and run faster.
    fill_on_device(device, a.get(), ElementType::f32, copy_bytes / sizeof(float) / side, side, {});
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
    fill_on_device(device, a.get(), ElementType::bf16, 2 * side, side, {});
    const auto* const y = static_cast<const char*>(a.get()) + size_of(ElementType::bf16) * side * side;
    const double tensor_product = best_of([&] {
        done &= cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, side, side, side, &one, a.get(), CUDA_R_16BF, side, y,
                             CUDA_R_16BF, side, &zero, b.get(), CUDA_R_32F, side, CUBLAS_COMPUTE_32F,
                             CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS;
    });
    cublasDestroy(handle);
    if (!done) throw Error(ErrorCode::device, "a matrix product of cuBLAS failed");
    constexpr double cube = static_cast<double>(side) * side * side;
    return {.multiply_adds = cube / product,
            .bytes = 2.0 * static_cast<double>(copy_bytes) / copy,
            .how = "cuBLAS' matrix products of side 8192; copy of 2 GiB within the device, read + written",
            .tensor_multiply_adds = cube / tensor_product};
}

}  // namespace kith::bench
