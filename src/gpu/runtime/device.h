// The current device of a scope, the attributes of a device, and what a forked process may not do.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "gpu/runtime/check.h"

namespace kith::gpu {

// Devices beyond are not looked at.
inline constexpr int max_devices = 64;

// Throws device in a process that was forked from one that had found its devices, or was looking
// for them: CUDA cannot be used there.
void refuse_after_fork();
// Whether this is such a process.
bool used_before_fork();
// All memory of a device.
std::int64_t device_bytes(int device);

// The device that is current for this thread.
int current_device();

// What launches depend on. Asking for it takes milliseconds and it never changes: asked for once
// per device.
struct DeviceAttributes {
    int multiprocessors = 0;
    int capability = 0;    // 90 for 9.0
    int shared_bytes = 0;  // shared memory that a block can have, with the consent of its kernel
    int cache_bytes = 0;   // L2
};
// Throws device.
const DeviceAttributes& device_attributes(int device);
// Of the current device.
const DeviceAttributes& device_attributes();

// Makes a device current for a scope: where the backend is entered.
class DeviceScope {
public:
    explicit DeviceScope(int device) {
        refuse_after_fork();
        cudaGetLastError();  // what an earlier call of the program's own left is not an error of
                             // ours
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
