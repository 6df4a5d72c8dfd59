// The double buffer of chunk_stream.h.
#include "gpu/points/chunk_stream.h"

#include "gpu/points/prepare_filter.h"
#include "gpu/runtime/device.h"

#include <algorithm>
#include <chrono>
#include <system_error>

namespace kith::gpu {

ChunkStream::ChunkStream(const Points& points, const Plan& plan, ProgressMeter& progress, cudaStream_t compute)
    : points_(points),
      plan_(plan),
      progress_(progress),
      compute_(compute),
      copy_(make_stream()),
      copied_(make_event()),
      searches_(compute),
      copies_(copy_.get()) {
    // What the caller's stream still has to write may be the points.
    check(cudaEventRecord(copied_.get(), compute_), "cudaEventRecord");
    check(cudaStreamWaitEvent(copy_.get(), copied_.get()), "cudaStreamWaitEvent");
    start_copy(0);
}

void ChunkStream::start_copy(std::int64_t first) {
    pending_first_ = first;
    following_ = std::min(points_.n, first + plan_.chunk_points);
    const auto copy = [this, first, count = following_ - first] {
        const DeviceScope scope(points_.device);
        DeviceRows rows = upload(points_.source, first, count, false, copy_.get(), {&stop_});
        check(cudaEventRecord(copied_.get(), copy_.get()), "cudaEventRecord");
        return rows;
    };
    try {
        pending_ = std::async(std::launch::async, copy);
    } catch (const std::system_error&) {  // no thread to be had: the copy is made when it is needed
        pending_ = std::async(std::launch::deferred, copy);
    }
}

const Chunk* ChunkStream::next() {
    if (!pending_.valid()) return nullptr;
    // A chunk may be gigabytes in memory that is not pinned.
    while (pending_.wait_for(std::chrono::milliseconds(50)) == std::future_status::timeout) {
        progress_.poll("search");
        progress_.throw_if_cancelled();
    }
    DeviceRows rows = pending_.get();
    check(cudaStreamWaitEvent(compute_, copied_.get()), "cudaStreamWaitEvent");
    // The chunk before goes back to the pool only when the searches on it are over.
    check(cudaStreamSynchronize(compute_), "search of a chunk");
    const bool misled = current_.finer->coarse_misleads;
    current_ = Chunk{};
    current_.finer->coarse_misleads = misled;
    current_.first = pending_first_;
    current_.points = std::move(rows);
    if (following_ < points_.n) start_copy(following_);
    measure(current_.points, points_.metric, compute_);
    const FilterKind kind = kind_of(plan_.path);
    if (plan_.path != Path::exact)
        current_.filter =
            prepare_filter(current_.points, points_.metric,
                           misled && kind == FilterKind::direct_coarse ? FilterKind::direct : kind, compute_);
    return &current_;
}

}  // namespace kith::gpu
