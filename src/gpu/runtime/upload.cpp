// The ring of pinned blocks of upload.h and the threads that fill it.
#include "gpu/runtime/upload.h"

#include "exact/progress.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/handles.h"
#include "gpu/runtime/in_flight.h"
#include "gpu/runtime/tuning.h"
#include "machine/float_state.h"
#include "machine/lasting.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace kith::gpu {

namespace {

// A thread fills one of its blocks while the other is copied.
constexpr int blocks_each = 2;

// Pinned blocks of `tuning::upload_block` bytes, some for each thread, of the device that was
// current at construction.
class Ring {
public:
    struct Block {
        char* data = nullptr;
        Event copied;  // after the last copy from it
    };

    Ring()
        : threads_(std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1,
                              tuning::upload_threads)),
          memory_(make_pinned(
              static_cast<std::size_t>(threads_ * blocks_each * tuning::upload_block))) {
        for (int i = 0; i < threads_ * blocks_each; ++i)
            blocks_.push_back({memory_.get() + i * tuning::upload_block, make_event()});
    }
    int threads() const { return threads_; }
    const Block& block(int thread, int turn) const {
        const int index = thread * blocks_each + turn % blocks_each;
        return blocks_[static_cast<std::size_t>(index)];
    }

private:
    int threads_;
    PinnedBytes memory_;
    std::vector<Block> blocks_;
};

// Pinned memory takes milliseconds to get: a device's ring is made at its first large upload and
// kept.
struct SharedRing {
    std::timed_mutex mutex;  // held by the upload that uses it
    std::unique_ptr<Ring> ring;
};

constinit std::array<machine::Lasting<SharedRing>, max_devices> rings;

SharedRing& shared_ring(int device) {
    return rings.at(static_cast<std::size_t>(device)).get();
}

// From the calling thread, between two pieces.
void look(const CopyWatch& watch) {
    if (watch.progress) {
        watch.progress->poll(watch.stage);
        watch.progress->throw_if_cancelled();
    }
    if (watch.stop && *watch.stop)
        throw Error(ErrorCode::cancelled, "copy to the device: cancelled");
}

// One upload: each thread takes the next piece, fills a block of its own that is free and enqueues
// its copy, so no thread ever waits for another.
class StagedUpload {
public:
    StagedUpload(const Ring& ring, int device, char* to, const Runs& from, cudaStream_t stream,
                 const CopyWatch& watch)
        : ring_(ring),
          device_(device),
          to_(to),
          from_(from),
          stream_(stream),
          watch_(watch),
          total_(from.count * from.bytes) {
        // Small uploads in smaller pieces, so that copies start early and all threads have some.
        constexpr std::int64_t least = tuning::upload_block / 8;
        piece_ = std::clamp(total_ / (2 * blocks_each * ring.threads()) / least * least, least,
                            tuning::upload_block);
    }

    void run() {
        // The stream "per thread" is another one in each thread: only the caller's is ordered with
        // the caller's work.
        const std::int64_t most = std::min(ring_.threads(), watch_.threads);
        const auto threads =
            stream_ == cudaStreamPerThread
                ? 1
                : static_cast<int>(std::min<std::int64_t>(most, (total_ - 1) / piece_ + 1));
        {
            std::vector<std::jthread> helpers;
            helpers.reserve(static_cast<std::size_t>(threads));
            try {
                for (int thread = 1; thread < threads; ++thread)
                    helpers.emplace_back([this, thread] { work(thread); });
            } catch (const std::system_error&) {  // those that there are do all of it
            }
            work(0);
        }
        if (!failure_) return;
        const InFlight copies(stream_);  // the next upload must not fill what is still being copied
        std::rethrow_exception(failure_);
    }

private:
    void work(int thread) noexcept {
        const machine::FloatState state;
        try {
            check(cudaSetDevice(device_), "cudaSetDevice");
            for (int turn = 0;; ++turn) {
                const std::int64_t first = next_.fetch_add(piece_);
                if (first >= total_) return;
                look(thread == 0 ? watch_ : CopyWatch{watch_.stop});
                const std::int64_t bytes = std::min(piece_, total_ - first);
                const Ring::Block& block = ring_.block(thread, turn);
                check(cudaEventSynchronize(block.copied.get()), "cudaEventSynchronize");
                gather(from_, first, bytes, block.data);
                check(cudaMemcpyAsync(to_ + first, block.data, static_cast<std::size_t>(bytes),
                                      cudaMemcpyHostToDevice, stream_),
                      "copy to the device");
                check(cudaEventRecord(block.copied.get(), stream_), "cudaEventRecord");
            }
        } catch (...) {
            next_ = total_;
            const std::lock_guard lock(failing_);
            if (!failure_) failure_ = std::current_exception();
        }
    }

