// Small blocks of device memory that a call reuses, and leaves to the next call. A request to the
// pool takes microseconds, and a search of one query makes ten.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/runtime/device.h"
#include "gpu/runtime/in_flight.h"
#include "gpu/runtime/memory/device_memory.h"
#include "machine/lasting.h"

namespace kith::gpu {

// If false, blocks are as long as requested and used once, so that tools which watch accesses see
// more. Must not change during a call.
inline std::atomic<bool> keeps_blocks = true;

// The device memory of one call on a device. A block freed on the call's stream and thread is
// reused within the call without the pool. Blocks that are left at its end, when all of its work is
// over, go to the next call, on any stream. Finally the pool is trimmed. Declare it before all
// buffers of the call.
class CallMemory {
public:
    CallMemory(int device, cudaStream_t stream);
    ~CallMemory();
    CallMemory(const CallMemory&) = delete;
    CallMemory& operator=(const CallMemory&) = delete;

    // Waits for the call's work; nothing may be enqueued afterwards. Throws the errors of that
    // work.
    void wait(const char* what) { work_.wait(what); }

    // These act on the thread's current call if it is on this device and stream, else they do
    // nothing. take() returns a block of `bytes` bytes or null; keep() returns true if it keeps the
    // block.
    static void* take(int device, std::size_t bytes, cudaStream_t stream);
    static bool keep(void* data, int device, std::size_t bytes, cudaStream_t stream) noexcept;
    // idle_bytes(): bytes that wait for the next call on a device. give_back() returns those, and
    // what the thread's calls have kept, to the pool.
    static std::int64_t idle_bytes(int device);
    static void give_back(int device, cudaStream_t stream) noexcept;

private:
    struct Block {
        void* data;
        std::size_t bytes;
    };
    // In order of idle time, the longest first.
    struct Blocks {
        std::vector<Block> all;
        std::size_t bytes = 0;
        void* take(std::size_t of_bytes);
        void add(const Block& block);  // there must be reserved room for one more
        Block first();                 // removes it
        bool too_many() const;
        void give_back(cudaStream_t stream) noexcept;
    };
    struct Idle;
    static std::array<machine::Lasting<Idle>, max_devices> idle_blocks;
    static Idle& idle(int device);
    static constinit thread_local CallMemory* current;
    static CallMemory* of(int device, cudaStream_t stream);

    TrimAtEnd trim_;  // destroyed last
    Blocks freed_;
    CallMemory* outer_ = nullptr;
    InFlight work_;
};

}  // namespace kith::gpu
