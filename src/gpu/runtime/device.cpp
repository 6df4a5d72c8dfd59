// Devices: presence, attributes, location of memory, copies.
#include "gpu/runtime/device.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "gpu/backend.h"
#include "gpu/runtime/device_code.h"
#include "gpu/runtime/handles.h"
#include "gpu/runtime/memory/device_memory.h"
#include "machine/lasting.h"

namespace kith::gpu {

namespace {

// Set in a child of a process that had found its devices, or was looking for them. The driver's
// state is useless there, and mutexes may be held by threads that the child does not have.
constinit std::atomic<bool> forked = false;
enum class DeviceSearch { not_begun, running, found_none, found_some };
constinit std::atomic<DeviceSearch> search_for_devices = DeviceSearch::not_begun;
void mark_child() {
    const DeviceSearch search = search_for_devices;
    if (search == DeviceSearch::running || search == DeviceSearch::found_some) forked = true;
}
constinit std::atomic<bool> marks_children = false;
constexpr const char* after_fork =
    "CUDA cannot be used in a process that was forked from one that has used it (start it anew "
    "instead, as with "
    "multiprocessing's \"spawn\")";

struct Presence {
    int count = 0;
    std::string reason;
};

std::unique_ptr<const Presence> look_for_devices() {
    // This precedes the call of the driver: a child may find the driver's locks held. Registering
    // twice is harmless.
    if (!marks_children) {
        if (pthread_atfork(nullptr, nullptr, mark_child) != 0) throw std::bad_alloc();
        marks_children = true;
    }
    DeviceSearch expected = DeviceSearch::not_begun;
    search_for_devices.compare_exchange_strong(expected, DeviceSearch::running);
    auto found = std::make_unique<Presence>();
    const cudaError_t status = cudaGetDeviceCount(&found->count);
    if (status != cudaSuccess) {
        cudaGetLastError();
        found->count = 0;
        int driver = 0;
        cudaDriverGetVersion(&driver);
        found->reason = driver == 0 ? "no NVIDIA driver" : cudaGetErrorString(status);
        if (status == cudaErrorInitializationError)
            found->reason += ", as in a process forked from a user of CUDA";
    } else if (found->count == 0) {
        found->reason = "no CUDA device";
    }
    found->count = found->count < max_devices ? found->count : max_devices;
    search_for_devices = found->count > 0 ? DeviceSearch::found_some : DeviceSearch::found_none;
    return found;
}

constinit machine::Lasting<const Presence> known_presence;

const Presence& presence() {
    return known_presence.get(look_for_devices);
}

// Held while the dynamic linker is queried, and through every fork(). Otherwise a child could find
// the linker's lists half changed by a thread of its parent, and could not query it.
constinit std::mutex linker_mutex;
constinit std::atomic<bool> linker_held_at_fork = false;
// True if the forking thread holds it: the handlers may be registered twice.
constinit thread_local bool holds_linker = false;

void hold_linker() {
    if (holds_linker) return;
    linker_mutex.lock();
    holds_linker = true;
}

void release_linker() {
    if (std::exchange(holds_linker, false)) linker_mutex.unlock();
}

std::unique_lock<std::mutex> lock_linker() {
    if (!linker_held_at_fork) {
        if (pthread_atfork(hold_linker, release_linker, release_linker) != 0)
            throw std::bad_alloc();
        linker_held_at_fork = true;
    }
    return std::unique_lock(linker_mutex);
}

// The number of shared objects loaded since the process began. While it is unchanged, a library
// that was absent is still absent. dlopen() would search all folders each time, which takes as long
// as a small search.
unsigned long long loads_so_far() {
    unsigned long long loads = 0;
    const auto first = [](dl_phdr_info* info, std::size_t, void* out) {
        *static_cast<unsigned long long*>(out) = info->dlpi_adds;
        return 1;
    };
    dl_iterate_phdr(first, &loads);
    return loads;
}

// True once has_context() has returned true.
constinit std::atomic<bool> context_seen = false;
// Result of loads_so_far() when the driver was not loaded; guarded by linker_mutex.
constinit unsigned long long driver_absent_after = 0;

// True if anyone in this process has made a CUDA context: without one, no memory is a device's.
// Starts nothing, and opens no device.
bool has_context() {
    if (context_seen) return true;
    const std::unique_lock lock = lock_linker();
    const unsigned long long loads = loads_so_far();
    if (loads == driver_absent_after) return false;
    void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!driver) {
        driver_absent_after = loads;
        return false;
    }
    const auto count = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount"));
    const auto state = reinterpret_cast<int (*)(int, unsigned*, int*)>(
        dlsym(driver, "cuDevicePrimaryCtxGetState"));
    const auto current = reinterpret_cast<int (*)(void**)>(dlsym(driver, "cuCtxGetCurrent"));
    int devices = 0;
    bool found = false;
    if (count && state && current &&
        count(&devices) == 0) {  // CUDA_SUCCESS: cuInit() has been called
        void* context = nullptr;
        found = current(&context) == 0 && context;
        for (int device = 0; device < devices && !found; ++device) {
            unsigned flags = 0;
            int active = 0;
            found = state(device, &flags, &active) == 0 && active;
        }
    }
    dlclose(driver);
    if (found) context_seen = true;
    return found;
}

}  // namespace

