// Errors of CUDA and its libraries as kith::Error.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <string>

#include "kith/error.h"

namespace kith::gpu {

// Tests let a call fail that succeeded: the one that is checked when so many have been.
struct InjectedFault {
    static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
    static inline std::atomic<std::int64_t> checks_left = none;

    static bool now() {
        return checks_left.load(std::memory_order_relaxed) != none && checks_left.fetch_sub(1) == 0;
    }
};

inline void check(cudaError_t status, const char* what) {
    if (InjectedFault::now()) status = cudaErrorMemoryAllocation;
    if (status == cudaSuccess) return;
    cudaGetLastError();  // an error that is not sticky must not reach the next call
    throw Error(status == cudaErrorMemoryAllocation ? ErrorCode::out_of_memory : ErrorCode::device,
                std::string("device: ") + what + ": " + cudaGetErrorString(status));
}

// After a kernel launch.
inline void check_launch(const char* kernel) {
    check(cudaGetLastError(), kernel);
}

}  // namespace kith::gpu
