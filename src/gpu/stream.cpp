// The double buffer of stream.h.
#include "gpu/stream.h"

#include <algorithm>
#include <cstring>

namespace kith::gpu {

namespace {

constexpr std::size_t pinned_bytes = std::size_t{32} << 20;

}  // namespace

ChunkStream::ChunkStream(const Points& points, std::int64_t chunk_points, const std::string& path, cudaStream_t compute)
    : points_(points), chunk_points_(chunk_points), path_(path), compute_(compute) {
    check(cudaStreamCreateWithFlags(&copy_, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaEventCreateWithFlags(&copied_, cudaEventDisableTiming), "cudaEventCreate");
    for (int i = 0; i < 2; ++i) {
        check(cudaMallocHost(&pinned_[i], pinned_bytes), "pinned memory");
        check(cudaEventCreateWithFlags(&drained_[i], cudaEventDisableTiming), "cudaEventCreate");
    }
    start_copy(0);
}

ChunkStream::~ChunkStream() {
    if (pending_.valid()) {
        try {
            pending_.get();
        } catch (const Error&) {  // the search that owned it has failed already
        }
    }
    cudaStreamSynchronize(copy_);
    cudaStreamSynchronize(compute_);
    for (int i = 0; i < 2; ++i) {
        cudaFreeHost(pinned_[i]);
        cudaEventDestroy(drained_[i]);
    }
    cudaEventDestroy(copied_);
    current_ = Chunk{};
    cudaStreamSynchronize(copy_);
    cudaStreamDestroy(copy_);
}

void ChunkStream::start_copy(std::int64_t first) {
    pending_first_ = first;
    following_ = std::min(points_.n, first + chunk_points_);
    pending_ = std::async(std::launch::async, [this, first, count = following_ - first] {
        const DeviceScope scope(points_.device);
        const MatrixView& v = points_.source;
        const auto element = static_cast<std::int64_t>(size_of(v.type));
        const bool row_major = v.layout == Layout::row_major;
        const std::int64_t lines = row_major ? count : v.cols, length = (row_major ? v.cols : count) * element;
        DeviceRows out;
        out.elements = Buffer<char>(lines * length, copy_);
        out.rows = {out.elements.get(), count, row_major ? v.cols : 1, row_major ? 1 : count, v.type};
        const char* const from = static_cast<const char*>(v.data) + (row_major ? first * v.stride : first) * element;
        // Through two pinned blocks in turn: packing one overlaps the copy of the other.
        const std::int64_t total = lines * length;
        int block = 0;
        for (std::int64_t done = 0; done < total; block ^= 1) {
            check(cudaEventSynchronize(drained_[block]), "cudaEventSynchronize");
            const std::int64_t bytes = std::min<std::int64_t>(total - done, pinned_bytes);
            for (std::int64_t at = 0; at < bytes;) {
                const std::int64_t line = (done + at) / length, within = (done + at) % length;
                const std::int64_t run =
                    v.stride * element == length ? bytes - at : std::min(length - within, bytes - at);
                std::memcpy(static_cast<char*>(pinned_[block]) + at, from + line * v.stride * element + within,
                            static_cast<std::size_t>(run));
                at += run;
            }
            check(cudaMemcpyAsync(out.elements.get() + done, pinned_[block], static_cast<std::size_t>(bytes),
                                  cudaMemcpyHostToDevice, copy_),
                  "copy to the device");
            check(cudaEventRecord(drained_[block], copy_), "cudaEventRecord");
            done += bytes;
        }
        check(cudaEventRecord(copied_, copy_), "cudaEventRecord");
        return out;
    });
}

const Chunk* ChunkStream::next() {
    if (!pending_.valid()) return nullptr;
    DeviceRows rows = pending_.get();
    check(cudaStreamWaitEvent(compute_, copied_), "cudaStreamWaitEvent");
    // The chunk before goes back to the pool only when the searches on it are over.
    check(cudaStreamSynchronize(compute_), "search of a chunk");
    current_ = Chunk{};
    current_.first = pending_first_;
    current_.points = std::move(rows);
    if (following_ < points_.n) start_copy(following_);
    measure(current_.points, points_.metric, compute_);
    if (path_ != "exact") prepare_filter(current_, points_.metric, compute_);
    return &current_;
}

}  // namespace kith::gpu
