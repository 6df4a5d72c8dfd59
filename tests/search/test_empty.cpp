// No points, no queries, no columns to select from: empty results of the right shape in every entry point, and what
// stays an error.
#include <gtest/gtest.h>

#include <limits>

#include "kith/batches.h"
#include "kith/distances.h"
#include "kith/kith.h"
#include "kith/match.h"
#include "kith/shards.h"
#include "kith/verify.h"
#include "refusal.h"

namespace {

using kith::ElementType;
using kith::Layout;
using kith::MatrixView;
using kith::MetricId;

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Empty : testing::Test {
    Empty() { options.device = "cpu"; }
    // Without rows, and data or not.
    static MatrixView none(ElementType type = ElementType::f32, Layout layout = Layout::row_major) {
        MatrixView view{nullptr, 0, d, layout == Layout::row_major ? d : 0, type, layout};
        return view;
    }
    MatrixView some() const { return kith::view(values.data(), 4, d); }

    static constexpr std::int64_t d = 2;
    std::vector<float> values{0, 0, 1, 0, 0, 1, 1, 1};
    kith::Options options;
};

void expect_missing(const kith::Neighbors& found, std::int64_t q, std::int64_t k, double distance = infinity) {
    EXPECT_EQ(q, found.queries);
    EXPECT_EQ(k, found.k);
    EXPECT_EQ(std::vector<std::int64_t>(static_cast<std::size_t>(q * k), -1), found.ids);
    for (const float each : found.distances) EXPECT_EQ(distance, each);
    for (const double each : found.distances64) EXPECT_EQ(distance, each);
    EXPECT_EQ(static_cast<std::size_t>(q * k), found.distances.size() + found.distances64.size());
    EXPECT_EQ(q, found.report.queries);
}

TEST_F(Empty, SearchOfEveryMetric) {
    for (int id = 0; id < static_cast<int>(MetricId::formula); ++id) {
        options.metric = static_cast<MetricId>(id);
        const double missing = options.metric.id == MetricId::inner_product ? -infinity : infinity;
        for (const bool f64 : {false, true}) {
            options.f64 = f64;
            for (const Layout layout : {Layout::row_major, Layout::column_major}) {
                const MatrixView nothing = none(ElementType::f64, layout);
                expect_missing(kith::search(nothing, some(), 3, options), 4, 3, missing);
                expect_missing(kith::search(nothing, nothing, 3, options), 0, 3);
                expect_missing(kith::graph(nothing, 3, options), 0, 3);
                const kith::Index index(nothing, options);
                EXPECT_EQ(0, index.size());
                EXPECT_EQ(d, index.dimensions());
                kith::Options call;
                call.f64 = f64;
                expect_missing(index.search(some(), 2, call), 4, 2, missing);
                expect_missing(index.graph(2, call), 0, 2);
                EXPECT_EQ(std::vector<std::int64_t>(4), index.radius_counts(some(), 0.5).counts);
                EXPECT_TRUE(index.radius_graph(0.5).ids.empty());
            }
        }
    }
    options.metric = MetricId::formula;
    options.metric.formula = "a + abs(q - x)";
    options.f64 = false;
    expect_missing(kith::search(none(), some(), 1, options), 4, 1);
    expect_missing(kith::search(some(), none(), 1, options), 0, 1);
    options.metric.formula = "a +";
    EXPECT_NE("", refusals::refusal([&] { kith::search(none(), some(), 1, options); }));
}

TEST_F(Empty, IntoNoMemory) {
    kith::search_into(some(), none(), 3, options, {});
    kith::graph_into(none(), 3, options, {});
    kith::Index(some(), options).search_into(none(), 3, {}, {});
    EXPECT_EQ("out.ids: null; expected room for queries x k ids",
              refusals::refusal([&] { kith::search_into(none(), some(), 3, options, {}); }));
}

TEST_F(Empty, Radius) {
    for (const bool f64 : {false, true}) {
        options.f64 = f64;
        const kith::RadiusNeighbors found = kith::radius(none(), some(), 1.0, options);
        EXPECT_EQ(4, found.queries);
        EXPECT_EQ(std::vector<std::int64_t>(5), found.offsets);
        EXPECT_TRUE(found.ids.empty());
        EXPECT_EQ(f64, found.f64);
        EXPECT_EQ(std::vector<std::int64_t>(1), kith::radius(some(), none(), 1.0, options).offsets);
        EXPECT_EQ(std::vector<std::int64_t>(1), kith::radius_graph(none(), 1.0, options).offsets);
    }
    EXPECT_EQ(std::vector<std::int64_t>(4), kith::radius_counts(none(), some(), 1.0, options).counts);
    EXPECT_TRUE(kith::radius_graph_counts(none(), 1.0, options).counts.empty());
    std::int64_t rows = 0;
    kith::radius_blocks(none(), some(), 1.0, options, [&](const kith::RadiusRows& block) { rows += block.count; });
    EXPECT_EQ(4, rows);
    const std::vector<double> each;
    EXPECT_TRUE(kith::radius_counts(some(), none(), kith::view(each.data(), 0, 1), options).counts.empty());
    EXPECT_EQ("r: -1; expected at least 0, as distances of euclidean are",
              refusals::refusal([&] { kith::radius(none(), some(), -1.0, options); }));
}

TEST_F(Empty, Distances) {
    for (const bool f64 : {false, true}) {
        options.f64 = f64;
        const kith::Distances none_of_each = kith::distances(none(), some(), options);
        EXPECT_EQ(std::make_pair(std::int64_t{4}, std::int64_t{0}),
                  std::make_pair(none_of_each.queries, none_of_each.points));
        EXPECT_TRUE(none_of_each.values.empty() && none_of_each.values64.empty());
        EXPECT_EQ(0, kith::distances(some(), none(), options).queries);
    }
    kith::distances_into(some(), none(), options, {});
    kith::distances_by_rows(none(), some(), options, [](std::int64_t, std::int64_t, const void*) { FAIL(); });
}

TEST_F(Empty, Select) {
    for (const ElementType type : {ElementType::f32, ElementType::f64, ElementType::f16, ElementType::bf16}) {
        const MatrixView m{values.data(), 1, 2, 2, type};
        expect_missing(kith::select(m, 0, options), 1, 0);
        MatrixView nothing = m;
        nothing.rows = 0;
        expect_missing(kith::select(nothing, 2, options), 0, 2);
        nothing = {nullptr, 3, 0, 0, type};
        expect_missing(kith::select(nothing, 0, options), 3, 0);
        EXPECT_EQ("k: 1; expected at most the 0 columns",
                  refusals::refusal([&] { kith::select(nothing, 1, options); }));
        EXPECT_EQ("k: -1; expected at least 0", refusals::refusal([&] { kith::select(m, -1, options); }));
    }
    // Of lengths of 32 bits as of 64, in host memory.
    const std::vector<std::int32_t> narrow{2, 1};
    const std::vector<std::int64_t> wide{2, 1};
    options.lengths = kith::view(wide.data(), 2, 1);
    const kith::Neighbors want = kith::select(kith::view(values.data(), 2, 4), 2, options);
    options.lengths = kith::view(narrow.data(), 2, 1);
    EXPECT_EQ(want.ids, kith::select(kith::view(values.data(), 2, 4), 2, options).ids);
    EXPECT_EQ((std::vector<std::int64_t>{0, 1, 0, -1}), want.ids);
    options.lengths.data = nullptr;
    EXPECT_EQ("lengths: data is null; expected 2 x 1 elements",
              refusals::refusal([&] { kith::select(kith::view(values.data(), 2, 4), 2, options); }));
}

TEST_F(Empty, Batches) {
    expect_missing(kith::search_batches(some(), none(), {}, 2, options), 0, 2);
    expect_missing(kith::search_batches(none(), some(), {{0, 0, 0, 4}}, 2, options), 4, 2);
    expect_missing(kith::search_batches(some(), some(), {{0, 0, 0, 2}, {4, 0, 2, 2}, {0, 4, 4, 0}}, 2, options), 4, 2);
    expect_missing(kith::search_batches(none(), none(), {{0, 0, 0, 0}}, 2, options), 0, 2);
    EXPECT_NE("", refusals::refusal([&] { kith::search_batches(none(), some(), {{0, 1, 0, 4}}, 2, options); }));
}

TEST_F(Empty, Match) {
    kith::MatchOptions how;
    how.search = options;
    for (const bool mutual : {false, true}) {
        how.mutual = mutual;
        for (const bool tested : {false, true}) {
            if (tested) how.ratio = 0.8;
            EXPECT_TRUE(kith::match(none(), some(), how).first.empty());
            EXPECT_TRUE(kith::match(some(), none(), how).first.empty());
        }
        how.ratio.reset();
    }
    how.ratio = 0.8;
    EXPECT_EQ("b: 1 rows; a ratio expected a second nearest",
              refusals::refusal([&] { kith::match(some(), kith::view(values.data(), 1, d), how); }));
}

TEST_F(Empty, Shards) {
    kith::PartialNeighbors all = kith::search_shard(none(), 0, some(), 2, options);
    EXPECT_EQ(std::vector<std::int64_t>(8, -1), all.ids);
    kith::merge(all, kith::search_shard(some(), 0, some(), 2, options));
    EXPECT_EQ(kith::search(some(), some(), 2, options).ids, kith::finish(all, options).ids);
    kith::PartialNeighbors nobody = kith::search_shard(some(), 0, none(), 2, options);
    kith::merge(nobody, kith::search_shard(none(), 4, none(), 2, options));
    EXPECT_EQ(0, kith::finish(nobody, options).queries);
    EXPECT_EQ(std::vector<std::int64_t>(4), kith::radius_shard_counts(none(), some(), 1.0, options).counts);
}

TEST_F(Empty, Verify) {
    kith::VerifyOptions how;
    how.search = options;
    EXPECT_TRUE(kith::verify(none(), some(), kith::search(none(), some(), 2, options), how).is_exact());
    EXPECT_TRUE(kith::verify(some(), none(), kith::search(some(), none(), 2, options), how).is_exact());
    EXPECT_TRUE(kith::verify_graph(none(), kith::graph(none(), 2, options), how).is_exact());
}

// What is wrong besides stays wrong.
TEST_F(Empty, Refused) {
    const auto refused = [&](const auto& call) { return refusals::refusal_of(call); };
    EXPECT_EQ("k: 0; expected at least 1", refused([&] { kith::search(none(), some(), 0, options); }));
    EXPECT_EQ("queries: 3 columns; expected 2, as the points have",
              refused([&] { kith::search(none(), kith::view(values.data(), 1, 3), 1, options); }));
    EXPECT_EQ("points: 0 columns; expected at least 1",
              refused([&] { kith::search(MatrixView{}, some(), 1, options); }));
    EXPECT_EQ("points: data is null; expected 1 x 2 elements", refused([&] {
                  MatrixView one = none();
                  one.rows = 1;
                  kith::search(one, some(), 1, options);
              }));
    options.threads = -1;
    refusals::expect_words(refused([&] { kith::search(none(), some(), 1, options); }), {"threads"});
    options.threads = 0;
    options.memory = -1;
    refusals::expect_words(refused([&] { kith::search(none(), some(), 1, options); }), {"memory"});
    options.memory = 0;
    options.isa = "mmx";
    refusals::expect_words(refused([&] { kith::search(some(), none(), 1, options); }), {"mmx"});
    options.isa.clear();
    options.device = "gpu";
    refusals::expect_words(refused([&] { kith::graph(none(), 1, options); }), {"device", "gpu"});
    options.device = "cpu";
    options.metric.p = 3;
    refusals::expect_words(refused([&] { kith::search(none(), some(), 1, options); }), {"p: serves minkowski"});
}

// A matrix that describes elements and has none is not one that was left out.
TEST_F(Empty, ParametersWithoutData) {
    const MatrixView row = kith::view(static_cast<const double*>(nullptr), 1, 2);
    const MatrixView square = kith::view(static_cast<const double*>(nullptr), 2, 2);
    options.metric = MetricId::seuclidean;
    options.metric.variances = row;
    EXPECT_EQ("variances: data is null; expected 1 x 2 elements",
              refusals::refusal([&] { kith::search(some(), some(), 1, options); }));
    options.metric = MetricId::mahalanobis;
    options.metric.variances = {};
    options.metric.inverse_covariance = square;
    EXPECT_EQ("inverse_covariance: data is null; expected 2 x 2 elements",
              refusals::refusal([&] { kith::search(some(), some(), 1, options); }));
    options.metric = {};
    EXPECT_EQ("r: data is null; expected 1 x 2 elements",
              refusals::refusal([&] { kith::radius(some(), some(), row, options); }));
    options.metric.formula = "a + fabs(q - x)";
    EXPECT_EQ("formula: serves formula, not sqeuclidean",
              refusals::refusal([&] { kith::search(some(), some(), 1, options); }));
}

// Rows of a result that no address reaches.
TEST_F(Empty, StridesOfResults) {
    std::vector<float> room(400, -7);
    for (const std::int64_t stride :
         {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::max() / 2,
          std::numeric_limits<std::int64_t>::max() / 12}) {
        refusals::expect_words(refusals::refusal_of([&] {
                                   kith::distances_into(some(), some(), options, {room.data() + 200, stride});
                               }),
                               {"out.stride", std::to_string(stride)});
    }
    EXPECT_EQ(std::vector<float>(400, -7), room);
}

}  // namespace
