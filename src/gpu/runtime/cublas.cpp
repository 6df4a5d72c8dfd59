// cuBLAS by dlopen: only its header is needed to build, and without that there are no such products.
#include "gpu/runtime/cublas.h"

#include "kith/error.h"

#if __has_include(<cublas_v2.h>)

#include <cublas_v2.h>
#include <dlfcn.h>

#include <mutex>
#include <type_traits>
#include <utility>

#include "gpu/runtime/device.h"
#include "gpu/runtime/device_memory.h"

namespace kith::gpu {

namespace {

// The functions in use, or why there are none. Never unloaded.
struct Cublas {
    decltype(&cublasCreate_v2) create = nullptr;
    decltype(&cublasSetStream_v2) set_stream = nullptr;
    decltype(&cublasSetWorkspace_v2) set_workspace = nullptr;
    decltype(&cublasGemmStridedBatchedEx_64) products = nullptr;
    decltype(&cublasGetStatusString) status_string = nullptr;
    std::string absence;  // "" where all are found

    Cublas() {
        // As NVRTC is looked for: by name, then where the CUDA toolkit of the build, or any, usually lies.
        const std::string names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so"};
        void* library = nullptr;
        for (const std::string folder : {"", KITH_CUDA_LIBRARIES "/", "/usr/local/cuda/lib64/"}) {
            for (const std::string& name : names) {
                if (!library) library = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL);
            }
        }
        if (!library) {
            absence = "cuBLAS is not found (libcublas.so.13, .12)";
            return;
        }
        const auto load = [&](auto& function, const char* name) {
            function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
            if (!function && absence.empty()) absence = std::string("cuBLAS has no ") + name;
        };
        load(create, "cublasCreate_v2");
        load(set_stream, "cublasSetStream_v2");
        load(set_workspace, "cublasSetWorkspace_v2");
        load(products, "cublasGemmStridedBatchedEx_64");
        load(status_string, "cublasGetStatusString");
    }
};

const Cublas& cublas() {
    static const Cublas one;
    return one;
}

void check_cublas(cublasStatus_t status, const char* what) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    throw Error(status == CUBLAS_STATUS_ALLOC_FAILED ? ErrorCode::out_of_memory : ErrorCode::device,
                std::string("device: ") + what + ": " + cublas().status_string(status));
}

// A handle of a device that nobody else has for as long as this lives. Making one takes milliseconds, and freeing one
// waits for the device: those that were used are kept for the next, and never freed.
class Handle {
public:
    Handle() : device_(current_device()) {
        {
            const std::lock_guard lock(mutex());
            auto& free = unused()[static_cast<std::size_t>(device_)];
            if (!free.empty()) {
                handle_ = free.back();
                free.pop_back();
            }
        }
        if (!handle_) check_cublas(cublas().create(&handle_), "cublasCreate");
    }
    ~Handle() {
        const std::lock_guard lock(mutex());
        unused()[static_cast<std::size_t>(device_)].push_back(handle_);
    }
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    cublasHandle_t get() const { return handle_; }

private:
    static std::mutex& mutex() {
        static std::mutex one;
        return one;
    }
    static std::vector<std::vector<cublasHandle_t>>& unused() {
        static auto* const all = new std::vector<std::vector<cublasHandle_t>>(max_devices);
        return *all;
    }
    int device_;
    cublasHandle_t handle_ = nullptr;
};

}  // namespace

std::string products_absence() {
    return cublas().absence;
}

void products_f32(const std::vector<ProductsF32>& products, std::int64_t workspace_bytes, cudaStream_t stream) {
    if (!cublas().absence.empty()) throw Error(ErrorCode::device, "device: " + cublas().absence);
    const Handle handle;
    // The workspace follows the stream: another stream's products may have the handle before these are over.
    const Buffer<char> workspace(workspace_bytes, stream);
    check_cublas(cublas().set_stream(handle.get(), stream), "cublasSetStream");
    check_cublas(cublas().set_workspace(handle.get(), workspace.get(), static_cast<std::size_t>(workspace_bytes)),
                 "cublasSetWorkspace");
    const float zero = 0;
    for (const ProductsF32& p : products)
        check_cublas(
            cublas().products(handle.get(), CUBLAS_OP_N, CUBLAS_OP_T, p.rows, p.columns, p.inner, &p.alpha, p.a,
                              CUDA_R_32F, p.a_column, p.a_next, p.b, CUDA_R_32F, p.b_column, 0, &zero, p.c, CUDA_R_32F,
                              p.c_column, p.c_next, p.count, CUBLAS_COMPUTE_32F_PEDANTIC, CUBLAS_GEMM_DEFAULT),
            "product of matrices");
}

}  // namespace kith::gpu

#else

namespace kith::gpu {

std::string products_absence() {
    return "this build has no products of cuBLAS, whose header it did not find";
}

void products_f32(const std::vector<ProductsF32>&, std::int64_t, cudaStream_t) {
    throw Error(ErrorCode::device, "device: " + products_absence());
}

}  // namespace kith::gpu

#endif
