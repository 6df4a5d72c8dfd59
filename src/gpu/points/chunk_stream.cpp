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

ChunkStream::ChunkStream(const Points& points, const Plan& plan, const Learned& learned,
                         ProgressMeter& progress, cudaStream_t compute)
    : points_(points),
      plan_(plan),
      learned_(learned),
      progress_(progress),
      compute_(compute),
      copy_(make_stream()),
      copied_{make_event(), make_event()},
      searches_(compute),
      copies_(copy_.get()) {
    // The caller's stream may still be writing the points.
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
    } catch (const std::system_error&) {  // no thread available: next() makes the copy
        rows = std::async(std::launch::deferred, copy);
    }
    pending_.push_back({first, copied, std::move(rows)});
}

const Chunk* ChunkStream::next() {
    if (pending_.empty()) return nullptr;
    // The previous chunk returns to the pool after its searches. Its memory serves the chunk after
    // the next, which is copied right after the next.
    check(cudaStreamSynchronize(compute_), "search of a chunk");
    const bool is_first = current_.points.rows.count == 0;
    current_ = Chunk{};
    if (!is_first) start_copy();
    Pending& coming = pending_.front();
    // A chunk may be gigabytes of pageable memory.
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
            learned_.coarse_misleads && kind == FilterKind::direct_coarse ? FilterKind::direct
                                                                          : kind,
            compute_);
    return &current_;
}

}  // namespace kith::gpu