    const Ring& ring_;
    int device_;
    char* to_;
    Runs from_;
    cudaStream_t stream_;
    CopyWatch watch_;
    std::int64_t total_, piece_ = 0;
    std::atomic<std::int64_t> next_ = 0;
    std::mutex failing_;
    std::exception_ptr failure_;
};

bool is_pageable(const void* data) {
    cudaPointerAttributes a{};
    if (cudaPointerGetAttributes(&a, data) == cudaSuccess)
        return a.type == cudaMemoryTypeUnregistered;
    cudaGetLastError();
    return true;
}

const char* last_byte(const Runs& r) {
    return r.data + (r.count - 1) * r.stride + r.bytes - 1;
}

// In pieces that are waited for where somebody watches, else at once.
void copy_directly(char* to, const Runs& from, cudaStream_t stream, const CopyWatch& watch) {
    const std::int64_t lines = std::max<std::int64_t>(1, tuning::watched_copy / from.bytes);
    const auto done = [&] {
        check(cudaStreamSynchronize(stream), "copy to the device");
        look(watch);
    };
    if (watch.progress && from.bytes > 2 * tuning::watched_copy) {
        for (std::int64_t i = 0; i < from.count; ++i) {
            for (std::int64_t first = 0; first < from.bytes; first += tuning::watched_copy) {
                const std::int64_t some = std::min(tuning::watched_copy, from.bytes - first);
                check(cudaMemcpyAsync(to + i * from.bytes + first,
                                      from.data + i * from.stride + first,
                                      static_cast<std::size_t>(some), cudaMemcpyDefault, stream),
                      "copy to the device");
                done();
            }
        }
        return;
    }
    if (watch.progress && from.count > lines) {
        const CopyWatch nobody{};
        for (std::int64_t first = 0; first < from.count; first += lines) {
            copy_directly(to + first * from.bytes,
                          {from.data + first * from.stride, std::min(lines, from.count - first),
                           from.bytes, from.stride},
                          stream, nobody);
            done();
        }
        return;
    }
    // Beyond, a two-dimensional copy is refused.
    constexpr std::int64_t longest_pitch = 0x7fffffff;
    if (from.count > 1 && from.stride <= longest_pitch) {
        const auto bytes = static_cast<std::size_t>(from.bytes),
                   stride = static_cast<std::size_t>(from.stride);
        check(cudaMemcpy2DAsync(to, bytes, from.data, stride, bytes,
                                static_cast<std::size_t>(from.count), cudaMemcpyDefault, stream),
              "copy to the device");
        return;
    }
    for (std::int64_t i = 0; i < from.count; ++i)
        check(cudaMemcpyAsync(to + i * from.bytes, from.data + i * from.stride,
                              static_cast<std::size_t>(from.bytes), cudaMemcpyDefault, stream),
              "copy to the device");
}

}  // namespace

void gather(const Runs& from, std::int64_t first, std::int64_t bytes, char* to) {
    std::int64_t within = first % from.bytes;
    const char* run = from.data + first / from.bytes * from.stride;
    while (bytes > 0) {
        const std::int64_t some = std::min(from.bytes - within, bytes);
        std::memcpy(to, run + within, static_cast<std::size_t>(some));
        to += some;
        bytes -= some;
        run += from.stride;
        within = 0;
    }
}

void copy_to_device(void* to, const Runs& from, cudaStream_t stream, const CopyWatch& watch) {
    const std::int64_t total = from.count * from.bytes;
    if (total == 0) return;
    auto* const target = static_cast<char*>(to);
    const Runs runs = from.bytes == from.stride ? Runs{from.data, 1, total, total} : from;
    // A copy by the device must not begin in registered memory and end in other: the host copies
    // both.
    const bool pageable = is_pageable(from.data), mixed = is_pageable(last_byte(from)) != pageable;
    if (!mixed && (total < tuning::upload_staged || !pageable))
        return copy_directly(target, runs, stream, watch);
    const int device = current_device();
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    SharedRing& shared = shared_ring(device);
    std::unique_lock lock(shared.mutex, std::defer_lock);
    while (!lock.try_lock_for(std::chrono::milliseconds(20))) look(watch);
    if (!shared.ring) shared.ring = std::make_unique<Ring>();
    StagedUpload(*shared.ring, device, target, runs, stream, watch).run();
}

}  // namespace kith::gpu
