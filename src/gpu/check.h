// Errors of CUDA and its libraries as kith::Error, and the device of a scope.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "kith/error.h"

namespace kith::gpu {

inline void check(cudaError_t status, const char* what) {
    if (status == cudaSuccess) return;
    cudaGetLastError();  // an error that is not sticky must not reach the next call
    throw Error(status == cudaErrorMemoryAllocation ? ErrorCode::out_of_memory : ErrorCode::device,
                std::string("device: ") + what + ": " + cudaGetErrorString(status));
}

// After a kernel launch.
inline void check_launch(const char* kernel) {
    check(cudaGetLastError(), kernel);
}

// Throws device in a process that was forked from one that had found its devices: CUDA cannot be used there.
void refuse_after_fork();

// Makes a device current for a scope: where the backend is entered.
class DeviceScope {
public:
    explicit DeviceScope(int device) {
        refuse_after_fork();
        check(cudaGetDevice(&previous_), "cudaGetDevice");
        if (device != previous_) check(cudaSetDevice(device), "cudaSetDevice");
    }
    ~DeviceScope() { cudaSetDevice(previous_); }
    DeviceScope(const DeviceScope&) = delete;
    DeviceScope& operator=(const DeviceScope&) = delete;

private:
    int previous_ = 0;
};

}  // namespace kith::gpu
