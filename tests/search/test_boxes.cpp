// Points that boxes leave out for what they are, on the CPU.
#include "box_cases.h"

TEST(Boxes, WideColumns) {
    box_cases::wide_columns("cpu", 6000);
}

// A search of points that are not prepared asks a sample as well, where it has enough queries to repay the tree.
TEST(Boxes, OfASingleSearch) {
    constexpr std::int64_t n = 6000, d = 24, k = 10;
    const arrays::Array points = arrays::make(box_cases::table(n, d, 1e5, 3), n, d, kith::ElementType::f32);
    for (const std::int64_t q : {100, 2000}) {
        const arrays::Array queries = arrays::make(box_cases::table(q, d, 1e5, 4), q, d, kith::ElementType::f32);
        kith::Options options;
        options.device = "cpu";
        const kith::Neighbors found = kith::search(points.view, queries.view, k, options);
        EXPECT_EQ(q > 1536, found.report.path == "tree") << q;
        options.path = "exact";
        EXPECT_TRUE(same_answer(kith::search(points.view, queries.view, k, options), found)) << q;
    }
}

TEST(Boxes, AreNotTriedWhereMemoryIsShortOrAPathIsForced) {
    const kith::Shape shape{.n = 100000, .q = 5000, .d = 24, .k = 10};
    kith::Options options;
    options.device = "cpu";
    EXPECT_TRUE(kith::plan(shape, options).tries_tree);
    options.memory = std::int64_t{1} << 28;
    EXPECT_FALSE(kith::plan(shape, options).tries_tree);
    options.memory = 0;
    options.path = "gemm-f32";
    EXPECT_FALSE(kith::plan(shape, options).tries_tree);
    options.path.clear();
    options.metric.id = kith::MetricId::cosine;
    EXPECT_FALSE(kith::plan(shape, options).tries_tree);
}
