// Products of cuBLAS; a build without its header has none.
#include "papers/distance/cublas.h"

#include "kith/error.h"
#include "papers/plan.h"

#if __has_include(<cublas_v2.h>)

#include <cublas_v2.h>

#include <array>
#include <mutex>
#include <utility>

#include "gpu/runtime/device.h"
#include "gpu/runtime/device_memory.h"
#include "gpu/runtime/library.h"
#include "machine/lasting.h"

namespace kith::gpu {

namespace {

// The functions in use, or why there are none.
struct Cublas {
    decltype(&cublasCreate_v2) create = nullptr;
    decltype(&cublasSetStream_v2) set_stream = nullptr;
    decltype(&cublasSetWorkspace_v2) set_workspace = nullptr;
    decltype(&cublasGemmStridedBatchedEx_64) products = nullptr;
    decltype(&cublasGetStatusString) status_string = nullptr;
    Library library{"cuBLAS", "cublas"};

    Cublas() {
        library.load(create, "cublasCreate_v2");
        library.load(set_stream, "cublasSetStream_v2");
        library.load(set_workspace, "cublasSetWorkspace_v2");
        library.load(products, "cublasGemmStridedBatchedEx_64");
        library.load(status_string, "cublasGetStatusString");
    }
};

constinit machine::Lasting<const Cublas> loaded;

const Cublas& cublas() {
    return loaded.get();
}

// Handles of each device that nobody has.
struct Handles {
    std::mutex mutex;
    std::array<std::vector<cublasHandle_t>, max_devices> unused;
};
constinit machine::Lasting<Handles> handles;

void check_cublas(cublasStatus_t status, const char* what) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    throw Error(status == CUBLAS_STATUS_ALLOC_FAILED ? ErrorCode::out_of_memory : ErrorCode::device,
                std::string("device: ") + what + ": " + cublas().status_string(status));
}

// A handle of a device that nobody else has for as long as this lives. Making one takes
// milliseconds, and freeing one waits for the device: those that were used are kept for the next,
// and never freed.
class Handle {
public:
    Handle() : device_(current_device()) {
        {
            const std::lock_guard lock(handles.get().mutex);
            auto& free = handles.get().unused[static_cast<std::size_t>(device_)];
            if (!free.empty()) {
                handle_ = free.back();
                free.pop_back();
            }
        }
        if (!handle_) check_cublas(cublas().create(&handle_), "cublasCreate");
    }
    ~Handle() {
        const std::lock_guard lock(handles.get().mutex);
        handles.get().unused[static_cast<std::size_t>(device_)].push_back(handle_);
    }
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    cublasHandle_t get() const { return handle_; }

private:
    int device_;
    cublasHandle_t handle_ = nullptr;
};

}  // namespace

void products_f32(const std::vector<ProductsF32>& products, std::int64_t workspace_bytes,
                  cudaStream_t stream) {
    if (!cublas().library.absence().empty())
        throw Error(ErrorCode::device, "device: " + cublas().library.absence());
    const Handle handle;
    // The workspace follows the stream: another stream's products may have the handle before these
    // are over.
    const Buffer<char> workspace(workspace_bytes, stream);
    check_cublas(cublas().set_stream(handle.get(), stream), "cublasSetStream");
    check_cublas(cublas().set_workspace(handle.get(), workspace.get(),
                                        static_cast<std::size_t>(workspace_bytes)),
                 "cublasSetWorkspace");
    const float zero = 0;
    for (const ProductsF32& p : products)
        check_cublas(
            cublas().products(handle.get(), CUBLAS_OP_N, CUBLAS_OP_T, p.rows, p.columns, p.inner,
                              &p.alpha, p.a, CUDA_R_32F, p.a_column, p.a_next, p.b, CUDA_R_32F,
                              p.b_column, 0, &zero, p.c, CUDA_R_32F, p.c_column, p.c_next, p.count,
                              CUBLAS_COMPUTE_32F_PEDANTIC, CUBLAS_GEMM_DEFAULT),
            "product of matrices");
}

}  // namespace kith::gpu

std::string kith::papers::products_absence() {
    return gpu::cublas().library.absence();
}

#else

std::string kith::papers::products_absence() {
    return "this build has no products of cuBLAS, whose header it did not find";
}

void kith::gpu::products_f32(const std::vector<ProductsF32>&, std::int64_t, cudaStream_t) {
    throw Error(ErrorCode::device, "device: " + papers::products_absence());
}

#endif
