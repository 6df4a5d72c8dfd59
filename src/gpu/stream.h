// Chunks of points that stream from host memory: while one is searched, the next is copied.
#pragma once

#include <future>

#include "gpu/points.h"

namespace kith::gpu {

// Two chunks in flight. A helper thread packs rows into pinned memory and enqueues the copies on a stream of its own.
class ChunkStream {
public:
    ChunkStream(const Points& points, std::int64_t chunk_points, const std::string& path, cudaStream_t compute);
    ~ChunkStream();
    ChunkStream(const ChunkStream&) = delete;
    ChunkStream& operator=(const ChunkStream&) = delete;

    // The next chunk, prepared on the compute stream; null after the last. The one before is gone.
    const Chunk* next();

private:
    void start_copy(std::int64_t first);

    const Points& points_;
    std::int64_t chunk_points_, following_ = 0;
    std::string path_;
    cudaStream_t compute_, copy_ = nullptr;
    cudaEvent_t copied_ = nullptr;
    void* pinned_[2] = {nullptr, nullptr};
    cudaEvent_t drained_[2] = {nullptr, nullptr};
    Chunk current_;
    std::future<DeviceRows> pending_;
    std::int64_t pending_first_ = 0;
};

}  // namespace kith::gpu
