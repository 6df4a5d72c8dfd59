// The ranges of registered_memory.h, each with its owners.
#include "gpu/runtime/registered_memory.h"

#include <cuda.h>
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <sstream>
#include <string>

#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"
#include "machine/lasting.h"

namespace kith::gpu {

namespace {

struct Range {
    std::uintptr_t end;
    std::int64_t owners;
    int device;  // that was current when it was registered
};
struct Registry {
    std::mutex mutex;
    std::map<std::uintptr_t, Range> ranges;  // by their starts
};
constinit machine::Lasting<Registry> registry;

void* pointer(std::uintptr_t address) {
    return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

// Whether devices read it at the address that the host has.
bool is_at_the_same_address(std::uintptr_t data) {
    void* seen = nullptr;
    if (cudaHostGetDevicePointer(&seen, pointer(data), 0) == cudaSuccess)
        return seen == pointer(data);
    cudaGetLastError();
    return false;
}

// Whether [data, end) lies in one range that somebody else has registered, or allocated pinned.
bool is_pinned(std::uintptr_t data, std::uintptr_t end) {
    cudaPointerAttributes a{};
    if (cudaPointerGetAttributes(&a, pointer(data)) != cudaSuccess) {
        cudaGetLastError();
        return false;
    }
    if (a.type != cudaMemoryTypeHost || !is_at_the_same_address(data)) return false;
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
    constexpr unsigned since = 4000;
    if (cudaGetDriverEntryPointByVersion("cuPointerGetAttribute", &function, since,
                                         cudaEnableDefault, &found) != cudaSuccess ||
        found != cudaDriverEntryPointSuccess) {
        cudaGetLastError();
        return false;
    }
    const auto attribute = reinterpret_cast<decltype(&cuPointerGetAttribute)>(function);
    std::uintptr_t start = 0;
    std::size_t bytes = 0;
    return attribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, data) == CUDA_SUCCESS &&
           attribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, data) == CUDA_SUCCESS &&
           start <= data && end <= start + bytes;
}

// Whether a file is mapped in [data, end), as far as the system tells: pinning such pages may fail
// or, seen on an NVIDIA H100's host with a private mapping that is only read, not return.
bool is_of_a_file(std::uintptr_t data, std::uintptr_t end) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        // first-last permissions offset device inode path
        std::istringstream fields(line);
        std::uintptr_t first = 0, last = 0;
        char dash = 0;
        std::string permissions, offset, device, path;
        std::uint64_t inode = 0;
        fields >> std::hex >> first >> dash >> last >> permissions >> offset >> device >>
            std::dec >> inode;
        if (!fields || inode == 0 || first >= end || last <= data) continue;
        fields >> path;
        // Memory that processes share, and huge pages, have a name alone.
        const auto begins = [&](const char* with) { return path.rfind(with, 0) == 0; };
        if (!begins("/dev/shm/") && !begins("/memfd:") && !begins("/dev/zero") &&
            !begins("/SYSV") && !begins("/anon_hugepage"))
            return true;
    }
    return false;
}

// As memory that is only read, where the device knows such: pages that this process may not write
// are pinned, too, and those of a file are not copied.
cudaError_t pin(std::uintptr_t data, std::size_t bytes) {
    constexpr unsigned everywhere = cudaHostRegisterPortable | cudaHostRegisterMapped;
    int knows_reading = 0;
    if (cudaDeviceGetAttribute(&knows_reading, cudaDevAttrHostRegisterReadOnlySupported,
                               current_device()) != cudaSuccess)
        cudaGetLastError();
    if (knows_reading) {
        const cudaError_t status =
            cudaHostRegister(pointer(data), bytes, everywhere | cudaHostRegisterReadOnly);
        if (status != cudaErrorNotSupported && status != cudaErrorInvalidValue) return status;
        cudaGetLastError();
    }
    return cudaHostRegister(pointer(data), bytes, everywhere);
}

// Whatever else fails: memory that stays registered is freed by its owner, and what comes to lie
// there is not what the device reads.
void unpin(std::uintptr_t data, int device) noexcept {
    int before = device;
    if (cudaGetDevice(&before) == cudaSuccess && before != device) cudaSetDevice(device);
    cudaHostUnregister(pointer(data));
    if (before != device) cudaSetDevice(before);
    cudaGetLastError();
}

}  // namespace

RegisteredMemory::RegisteredMemory(const void* data, std::int64_t bytes) {
    const auto start = reinterpret_cast<std::uintptr_t>(data),
               end = start + static_cast<std::uintptr_t>(bytes);
    Registry& all = registry.get();
    const std::lock_guard lock(all.mutex);
    const auto after = all.ranges.upper_bound(start);
    if (after != all.ranges.begin())
        if (const auto holder = std::prev(after); holder->second.end >= end) {
            ++holder->second.owners;
            start_ = holder->first;
            return;
        }
    if (is_pinned(start, end)) return;
    const auto refuse = [&](const char* why) {
        throw Error(
            ErrorCode::device,
            fmt::format("device: {} bytes of host memory could not be registered: {}", bytes, why));
    };
    if (is_of_a_file(start, end)) refuse("a file is mapped there");
    const auto place = all.ranges.emplace(start, Range{end, 1, current_device()});
    // Another range that begins here is shorter, and overlaps this one.
    cudaError_t status = cudaErrorHostMemoryAlreadyRegistered;
    try {
        if (place.second) status = pin(start, static_cast<std::size_t>(bytes));
        check(status, "registering");
    } catch (const Error& error) {
        if (status == cudaSuccess) unpin(start, place.first->second.device);
        if (place.second) all.ranges.erase(place.first);
        refuse(error.what());
    }
    if (!is_at_the_same_address(start)) {
        unpin(start, place.first->second.device);
        all.ranges.erase(place.first);
        refuse("the device has it at another address");
    }
    start_ = start;
}

RegisteredMemory::~RegisteredMemory() {
    if (start_ == 0 || used_before_fork()) return;
    Registry& all = registry.get();
    const std::lock_guard lock(all.mutex);
    const auto held = all.ranges.find(start_);
    if (held == all.ranges.end() || --held->second.owners > 0) return;
    const int device = held->second.device;
    all.ranges.erase(held);
    unpin(start_, device);
}

std::size_t RegisteredMemory::count() {
    Registry& all = registry.get();
    const std::lock_guard lock(all.mutex);
    return all.ranges.size();
}

}  // namespace kith::gpu
