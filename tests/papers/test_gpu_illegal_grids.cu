// A GPU that is lost in the middle of a graph in grids.
#include <gtest/gtest.h>

#include "grids.h"
#include "lost_gpu.cuh"
#include "same_answer.h"

namespace {

using namespace kith;
using namespace lost_gpu;

TEST(GpuIllegalAccess, InGridsOfAGraph) {
    if (!std::getenv(in_child)) return in_a_process_of_its_own();
    Case c;
    api::KatoProbe probe{c.devices, 500, {}};
    probe.before = [&](int device) {
        if (device == 1) lose(c.lost);
    };
    const Neighbors got = grids::graph(c.points, k, c.options, probe);
    EXPECT_TRUE(same_answer(c.want, got));
    expect_said(got.report);
}

}  // namespace
