// The two chunks of chunk_stream.h.
#include "gpu/points/chunk_stream.h"

#include "gpu/points/prepare_filter.h"
#include "gpu/runtime/device.h"
#include "machine/float_state.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

namespace kith::gpu {

ChunkStream::ChunkStream(const Points& points, const Plan& plan, ProgressMeter& progress,
                         cudaStream_t compute)
    : points_(points),
      plan_(plan),
      progress_(progress),
      compute_(compute),
      copy_(make_stream()),
      copied_{make_event(), make_event()},
      searches_(compute),
      copies_(copy_.get()) {
    // What the caller's stream still has to write may be the points.
    check(cudaEventRecord(copied_[0].get(), compute_), "cudaEventRecord");
    check(cudaStreamWaitEvent(copy_.get(), copied_[0].get()), "cudaStreamWaitEvent");
    start_copy();
}

void ChunkStream::start_copy() {
    if (following_ >= points_.n) return;
    const std::int64_t first = following_;
    following_ = std::min(points_.n, first + plan_.chunk_points);
    cudaEvent_t const copied = copied_[started_++ % 2].get();
    const auto copy = [this, first, copied, count = following_ - first] {
        const machine::FloatState state;
        const DeviceScope scope(points_.device);
        DeviceRows rows = upload(points_.source, first, count, false, copy_.get(), {&stop_});
        check(cudaEventRecord(copied, copy_.get()), "cudaEventRecord");
        return rows;
    };
    std::future<DeviceRows> rows;
    try {
        rows = std::async(std::launch::async, copy);
    } catch (const std::system_error&) {  // no thread to be had: the copy is made when it is needed
        rows = std::async(std::launch::deferred, copy);
    }
    pending_.push_back({first, copied, std::move(rows)});
}

const Chunk* ChunkStream::next() {
    if (pending_.empty()) return nullptr;
    // The chunk before goes back to the pool only when the searches on it are over. Its room is
    // that of the next but one, which is copied right behind the next.
    check(cudaStreamSynchronize(compute_), "search of a chunk");
    const bool misled = current_.finer->coarse_misleads, is_first = current_.points.rows.count == 0;
    current_ = Chunk{};
    current_.finer->coarse_misleads = misled;
    if (!is_first) start_copy();
    Pending& coming = pending_.front();
    // A chunk may be gigabytes in memory that is not pinned.
    while (coming.rows.wait_for(std::chrono::milliseconds(50)) == std::future_status::timeout) {
        progress_.poll("search");
        progress_.throw_if_cancelled();
    }
    current_.first = coming.first;
    current_.points = coming.rows.get();
    check(cudaStreamWaitEvent(compute_, coming.copied), "cudaStreamWaitEvent");
    pending_.pop_front();
    if (is_first) start_copy();
    measure(current_.points, points_.metric, compute_);
    const FilterKind kind = kind_of(plan_);
    if (plan_.path != Path::exact)
        current_.filter = prepare_filter(
            current_.points, points_.metric,
            misled && kind == FilterKind::direct_coarse ? FilterKind::direct : kind, compute_);
    return &current_;
}

}  // namespace kith::gpu
