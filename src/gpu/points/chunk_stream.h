// Chunks of host-resident points, streamed to the device: one is searched while the next is copied.
#pragma once

#include <atomic>
#include <deque>
#include <future>

#include "exact/report/progress.h"
#include "gpu/points/points.h"
#include "gpu/runtime/handles.h"

namespace kith::gpu {

// Holds two chunks on the device: one being searched and one being copied; or, if the bus is slower
// than the search, one being copied and one queued. Helper threads upload on a separate stream,
// which starts after the work enqueued on `compute`.
class ChunkStream {
public:
    // `learned`: the call's own, read for each chunk; must outlive this.
    ChunkStream(const Points& points, const Plan& plan, const Learned& learned,
                ProgressMeter& progress, cudaStream_t compute);
    ~ChunkStream() { stop_ = true; }
    ChunkStream(const ChunkStream&) = delete;
    ChunkStream& operator=(const ChunkStream&) = delete;

    // The next chunk, prepared on the compute stream; null after the last. Destroys the previous
    // one. Throws cancelled.
    const Chunk* next();

private:
    // A chunk that is being copied.
    struct Pending {
        std::int64_t first;
        cudaEvent_t copied;
        std::future<DeviceRows> rows;  // ready once the copy has been enqueued
    };
    void start_copy();  // of the following points, if any

    const Points& points_;
    const Plan& plan_;
    const Learned& learned_;
    ProgressMeter& progress_;
    std::int64_t following_ = 0;
    cudaStream_t compute_;
    Stream copy_;      // outlives the chunks: it orders the release of their memory
    Event copied_[2];  // used alternately by successive chunks
    std::size_t started_ = 0;
    Chunk current_;
    // The stream that copied a chunk orders the release of its memory, which must not precede the
    // end of its searches.
    InFlight searches_, copies_;
    std::atomic<bool> stop_ = false;  // stops helpers that still copy
    std::deque<Pending> pending_;     // destroyed first: it waits for the helpers
};

}  // namespace kith::gpu
