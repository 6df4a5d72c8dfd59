// Where device memory lies and when its streams are done, asked of the driver that whoever allocated it has loaded.
#include "devices.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdint>

#include "gil.h"
#include "kith/error.h"
#include "kith/types.h"

namespace nb = nanobind;

namespace kith::python {
namespace {

// For cuda.h, which need not be there where this is built.
constexpr int device_ordinal_attribute = 9;  // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
using Status = int;                          // CUresult; 0 is success

template <class Function>
Function symbol(const char* name) {
    static void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    void* const found = driver ? dlsym(driver, name) : nullptr;
    if (!found) throw Error(ErrorCode::device, fmt::format("{}: the CUDA driver is not loaded", name));
    return reinterpret_cast<Function>(found);  // NOLINT: a function of the driver by its name
}

void check(Status status, const char* what) {
    if (status != 0) throw Error(ErrorCode::device, fmt::format("{}: CUDA driver error {}", what, status));
}

// The devices that this process sees; 0 without a driver.
int device_count() {
    try {
        static const auto init = symbol<Status (*)(unsigned)>("cuInit");
        static const auto ask = symbol<Status (*)(int*)>("cuDeviceGetCount");
        int count = 0;
        return init(0) == 0 && ask(&count) == 0 ? count : 0;
    } catch (const Error&) {
        return 0;
    }
}

// The ordinal of the device whose memory `data` is; throws device where it is none's.
int device_of(std::uintptr_t data) {
    static const auto ask = symbol<Status (*)(void*, int, std::uint64_t)>("cuPointerGetAttribute");
    int ordinal = host_memory;
    check(ask(&ordinal, device_ordinal_attribute, data), "cuPointerGetAttribute");
    return ordinal;
}

// Until what was queued on a stream of that device is done; 1 and 2 are its default streams.
void wait_for_stream(std::uintptr_t stream, int device) {
    static const auto synchronize = symbol<Status (*)(std::uintptr_t)>("cuStreamSynchronize");
    static const auto retain = symbol<Status (*)(void**, int)>("cuDevicePrimaryCtxRetain");
    static const auto release = symbol<Status (*)(int)>("cuDevicePrimaryCtxRelease_v2");
    static const auto push = symbol<Status (*)(void*)>("cuCtxPushCurrent_v2");
    static const auto pop = symbol<Status (*)(void**)>("cuCtxPopCurrent_v2");
    const ReleasedGil released;
    void* context = nullptr;
    check(retain(&context, device), "cuDevicePrimaryCtxRetain");
    Status status = push(context);
    if (status == 0) {
        status = synchronize(stream);
        pop(&context);
    }
    release(device);
    check(status, "cuStreamSynchronize");
}

}  // namespace

void add_devices(nb::module_& module) {
    module.def("device_count", device_count);
    module.def("device_of", device_of, nb::arg("data"));
    module.def("wait_for_stream", wait_for_stream, nb::arg("stream"), nb::arg("device"));
}

}  // namespace kith::python
