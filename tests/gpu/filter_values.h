// What tests of the filters' own values share: device memory read back, the instruction sets of the device.
#pragma once

#include <cuda_runtime.h>

#include <vector>

#include "gpu/filter/pass.h"
#include "gpu_arrays.h"

namespace filter_values {

namespace gpu = kith::gpu;

template <class T>
std::vector<T> to_host(const T* data, std::int64_t count) {
    std::vector<T> out(static_cast<std::size_t>(count));
    gpu_arrays::check(cudaMemcpy(out.data(), data, out.size() * sizeof(T), cudaMemcpyDeviceToHost));
    return out;
}

inline std::vector<gpu::FilterIsa> instruction_sets() {
    int device = 0, major = 0, minor = 0;
    gpu_arrays::check(cudaGetDevice(&device));
    gpu_arrays::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    gpu_arrays::check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
    if (major == 9 && minor == 0) return {gpu::FilterIsa::sm_80, gpu::FilterIsa::sm_90a};
    return {gpu::FilterIsa::sm_80};
}

}  // namespace filter_values
