// What kith plan prints of a graph in grids on GPUs.
#include <gtest/gtest.h>

#include "kith/plan.h"
#include "kith/schedule.h"

namespace {

// Each pair once where distances are symmetric in all bits, else twice; all heaps come to the host.
TEST(KatoSchedule, OfAGraph) {
    const kith::Shape shape{1 << 20, 1 << 20, 128, 10, kith::ElementType::f32, true};
    kith::Options options;
    options.path = "kato";
    const auto grids = [&](kith::MetricId metric) {
        options.metric.id = metric;
        return kith::graph_schedules(shape, options, "h100");
    };
    for (const kith::GraphSchedule& s : grids(kith::MetricId::hellinger)) {
        EXPECT_EQ("kato", s.how);
        EXPECT_GE(s.pairs, 0.5);
        EXPECT_LT(s.pairs, 0.53);
        EXPECT_LT(s.balance, 1.01);
        EXPECT_EQ(120.0 * (1 << 20), s.sent_bytes);
    }
    for (const kith::GraphSchedule& s : grids(kith::MetricId::kl_divergence)) EXPECT_NEAR(1, s.pairs, 1e-9);
}

}  // namespace
