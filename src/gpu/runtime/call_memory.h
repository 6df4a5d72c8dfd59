// Small blocks of device memory that a call uses again, and leaves to the next one. Asking the pool
// for one and giving it back takes 3.6 us (an H100's host), and a search of one query has ten.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/runtime/device.h"
#include "gpu/runtime/device_memory.h"
#include "gpu/runtime/in_flight.h"
#include "machine/lasting.h"

namespace kith::gpu {

// Tools that watch accesses see more of blocks that are as long as they were asked to be and used
// once. Not while a call is under way.
inline std::atomic<bool> keeps_blocks = true;

// What a call on a device frees on its stream and thread it takes again without the pool; what is
// left at its end, when all of its work is over, the next call does, on any stream. At last the
// pool is trimmed. Declared before all buffers of the call.
class CallMemory {
public:
    CallMemory(int device, cudaStream_t stream);
    ~CallMemory();
    CallMemory(const CallMemory&) = delete;
    CallMemory& operator=(const CallMemory&) = delete;

    // The end of the call's work, of which nothing may be enqueued afterwards. Throws what it met.
    void wait(const char* what) { work_.wait(what); }

    // Of the thread's call, where it is on that device and stream: a block of so many bytes, or
    // null; whether it has kept one.
    static void* take(int device, std::size_t bytes, cudaStream_t stream);
    static bool keep(void* data, int device, std::size_t bytes, cudaStream_t stream) noexcept;
    // What waits for the next call on a device; gives that, and what the thread's calls have kept,
    // back to the pool.
    static std::int64_t idle_bytes(int device);
    static void give_back(int device, cudaStream_t stream) noexcept;

private:
    struct Block {
        void* data;
        std::size_t bytes;
    };
    // The longest idle first.
    struct Blocks {
        std::vector<Block> all;
        std::size_t bytes = 0;
        void* take(std::size_t of_bytes);
        void add(const Block& block);  // of which there is room for one more
        Block first();                 // no longer among them
        bool too_many() const;
        void give_back(cudaStream_t stream) noexcept;
    };
    struct Idle;
    static std::array<machine::Lasting<Idle>, max_devices> idle_blocks;
    static Idle& idle(int device);
    static constinit thread_local CallMemory* current;
    static CallMemory* of(int device, cudaStream_t stream);

    TrimAtEnd trim_;  // the last to go
    Blocks freed_;
    CallMemory* outer_ = nullptr;
    InFlight work_;
};

}  // namespace kith::gpu
