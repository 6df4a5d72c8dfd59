// What tests of the filters' own values share: device memory read back, the instruction sets of the device.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
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

// Of rows of n values, `ld` apart, those of that share of the ranks, as thresholds: none passes without one.
inline std::vector<float> thresholds_of(const std::vector<float>& values, std::int64_t ld, std::int64_t n,
                                        double share) {
    std::vector<float> out, sorted;
    for (auto row = values.begin(); row != values.end(); row += ld) {
        sorted.assign(row, row + n);
        const auto rank = static_cast<std::ptrdiff_t>(share * static_cast<double>(n - 1));
        std::nth_element(sorted.begin(), sorted.begin() + rank, sorted.end());
        out.push_back(std::max(sorted[static_cast<std::size_t>(rank)], std::numeric_limits<float>::lowest()));
    }
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
