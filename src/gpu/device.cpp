// Devices: what there is, where memory lies, copies, and the memory pools of workspace.h.
#include <cuda_runtime.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <mutex>
#include <vector>

#include "gpu/backend.h"
#include "gpu/check.h"
#include "gpu/workspace.h"

namespace kith::gpu {

namespace {

constexpr int max_devices = 64;

// Set in a child of a process that had found its devices. The driver's state is of no use there, and mutexes may be
// held by threads that the child does not have.
std::atomic<bool> forked = false;
constexpr const char* after_fork =
    "CUDA cannot be used in a process that was forked from one that has used it (start it anew instead, as with "
    "multiprocessing's \"spawn\")";

struct Presence {
    int count = 0;
    std::string reason;
};

const Presence& presence() {
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
        if (found.count > 0) pthread_atfork(nullptr, nullptr, [] { forked = true; });
        return found;
    }();
    return p;
}

// The pool of a device, made at first use and kept for the life of the process.
cudaMemPool_t pool(int device) {
    static std::array<cudaMemPool_t, max_devices> pools{};
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    cudaMemPool_t& p = pools.at(static_cast<std::size_t>(device));
    if (!p) {
        cudaMemPoolProps props{};
        props.allocType = cudaMemAllocationTypePinned;
        props.location.type = cudaMemLocationTypeDevice;
        props.location.id = device;
        cudaMemPool_t made = nullptr;
        check(cudaMemPoolCreate(&made, &props), "cudaMemPoolCreate");
        std::uint64_t keep = std::numeric_limits<std::uint64_t>::max();
        check(cudaMemPoolSetAttribute(made, cudaMemPoolAttrReleaseThreshold, &keep), "cudaMemPoolSetAttribute");
        p = made;
    }
    return p;
}

}  // namespace

void refuse_after_fork() {
    if (forked) throw Error(ErrorCode::device, std::string("device: ") + after_fork);
}

int device_count() {
    return forked ? 0 : presence().count;
}
std::string absence() {
    return forked ? after_fork : presence().reason;
}

namespace {

// Properties never change and take milliseconds to ask for.
const DeviceInfo& known_info(int device) {
    static std::array<DeviceInfo, max_devices> known;
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    DeviceInfo& entry = known.at(static_cast<std::size_t>(device));
    if (entry.capability == 0) {
        cudaDeviceProp p{};
        check(cudaGetDeviceProperties(&p, device), "cudaGetDeviceProperties");
        entry.name = p.name;
        entry.multiprocessors = p.multiProcessorCount;
        entry.capability = p.major * 10 + p.minor;
    }
    return entry;
}

}  // namespace

std::string device_name(int device) {
    refuse_after_fork();
    return known_info(device).name;
}

DeviceInfo device_info(int device) {
    const DeviceScope scope(device);
    DeviceInfo info = known_info(device);
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    const PoolBytes pool = pool_bytes(device);
    info.total_bytes = static_cast<std::int64_t>(total);
    info.free_bytes = static_cast<std::int64_t>(free) + pool.held - pool.used;
    return info;
}

int location(const void* data) {
    if (device_count() == 0) return host_memory;
    cudaPointerAttributes a{};
    if (cudaPointerGetAttributes(&a, data) != cudaSuccess) {
        cudaGetLastError();
        return host_memory;
    }
    return a.type == cudaMemoryTypeDevice ? a.device : host_memory;  // managed memory counts as the host's
}

void copy(void* to, const void* from, std::size_t bytes) {
    const int source = location(from), device = source == host_memory ? location(to) : source;
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

void* allocate(std::size_t bytes, cudaStream_t stream) {
    int device = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    void* data = nullptr;
    check(cudaSuccess, "cudaMallocAsync");  // where a test may let it fail
    if (cudaMallocFromPoolAsync(&data, bytes, pool(device), stream) != cudaSuccess) {
        // Blocks of other sizes may be idle in the pool: give them back and try once more.
        cudaGetLastError();
        check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        check(cudaMemPoolTrimTo(pool(device), 0), "cudaMemPoolTrimTo");
        check(cudaMallocFromPoolAsync(&data, bytes, pool(device), stream), "cudaMallocAsync");
    }
    return data;
}

void release(void* data, cudaStream_t stream) noexcept {
    if (data && !forked && cudaFreeAsync(data, stream) != cudaSuccess) cudaGetLastError();
}

namespace {

struct PinnedPool {
    std::mutex mutex;
    std::vector<unsigned long long*> idle;
};
// Never destroyed: the driver may be gone before it would be.
PinnedPool& pinned_pool() {
    static auto* const pool = new PinnedPool;
    return *pool;
}

}  // namespace

PinnedWords::PinnedWords() : data_(nullptr) {
    PinnedPool& pool = pinned_pool();
    const std::lock_guard lock(pool.mutex);
    if (pool.idle.empty()) {
        constexpr int blocks = 32;
        unsigned long long* fresh = nullptr;
        check(cudaHostAlloc(reinterpret_cast<void**>(&fresh), blocks * words * sizeof *fresh, cudaHostAllocPortable),
              "pinned memory");
        for (int i = 0; i < blocks; ++i) pool.idle.push_back(fresh + i * words);
    }
    data_ = pool.idle.back();
    pool.idle.pop_back();
}

PinnedWords::~PinnedWords() {
    copy_.settle();
    if (!data_) return;
    PinnedPool& pool = pinned_pool();
    const std::lock_guard lock(pool.mutex);
    pool.idle.push_back(data_);
}

void PinnedWords::fetch(const unsigned long long* from, int count, cudaStream_t stream) {
    copy_ = InFlight(stream);
    check(cudaMemcpyAsync(data_, from, static_cast<std::size_t>(count) * sizeof *from, cudaMemcpyDeviceToHost, stream),
          "cudaMemcpy");
}

PoolBytes pool_bytes(int device) {
    std::uint64_t held = 0, used = 0;
    check(cudaMemPoolGetAttribute(pool(device), cudaMemPoolAttrReservedMemCurrent, &held), "cudaMemPoolGetAttribute");
    check(cudaMemPoolGetAttribute(pool(device), cudaMemPoolAttrUsedMemCurrent, &used), "cudaMemPoolGetAttribute");
    return {static_cast<std::int64_t>(held), static_cast<std::int64_t>(used)};
}

}  // namespace kith::gpu
