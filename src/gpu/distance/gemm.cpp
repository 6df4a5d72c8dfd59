// cuBLAS handles, one per thread and device, and the product of gemm.h.
#include "gpu/distance/gemm.h"

#include <cublas_v2.h>

#include <map>
#include <memory>
#include <string>
#include <type_traits>

#include "gpu/check.h"

namespace kith::gpu {

namespace {

void check(cublasStatus_t status, const char* what) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    throw Error(status == CUBLAS_STATUS_ALLOC_FAILED ? ErrorCode::out_of_memory : ErrorCode::device,
                std::string("device: ") + what + ": " + cublasGetStatusString(status));
}

struct Destroy {
    void operator()(cublasHandle_t handle) const { cublasDestroy(handle); }
};
using Handle = std::unique_ptr<std::remove_pointer_t<cublasHandle_t>, Destroy>;

cublasHandle_t handle() {
    thread_local std::map<int, Handle> handles;
    int device = 0;
    kith::gpu::check(cudaGetDevice(&device), "cudaGetDevice");
    Handle& h = handles[device];
    if (!h) {
        cublasHandle_t made = nullptr;
        check(cublasCreate(&made), "cublasCreate");
        h.reset(made);
    }
    return h.get();
}

}  // namespace

void multiply(const float* queries, std::int64_t q, const float* points, std::int64_t n, std::int64_t width, float* out,
              std::int64_t ld, bool tf32, cudaStream_t stream) {
    cublasHandle_t h = handle();
    check(cublasSetStream(h, stream), "cublasSetStream");
    const float alpha = -1.0f, beta = 0.0f;
    // Column-major for cuBLAS: out' (n x q) = -points'' queries'.
    check(cublasGemmEx_64(h, CUBLAS_OP_T, CUBLAS_OP_N, n, q, width, &alpha, points, CUDA_R_32F, width, queries,
                          CUDA_R_32F, width, &beta, out, CUDA_R_32F, ld,
                          tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F_PEDANTIC, CUBLAS_GEMM_DEFAULT),
          "cublasGemmEx");
}

}  // namespace kith::gpu
