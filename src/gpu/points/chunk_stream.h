// Chunks of points that stream from host memory: while one is searched, the next is copied.
#pragma once

#include <atomic>
#include <deque>
#include <future>

#include "exact/progress.h"
#include "gpu/points/points.h"
#include "gpu/runtime/handles.h"

namespace kith::gpu {

// Two chunks on the device: one that is searched and one that comes, or where the bus is slower
// than the search, one that comes and one right behind it. Helper threads upload on a stream of its
// own, which starts where `compute` has come to.
class ChunkStream {
public:
    ChunkStream(const Points& points, const Plan& plan, ProgressMeter& progress,
                cudaStream_t compute);
    ~ChunkStream() { stop_ = true; }
    ChunkStream(const ChunkStream&) = delete;
    ChunkStream& operator=(const ChunkStream&) = delete;

    // The next chunk, prepared on the compute stream; null after the last. The one before is gone.
    // Throws cancelled.
    const Chunk* next();

private:
    // A chunk on its way.
    struct Pending {
        std::int64_t first;
        cudaEvent_t copied;
        std::future<DeviceRows> rows;  // once the copy has been enqueued
    };
    void start_copy();  // of what follows, if anything

    const Points& points_;
    const Plan& plan_;
    ProgressMeter& progress_;
    std::int64_t following_ = 0;
    cudaStream_t compute_;
    Stream copy_;      // outlives the chunks, whose memory goes back in its order
    Event copied_[2];  // of one and of the one behind it
    std::size_t started_ = 0;
    Chunk current_;
    // A chunk's memory goes back in the order of the stream that brought it: not before its
    // searches are over.
    InFlight searches_, copies_;
    std::atomic<bool> stop_ = false;  // whoever still copies
    std::deque<Pending> pending_;     // the first to go: it waits for the helpers
};

}  // namespace kith::gpu
