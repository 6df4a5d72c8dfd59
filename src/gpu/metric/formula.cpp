// Compiling formulas: one kernel per program and device, kept for the life of the process. Multiply-adds are not fused,
// so that it gives the bits of the CPU.
#include "gpu/metric/formula.h"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "gpu/metric/formula_text.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/nvrtc.h"

namespace kith::gpu {

namespace {

cudaKernel_t load(const std::vector<char>& image) {
    cudaLibrary_t library = nullptr;
    check(cudaLibraryLoadData(&library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0), "cudaLibraryLoadData");
    cudaKernel_t kernel = nullptr;
    check(cudaLibraryGetKernel(&kernel, library, "formula"), "cudaLibraryGetKernel");
    return kernel;
}

cudaKernel_t kernel_of(const formula::Program& program) {
    static std::map<std::pair<int, std::string>, cudaKernel_t> kernels;
    static std::mutex mutex;
    const int device = current_device();
    const std::string step = step_text(program);
    const std::lock_guard lock(mutex);
    cudaKernel_t& kernel = kernels[{device, step}];
    if (!kernel) {
        kernel = load(compile_cuda(kernel_text(step), device_attributes(device).capability));
    }
    return kernel;
}

}  // namespace

void formula_distances(const formula::Program& program, double start, const double* queries, std::int64_t q,
                       const double* points, std::int64_t n, std::int64_t d, double* out, cudaStream_t stream) {
    const cudaKernel_t kernel = kernel_of(program);
    void* arguments[] = {&start, &queries, &q, &points, &n, &d, &out};
    const std::int64_t rows = (q + 7) / 8;
    check(
        cudaLaunchKernel(reinterpret_cast<const void*>(kernel),
                         dim3(static_cast<unsigned>((n + 31) / 32), static_cast<unsigned>(rows < 65535 ? rows : 65535)),
                         dim3(32, 8), arguments, 0, stream),
        "formula");
}

}  // namespace kith::gpu
