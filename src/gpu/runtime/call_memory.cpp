// See call_memory.h.
#include "gpu/runtime/call_memory.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "gpu/runtime/tuning.h"

namespace kith::gpu {

constinit thread_local CallMemory* CallMemory::current = nullptr;

struct CallMemory::Idle {
    std::mutex mutex;
    Blocks blocks;
};

constinit std::array<machine::Lasting<CallMemory::Idle>, max_devices> CallMemory::idle_blocks;

CallMemory::Idle& CallMemory::idle(int device) {
    return idle_blocks.at(static_cast<std::size_t>(device)).get();
}

void* CallMemory::Blocks::take(std::size_t of_bytes) {
    const auto found =
        std::ranges::find_if(all, [of_bytes](const Block& b) { return b.bytes == of_bytes; });
    if (found == all.end()) return nullptr;
    void* const data = found->data;
    bytes -= of_bytes;
    all.erase(found);
    return data;
}

void CallMemory::Blocks::add(const Block& block) {
    all.push_back(block);
    bytes += block.bytes;
}

CallMemory::Block CallMemory::Blocks::first() {
    const Block block = all.front();
    all.erase(all.begin());
    bytes -= block.bytes;
    return block;
}

bool CallMemory::Blocks::too_many() const {
    return all.size() > tuning::kept_blocks || bytes > tuning::kept_block_bytes;
}

void CallMemory::Blocks::give_back(cudaStream_t stream) noexcept {
    for (const Block& block : all) return_to_pool(block.data, stream);
    all.clear();
    bytes = 0;
}

CallMemory::CallMemory(int device, cudaStream_t stream) : trim_(device, stream), work_(stream) {
    freed_.all.reserve(tuning::kept_blocks + 1);
    Blocks& waiting = idle(device).blocks;
    const std::lock_guard lock(idle(device).mutex);
    waiting.all.reserve(tuning::kept_blocks + 1);
    outer_ = std::exchange(current, this);
}

CallMemory::~CallMemory() {
    work_.settle();
    current = outer_;
    Idle& of_device = idle(trim_.device);
    const std::lock_guard lock(of_device.mutex);
    while (!freed_.all.empty()) {
        of_device.blocks.add(freed_.first());
        while (of_device.blocks.too_many())
            return_to_pool(of_device.blocks.first().data, trim_.stream);
    }
}

CallMemory* CallMemory::of(int device, cudaStream_t stream) {
    return current && current->trim_.device == device && current->trim_.stream == stream ? current
                                                                                         : nullptr;
}

void* CallMemory::take(int device, std::size_t bytes, cudaStream_t stream) {
    CallMemory* const call = of(device, stream);
    if (!call) return nullptr;
    if (void* const own = call->freed_.take(bytes)) return own;
    Idle& of_device = idle(device);
    const std::lock_guard lock(of_device.mutex);
    return of_device.blocks.take(bytes);
}

bool CallMemory::keep(void* data, int device, std::size_t bytes, cudaStream_t stream) noexcept {
    CallMemory* const call = of(device, stream);
    if (!call || !keeps_blocks.load(std::memory_order_relaxed)) return false;
    Blocks& freed = call->freed_;
    freed.add({data, bytes});
    while (freed.too_many()) return_to_pool(freed.first().data, stream);
    return true;
}

std::int64_t CallMemory::idle_bytes(int device) {
    Idle& of_device = idle(device);
    const std::lock_guard lock(of_device.mutex);
    return static_cast<std::int64_t>(of_device.blocks.bytes);
}

void CallMemory::give_back(int device, cudaStream_t stream) noexcept {
    for (CallMemory* call = current; call; call = call->outer_)
        if (call->trim_.device == device) call->freed_.give_back(call->trim_.stream);
    Idle& of_device = idle(device);
    const std::lock_guard lock(of_device.mutex);
    of_device.blocks.give_back(stream);
}

}  // namespace kith::gpu
