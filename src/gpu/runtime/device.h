// The current device of a scope, attributes of devices, and limits of forked processes.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "gpu/runtime/check.h"

namespace kith::gpu {

// Devices beyond this number are ignored.
inline constexpr int max_devices = 64;

// Throws a device error in a process that was forked from one that had found its devices, or was
// looking for them: CUDA cannot be used there.
void refuse_after_fork();
// True in such a process.
bool used_before_fork();
// Total memory of a device, in bytes.
std::int64_t device_bytes(int device);

// The current device of this thread.
int current_device();

// Attributes that launches depend on. A query takes milliseconds and they never change, so each
// device is queried once.
struct DeviceAttributes {
    int multiprocessors = 0;
    int capability = 0;    // 90 for 9.0
    int shared_bytes = 0;  // opt-in limit of a block's shared memory
    int cache_bytes = 0;   // L2
};
// Throws a device error.
const DeviceAttributes& device_attributes(int device);
// Attributes of the current device.
const DeviceAttributes& device_attributes();

// Makes a device current for a scope, at each entry to the backend.
class DeviceScope {
public:
    explicit DeviceScope(int device) {
        refuse_after_fork();
        cudaGetLastError();  // errors of earlier calls by the program are not ours
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
