// A GPU that is lost in the middle of a graph: the others take the work over, and where there is one GPU the CPU does,
// and the report says so.
#include <gtest/gtest.h>

#include <atomic>

#include "api/group/device_group.h"
#include "lost_gpu.cuh"
#include "same_answer.h"

namespace {

using namespace kith;
using namespace lost_gpu;

TEST(GpuIllegalAccess, InAGraphOfBlocks) {
    if (!std::getenv(in_child)) return in_a_process_of_its_own();
    Case c;
    std::atomic<bool> done{false};
    api::GroupProbe probe{{}, 0, 500};
    probe.before = [&](int device, std::int64_t block) {
        if (block >= 0 && device == 1 && !done.exchange(true)) lose(c.lost);
    };
    const api::DeviceGroup group(c.points, c.metric, c.devices, {n, n, d, k, ElementType::f32, true}, c.options, false,
                                 c.progress, probe);
    const Neighbors got = api::collect(
        n, k, false, [&](const NeighborsView& out) { return group.run(nullptr, k, c.options, c.progress, out); });
    EXPECT_TRUE(done);
    EXPECT_TRUE(same_answer(c.want, got));
    expect_said(got.report);
}

}  // namespace
