// The double buffer of stream.h.
#include "gpu/stream.h"

#include <algorithm>

namespace kith::gpu {

ChunkStream::ChunkStream(const Points& points, std::int64_t chunk_points, const std::string& path, cudaStream_t compute)
    : points_(points),
      chunk_points_(chunk_points),
      path_(path),
      compute_(compute),
      copy_(make_stream()),
      copied_(make_event()) {
    start_copy(0);
}

ChunkStream::~ChunkStream() {
    if (pending_.valid()) pending_.wait();
    // Nothing may read the caller's points or a chunk's memory any more.
    cudaStreamSynchronize(copy_.get());
    cudaStreamSynchronize(compute_);
}

void ChunkStream::start_copy(std::int64_t first) {
    pending_first_ = first;
    following_ = std::min(points_.n, first + chunk_points_);
    pending_ = std::async(std::launch::async, [this, first, count = following_ - first] {
        const DeviceScope scope(points_.device);
        DeviceRows rows = upload(points_.source, first, count, false, copy_.get());
        check(cudaEventRecord(copied_.get(), copy_.get()), "cudaEventRecord");
        return rows;
    });
}

const Chunk* ChunkStream::next() {
    if (!pending_.valid()) return nullptr;
    DeviceRows rows = pending_.get();
    check(cudaStreamWaitEvent(compute_, copied_.get()), "cudaStreamWaitEvent");
    // The chunk before goes back to the pool only when the searches on it are over.
    check(cudaStreamSynchronize(compute_), "search of a chunk");
    current_ = Chunk{};
    current_.first = pending_first_;
    current_.points = std::move(rows);
    if (following_ < points_.n) start_copy(following_);
    measure(current_.points, points_.metric, compute_);
    if (path_ != "exact") current_.filter = prepare_filter(current_.points, points_.metric, 1, compute_);
    return &current_;
}

}  // namespace kith::gpu
