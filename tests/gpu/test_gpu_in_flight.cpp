// An InFlight is not gone before the work that it stands for.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "gpu/runtime/in_flight.h"
#include "gpu_arrays.h"

namespace {

using kith::gpu::InFlight;

// Work of a fifth of a second on a stream.
class Work {
public:
    Work() {
        const auto call = [](void* done) {
            std::this_thread::sleep_for(std::chrono::milliseconds(200));
            *static_cast<std::atomic<bool>*>(done) = true;
        };
        gpu_arrays::check(cudaLaunchHostFunc(stream_.get(), call, &done_));
    }
    ~Work() { cudaStreamSynchronize(stream_.get()); }
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;
    cudaStream_t stream() const { return stream_.get(); }
    bool done() const { return done_; }

private:
    gpu_arrays::Stream stream_;
    std::atomic<bool> done_ = false;
};

TEST(GpuInFlight, EndsWithItsWork) {
    const Work work;
    { const InFlight flight(work.stream()); }
    EXPECT_TRUE(work.done());
}

TEST(GpuInFlight, EndsWhereItIsReplaced) {
    const Work first, second;
    {
        InFlight flight(first.stream());
        flight = InFlight(second.stream());
        EXPECT_TRUE(first.done());
    }
    EXPECT_TRUE(second.done());
}

TEST(GpuInFlight, GoesOnWhereItIsMoved) {
    const Work work;
    InFlight flight(work.stream());
    {
        const InFlight moved(std::move(flight));
        flight.settle();
        EXPECT_FALSE(work.done());
    }
    EXPECT_TRUE(work.done());
}

TEST(GpuInFlight, IsOverOnceWaitedFor) {
    const Work work;
    InFlight flight(work.stream());
    flight.wait("work");
    EXPECT_TRUE(work.done());
}

}  // namespace
