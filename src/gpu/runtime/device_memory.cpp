// The memory pool of each device; see device_memory.h.
#include "gpu/runtime/device_memory.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <limits>
#include <mutex>

#include "gpu/runtime/call_memory.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/tuning.h"

namespace kith::gpu {

namespace {

constinit std::array<cudaMemPool_t, max_devices> pools{};
constinit std::mutex pools_mutex;

// The pool of a device, made at first use and kept for the life of the process.
cudaMemPool_t pool(int device) {
    const std::lock_guard lock(pools_mutex);
    cudaMemPool_t& p = pools.at(static_cast<std::size_t>(device));
    if (!p) {
        cudaMemPoolProps props{};
        props.allocType = cudaMemAllocationTypePinned;
        props.location.type = cudaMemLocationTypeDevice;
        props.location.id = device;
        cudaMemPool_t made = nullptr;
        check(cudaMemPoolCreate(&made, &props), "cudaMemPoolCreate");
        std::uint64_t keep = std::numeric_limits<std::uint64_t>::max();
        check(cudaMemPoolSetAttribute(made, cudaMemPoolAttrReleaseThreshold, &keep),
              "cudaMemPoolSetAttribute");
        p = made;
    }
    return p;
}

constinit std::atomic<std::uint64_t> allocations = 0;

// Of small blocks a multiple of an eighth of the next smaller power of two, so that calls which
// differ a little find each other's.
std::size_t block_bytes(std::size_t bytes) {
    if (bytes > tuning::largest_kept_block || !keeps_blocks.load(std::memory_order_relaxed))
        return bytes;
    const std::size_t unit = std::max(std::bit_ceil(bytes) / 16, tuning::least_kept_block);
    return (bytes + unit - 1) / unit * unit;
}

}  // namespace

std::uint64_t allocations_so_far() {
    return allocations.load(std::memory_order_relaxed);
}

DeviceBlock allocate(std::size_t asked, cudaStream_t stream) {
    allocations.fetch_add(1, std::memory_order_relaxed);
    const int device = current_device();
    DeviceBlock out{.bytes = asked, .device = device};
    check(cudaSuccess, "cudaMallocAsync");  // where a test may let it fail
    const std::size_t bytes = block_bytes(asked);
    if (bytes <= tuning::largest_kept_block) out.data = CallMemory::take(device, bytes, stream);
    if (out.data) return out;
    if (cudaMallocFromPoolAsync(&out.data, bytes, pool(device), stream) != cudaSuccess) {
        // Blocks of other sizes may be idle: give them back and try once more.
        cudaGetLastError();
        CallMemory::give_back(device, stream);
        check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        check(cudaMemPoolTrimTo(pool(device), 0), "cudaMemPoolTrimTo");
        check(cudaMallocFromPoolAsync(&out.data, bytes, pool(device), stream), "cudaMallocAsync");
    }
    return out;
}

void release(const DeviceBlock& block, cudaStream_t stream) noexcept {
    if (!block.data) return;
    const std::size_t bytes = block_bytes(block.bytes);
    if (bytes <= tuning::largest_kept_block &&
        CallMemory::keep(block.data, block.device, bytes, stream))
        return;
    return_to_pool(block.data, stream);
}

void return_to_pool(void* data, cudaStream_t stream) noexcept {
    if (!used_before_fork() && cudaFreeAsync(data, stream) != cudaSuccess) cudaGetLastError();
}

void trim_pool(int device, cudaStream_t stream) noexcept {
    if (used_before_fork()) return;
    try {
        const std::int64_t kept = tuning::kept_bytes(device_bytes(device));
        if (pool_bytes(device).held <= kept) return;
        const DeviceScope scope(device);
        check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        const PoolBytes bytes = pool_bytes(device);
        if (bytes.held - bytes.used <= kept) return;
        CallMemory::give_back(device, stream);
        check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        check(cudaMemPoolTrimTo(pool(device), static_cast<std::size_t>(bytes.used + kept)),
              "cudaMemPoolTrimTo");
    } catch (const Error&) {  // the memory stays where it was
    }
}

PoolBytes pool_bytes(int device) {
    std::uint64_t held = 0, used = 0;
    check(cudaMemPoolGetAttribute(pool(device), cudaMemPoolAttrReservedMemCurrent, &held),
          "cudaMemPoolGetAttribute");
    check(cudaMemPoolGetAttribute(pool(device), cudaMemPoolAttrUsedMemCurrent, &used),
          "cudaMemPoolGetAttribute");
    return {static_cast<std::int64_t>(held),
            static_cast<std::int64_t>(used) - CallMemory::idle_bytes(device)};
}

}  // namespace kith::gpu
