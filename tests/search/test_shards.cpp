// search_shard(), graph_shard(), merge(): any cut of the points and any order of merging give the bits of one search.
#include <gtest/gtest.h>

#include <optional>

#include "kith/index.h"
#include "kith/shards.h"
#include "same_answer.h"
#include "search_cases.h"
#include "shard_cuts.h"

namespace {

using shard_cuts::borders;
using shard_cuts::rows_of;

// Merges the parts in a random order, grouped at random, one of them twice.
kith::PartialNeighbors merged(std::vector<kith::PartialNeighbors> parts, adversarial::Random& random) {
    parts.push_back(parts[random.below(parts.size())]);
    while (parts.size() > 1) {
        const std::size_t from = random.below(parts.size());
        const kith::PartialNeighbors part = parts[from];
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(from));
        kith::merge(parts[random.below(parts.size())], part);
    }
    return parts[0];
}

class Shards : public testing::TestWithParam<std::string> {};

TEST_P(Shards, OfAnyCutGiveTheSearch) {
    const search_cases::Size sizes[] = {{1, 2, 3, 2}, {60, 9, 33, 10}, {150, 40, 4, 149}, {40, 7, 7, 50}};
    std::uint64_t turn = 0;
    for (const char* data : {"duplicates", "all_equal", "integers", "gaussian", "nan_rows", "infinities", "offset"}) {
        for (const search_cases::Size& size : sizes) {
            const auto type = arrays::element_types[turn % 6];
            const auto all = variants(GetParam(), size.d, type);
            const auto c =
                search_cases::make_case(all[turn % all.size()], data, size, type, type, arrays::shapes[turn % 3], turn);
            kith::Options options = search_cases::options_of("cpu", c.variant, {}, turn % 2 == 0);
            adversarial::Random random(turn);
            const std::vector<std::int64_t> cut = borders(c.points.view.rows, 8, random);
            std::vector<kith::PartialNeighbors> found, of_graph;
            for (std::size_t i = 0; i + 1 < cut.size(); ++i) {
                options.path = i % 2 ? "exact" : "";
                const kith::MatrixView shard = rows_of(c.points.view, cut[i], cut[i + 1] - cut[i]);
                std::optional<kith::Index> index;
                if (i % 3 == 0) index = kith::Index::borrowing(shard, options);
                const kith::Index* const prepared = index ? &*index : nullptr;
                found.push_back(kith::search_shard(shard, cut[i], c.queries.view, c.k, options, nullptr, prepared));
                kith::PartialNeighbors rows;
                const std::vector<std::int64_t> blocks = borders(c.points.view.rows, 3, random);
                for (std::size_t b = 0; b + 1 < blocks.size(); ++b) {
                    const kith::MatrixView queries = rows_of(c.points.view, blocks[b], blocks[b + 1] - blocks[b]);
                    const auto block =
                        kith::graph_shard(shard, cut[i], queries, blocks[b], c.k, options, nullptr, prepared);
                    rows.queries += block.queries;
                    rows.k = block.k;
                    rows.dimensions = block.dimensions;
                    rows.ids.insert(rows.ids.end(), block.ids.begin(), block.ids.end());
                    rows.keys.insert(rows.keys.end(), block.keys.begin(), block.keys.end());
                }
                of_graph.push_back(rows);
            }
            options.path.clear();
            EXPECT_TRUE(same_answer(kith::finish(merged(found, random), options),
                                    kith::search(c.points.view, c.queries.view, c.k, options)))
                << c.label;
            EXPECT_TRUE(
                same_answer(kith::finish(merged(of_graph, random), options), kith::graph(c.points.view, c.k, options)))
                << c.label;
            ++turn;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Metric, Shards, testing::ValuesIn(metric_names()),
                         [](const auto& info) { return info.param; });

// Both distances are 1 as f64; the key of the first point is 1 + 2^-52.
TEST(Shards, KeysDecideWhereDistancesAreEqual) {
    const double points[] = {1, 0x1p-26, 1, 0};
    const double query[] = {0, 0};
    kith::Options options;
    options.metric = kith::MetricId::euclidean;
    options.device = "cpu";
    options.f64 = true;
    auto all = kith::search_shard(kith::view(points, 1, 2), 0, kith::view(query, 1, 2), 2, options);
    kith::merge(all, kith::search_shard(kith::view(points + 2, 1, 2), 1, kith::view(query, 1, 2), 2, options));
    const kith::Neighbors found = kith::finish(all, options);
    EXPECT_EQ((std::vector<std::int64_t>{1, 0}), found.ids);
    EXPECT_EQ((std::vector<double>{1, 1}), found.distances64);
}

TEST(Shards, FormulasAndIdsBeyond32Bits) {
    const float points[] = {3, 1, 2};
    const float query[] = {0};
    kith::Options options;
    options.metric.id = kith::MetricId::formula;
    options.metric.formula = "a + fabs(q - x)";
    options.metric.start = 0.5;
    options.device = "cpu";
    constexpr std::int64_t first = std::int64_t{1} << 40;
    const auto found = kith::search_shard(kith::view(points, 3, 1), first, kith::view(query, 1, 1), 4, options);
    EXPECT_EQ((std::vector<std::int64_t>{first + 1, first + 2, first, -1}), found.ids);
    const kith::Neighbors neighbors = kith::finish(found, options);
    EXPECT_EQ((std::vector<float>{1.5f, 2.5f, 3.5f, std::numeric_limits<float>::infinity()}), neighbors.distances);
}

template <class Call>
std::string refused(Call call) {
    try {
        call();
    } catch (const kith::Error& error) {
        EXPECT_EQ(kith::ErrorCode::invalid_argument, error.code());
        return error.what();
    }
    return "not refused";
}

TEST(Shards, RefuseRowsThatNoSearchMakes) {
    const float points[] = {3, 1, 2, 4};
    const kith::MatrixView view = kith::view(points, 4, 1);
    kith::Options options;
    options.device = "cpu";
    const kith::PartialNeighbors whole = kith::search_shard(view, 0, view, 3, options);
    constexpr double none = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    struct Change {
        std::size_t at;
        std::int64_t id;
        double key;
    };
    for (const Change& c : {Change{3, 1, nan}, {3, -7, none}, {3, -1, 0}, {3, -1, none}, {3, 1, 9}, {4, 1, 0}}) {
        kith::PartialNeighbors changed = whole, into = whole;
        changed.ids[c.at] = c.id;
        changed.keys[c.at] = c.key;
        for (const std::string& message :
             {refused([&] { kith::finish(changed, options); }), refused([&] { kith::merge(into, changed); })})
            EXPECT_NE(std::string::npos, message.find("of row 1; expected ids"))
                << c.at << ' ' << c.id << ' ' << c.key << message;
    }
    kith::PartialNeighbors far = whole;
    far.keys[5] = none;
    EXPECT_EQ(whole.ids, kith::finish(far, options).ids);
}

TEST(Shards, RefuseWhatTheyCannotMerge) {
    const float points[] = {3, 1, 2, 4};
    const kith::MatrixView view = kith::view(points, 2, 2);
    kith::Options options;
    options.device = "cpu";
    auto two = kith::search_shard(view, 0, view, 2, options);
    const auto three = kith::search_shard(view, 0, view, 3, options);
    EXPECT_NE(std::string::npos, refused([&] { kith::merge(two, three); }).find("2 queries x 3"));
    two.keys.pop_back();
    EXPECT_NE(std::string::npos, refused([&] { kith::finish(two, options); }).find("3 keys"));
    EXPECT_NE(std::string::npos, refused([&] { kith::search_shard(view, -1, view, 1, options); }).find("first_point"));
    const kith::Index other(rows_of(view, 0, 1), options);
    EXPECT_NE(std::string::npos,
              refused([&] { kith::search_shard(view, 0, view, 1, options, nullptr, &other); }).find("prepared: 1 x"));
    EXPECT_NE(std::string::npos,
              refused([&] { kith::graph_shard(view, 0, view, -1, 1, options); }).find("first_query"));
    for (const auto id : {kith::MetricId::mahalanobis, kith::MetricId::seuclidean}) {
        options.metric = id;
        EXPECT_NE(std::string::npos,
                  refused([&] { kith::search_shard(view, 0, view, 1, options); }).find("all points"));
    }
    options.metric = kith::MetricId::sqeuclidean;
    options.include_self = true;
    EXPECT_NE(std::string::npos,
              refused([&] { kith::graph_shard(view, 0, view, 0, 1, options); }).find("include_self"));
}

}  // namespace
