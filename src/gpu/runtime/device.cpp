// Devices: what there is, where memory lies, copies.
#include "gpu/runtime/device.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>

#include "gpu/backend.h"
#include "gpu/runtime/device_memory.h"
#include "gpu/runtime/handles.h"

namespace kith::gpu {

namespace {

// Set in a child of a process that had found its devices, or was looking for them. The driver's state is of no use
// there, and mutexes may be held by threads that the child does not have.
constinit std::atomic<bool> forked = false;
enum class DeviceSearch { not_begun, running, found_none, found_some };
constinit std::atomic<DeviceSearch> search_for_devices = DeviceSearch::not_begun;
[[maybe_unused]] const int at_fork = pthread_atfork(nullptr, nullptr, [] {
    const DeviceSearch search = search_for_devices;
    if (search == DeviceSearch::running || search == DeviceSearch::found_some) forked = true;
});
constexpr const char* after_fork =
    "CUDA cannot be used in a process that was forked from one that has used it (start it anew instead, as with "
    "multiprocessing's \"spawn\")";

struct Presence {
    int count = 0;
    std::string reason;
};

const Presence& presence() {
    // Before the guard of `p` is taken, which a child would wait for, and until it is free.
    DeviceSearch expected = DeviceSearch::not_begun;
    search_for_devices.compare_exchange_strong(expected, DeviceSearch::running);
    static const Presence p = [] {
        Presence found;
        const cudaError_t status = cudaGetDeviceCount(&found.count);
        if (status != cudaSuccess) {
            cudaGetLastError();
            found.count = 0;
            int driver = 0;
            cudaDriverGetVersion(&driver);
            found.reason = driver == 0 ? "no NVIDIA driver" : cudaGetErrorString(status);
            if (status == cudaErrorInitializationError) found.reason += ", as in a process forked from a user of CUDA";
        } else if (found.count == 0) {
            found.reason = "no CUDA device";
        }
        found.count = found.count < max_devices ? found.count : max_devices;
        return found;
    }();
    search_for_devices = p.count > 0 ? DeviceSearch::found_some : DeviceSearch::found_none;
    return p;
}

// Held while the dynamic linker is asked, and through every fork(): a child that finds the linker's lists half changed
// by a thread of its parent cannot ask it any more.
std::mutex& linker_mutex() {
    static auto* const mutex = [] {
        static auto* const made = new std::mutex;  // never destroyed: children of exiting processes fork, too
        pthread_atfork([] { made->lock(); }, [] { made->unlock(); }, [] { made->unlock(); });
        return made;
    }();
    return *mutex;
}

// How many shared objects were loaded since the process began: while that stays, what was not among them is not now.
// dlopen() would look for it in all folders each time, which takes as long as a small search.
unsigned long long loads_so_far() {
    unsigned long long loads = 0;
    const auto first = [](dl_phdr_info* info, std::size_t, void* out) {
        *static_cast<unsigned long long*>(out) = info->dlpi_adds;
        return 1;
    };
    dl_iterate_phdr(first, &loads);
    return loads;
}

// Whether somebody in this process has made a CUDA context: without one no memory is a device's. Starts nothing, and
// opens no device.
bool has_context() {
    static std::atomic<bool> seen = false;
    if (seen) return true;
    const std::lock_guard lock(linker_mutex());
    static unsigned long long absent_after = 0;
    const unsigned long long loads = loads_so_far();
    if (loads == absent_after) return false;
    void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!driver) {
        absent_after = loads;
        return false;
    }
    const auto count = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount"));
    const auto state = reinterpret_cast<int (*)(int, unsigned*, int*)>(dlsym(driver, "cuDevicePrimaryCtxGetState"));
    const auto current = reinterpret_cast<int (*)(void**)>(dlsym(driver, "cuCtxGetCurrent"));
    int devices = 0;
    bool found = false;
    if (count && state && current && count(&devices) == 0) {  // CUDA_SUCCESS: cuInit() has been called
        void* context = nullptr;
        found = current(&context) == 0 && context;
        for (int device = 0; device < devices && !found; ++device) {
            unsigned flags = 0;
            int active = 0;
            found = state(device, &flags, &active) == 0 && active;
        }
    }
    dlclose(driver);
    if (found) seen = true;
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

const KnownDevice& known_device(int device) {
    static std::array<KnownDevice, max_devices> known;
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    KnownDevice& entry = known.at(static_cast<std::size_t>(device));
    if (entry.attributes.capability == 0) {
        cudaDeviceProp p{};
        check(cudaGetDeviceProperties(&p, device), "cudaGetDeviceProperties");
        entry.name = p.name;
        entry.total_bytes = static_cast<std::int64_t>(p.totalGlobalMem);
        entry.attributes = {p.multiProcessorCount, p.major * 10 + p.minor, static_cast<int>(p.sharedMemPerBlockOptin),
                            p.l2CacheSize};
    }
    return entry;
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
    return {known.name, known.attributes.capability, known.attributes.multiprocessors, known.total_bytes, 0};
}

DeviceInfo device_info(int device) {
    const DeviceScope scope(device);
    DeviceInfo info = device_facts(device);
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    const PoolBytes pool = pool_bytes(device);
    info.total_bytes = static_cast<std::int64_t>(total);
    info.free_bytes = static_cast<std::int64_t>(free) + pool.held - pool.used;
    return info;
}

namespace {

// As location(), of a process that uses CUDA.
int device_of(const void* data) {
    cudaPointerAttributes a{};
    if (cudaPointerGetAttributes(&a, data) != cudaSuccess) {
        cudaGetLastError();
        return host_memory;
    }
    return a.type == cudaMemoryTypeDevice ? a.device : host_memory;  // managed memory counts as the host's
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
    // Who copies between memories has named a device: whether has_context() sees its context does not matter.
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
    // Memory that is not pinned may still be on its way to the device.
    check(cudaStreamSynchronize(nullptr), "cudaMemcpy");
}

}  // namespace kith::gpu
