// Chunks of points that stream from host memory: while one is searched, the next is copied.
#pragma once

#include <atomic>
#include <future>

#include "exact/progress.h"
#include "gpu/points/points.h"
#include "gpu/runtime/handles.h"

namespace kith::gpu {

// Two chunks in flight. A helper thread uploads on a stream of its own, which starts where `compute` has come to.
class ChunkStream {
public:
    ChunkStream(const Points& points, const Plan& plan, ProgressMeter& progress, cudaStream_t compute);
    ~ChunkStream() { stop_ = true; }
    ChunkStream(const ChunkStream&) = delete;
    ChunkStream& operator=(const ChunkStream&) = delete;

    // The next chunk, prepared on the compute stream; null after the last. The one before is gone. Throws cancelled.
    const Chunk* next();

private:
    void start_copy(std::int64_t first);

    const Points& points_;
    const Plan& plan_;
    ProgressMeter& progress_;
    std::int64_t following_ = 0;
    cudaStream_t compute_;
    Stream copy_;  // outlives the chunks, whose memory goes back in its order
    Event copied_;
    Chunk current_;
    // A chunk's memory goes back in the order of the stream that brought it: not before its searches are over.
    InFlight searches_, copies_;
    std::int64_t pending_first_ = 0;
    std::atomic<bool> stop_ = false;   // whoever still copies
    std::future<DeviceRows> pending_;  // the first to go: it waits for the helper
};

}  // namespace kith::gpu