void refuse_after_fork() {
    if (forked) throw Error(ErrorCode::device, std::string("device: ") + after_fork);
}

bool used_before_fork() {
    return forked;
}

int device_count() {
    return forked ? 0 : presence().count;
}
std::string absence() {
    return forked ? after_fork : presence().reason;
}

namespace {

struct KnownDevice {
    std::string name;
    DeviceAttributes attributes;
    std::int64_t total_bytes = 0;
};

constinit std::array<machine::Lasting<const KnownDevice>, max_devices> known_devices;

const KnownDevice& known_device(int device) {
    return known_devices.at(static_cast<std::size_t>(device)).get([device] {
        cudaDeviceProp p{};
        check(cudaGetDeviceProperties(&p, device), "cudaGetDeviceProperties");
        const DeviceAttributes attributes{p.multiProcessorCount, p.major * 10 + p.minor,
                                          static_cast<int>(p.sharedMemPerBlockOptin),
                                          p.l2CacheSize};
        return std::make_unique<const KnownDevice>(
            KnownDevice{p.name, attributes, static_cast<std::int64_t>(p.totalGlobalMem)});
    });
}

}  // namespace

std::int64_t device_bytes(int device) {
    return known_device(device).total_bytes;
}

const DeviceAttributes& device_attributes(int device) {
    return known_device(device).attributes;
}
int current_device() {
    int device = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    return device;
}

const DeviceAttributes& device_attributes() {
    return device_attributes(current_device());
}

DeviceInfo device_facts(int device) {
    refuse_after_fork();
    const KnownDevice& known = known_device(device);
    return {known.name,
            known.attributes.capability,
            known.attributes.multiprocessors,
            known.total_bytes,
            0,
            ""};
}

DeviceInfo device_info(int device) {
    const DeviceScope scope(device);
    DeviceInfo info = device_facts(device);
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    const PoolBytes pool = pool_bytes(device);
    info.total_bytes = static_cast<std::int64_t>(total);
    info.free_bytes = static_cast<std::int64_t>(free) + pool.held - pool.used;
    info.code = device_code(KITH_CUDA_ARCHITECTURES, info.capability);
    return info;
}

namespace {

// location() for a process that uses CUDA.
int device_of(const void* data) {
    cudaPointerAttributes a{};
    if (cudaPointerGetAttributes(&a, data) != cudaSuccess) {
        cudaGetLastError();
        return host_memory;
    }
    return a.type == cudaMemoryTypeDevice ? a.device
                                          : host_memory;  // managed memory counts as host memory
}

}  // namespace

int location(const void* data) {
    return forked || !has_context() || device_count() == 0 ? host_memory : device_of(data);
}

std::shared_ptr<void> call_stream(int device) {
    const DeviceScope scope(device);
    return std::shared_ptr<std::remove_pointer_t<cudaStream_t>>(make_stream());
}

void copy(void* to, const void* from, std::size_t bytes) {
    // A caller that copies between memories has named a device, so has_context() need not see its
    // context.
    const bool absent = forked || device_count() == 0;
    const int source = absent ? host_memory : device_of(from);
    const int device = absent || source != host_memory ? source : device_of(to);
    if (device == host_memory) {
        std::memcpy(to, from, bytes);
        return;
    }
    const DeviceScope scope(device);
    check(cudaDeviceSynchronize(), "work before a copy");
    check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "cudaMemcpy");
    // A copy from pageable memory may still be under way.
    check(cudaStreamSynchronize(nullptr), "cudaMemcpy");
}

}  // namespace kith::gpu
