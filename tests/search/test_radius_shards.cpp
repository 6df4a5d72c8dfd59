// radius_shard() and its twins, merge_radius(), ShardRows: any cut of the points gives the bits of one radius search.
#include <gtest/gtest.h>

#include <filesystem>
#include <list>

#include "kith/csr.h"
#include "kith/radius.h"
#include "kith/shards.h"
#include "refusal.h"
#include "search_cases.h"
#include "shard_cuts.h"

namespace {

using shard_cuts::borders;
using shard_cuts::rows_of;

// Rows with keys, as a shard hands them on.
struct Rows {
    std::vector<std::int64_t> offsets{0}, ids;
    std::vector<double> keys;
    kith::TakeRadiusRows take() {
        return [this](const kith::RadiusRows& rows) {
            EXPECT_EQ(static_cast<std::int64_t>(offsets.size()) - 1, rows.first);
            EXPECT_EQ(nullptr, rows.distances);
            const std::int64_t before = offsets.back(), added = rows.offsets[rows.count];
            for (std::int64_t i = 1; i <= rows.count; ++i) offsets.push_back(before + rows.offsets[i]);
            ids.insert(ids.end(), rows.ids, rows.ids + added);
            keys.insert(keys.end(), rows.distances64, rows.distances64 + added);
        };
    }
    kith::RadiusRows view() const {
        return {0, static_cast<std::int64_t>(offsets.size()) - 1, offsets.data(), ids.data(), nullptr, keys.data()};
    }
};

void expect_same(const kith::RadiusNeighbors& expected, const kith::RadiusNeighbors& found, const std::string& label) {
    EXPECT_EQ(expected.offsets, found.offsets) << label;
    EXPECT_EQ(expected.ids, found.ids) << label;
    EXPECT_EQ(expected.distances, found.distances) << label;
    EXPECT_EQ(expected.distances64, found.distances64) << label;
}

std::vector<std::int64_t> lengths(const kith::RadiusNeighbors& rows) {
    std::vector<std::int64_t> counts;
    for (std::size_t i = 1; i < rows.offsets.size(); ++i) counts.push_back(rows.offsets[i] - rows.offsets[i - 1]);
    return counts;
}

void add(std::vector<std::int64_t>& all, const std::vector<std::int64_t>& more) {
    all.resize(more.size());
    for (std::size_t i = 0; i < more.size(); ++i) all[i] += more[i];
}

// The rows by way of a file, in blocks of a few.
kith::RadiusNeighbors by_file(const std::list<Rows>& shards, std::int64_t d, const kith::Options& options) {
    kith::ShardRows waiting((std::filesystem::temp_directory_path() / "rows.npz").string());
    for (const Rows& shard : shards) {
        const kith::RadiusRows all = shard.view();
        for (std::int64_t row = 0; row < all.count; row += 7) {
            const std::int64_t count = std::min<std::int64_t>(7, all.count - row), begin = all.offsets[row];
            std::vector<std::int64_t> offsets;
            for (std::int64_t i = 0; i <= count; ++i) offsets.push_back(all.offsets[row + i] - begin);
            waiting.append({row, count, offsets.data(), all.ids + begin, nullptr, all.distances64 + begin});
        }
    }
    constexpr std::int64_t from = 5;
    kith::RadiusNeighbors found;
    found.offsets.push_back(0);
    waiting.hand_on(from, d, options, 1 << 12, [&](const kith::RadiusRows& rows) {
        EXPECT_EQ(from + static_cast<std::int64_t>(found.offsets.size()) - 1, rows.first);
        const std::int64_t before = found.offsets.back(), added = rows.offsets[rows.count];
        for (std::int64_t i = 1; i <= rows.count; ++i) found.offsets.push_back(before + rows.offsets[i]);
        found.ids.insert(found.ids.end(), rows.ids, rows.ids + added);
        if (rows.distances) found.distances.insert(found.distances.end(), rows.distances, rows.distances + added);
        else found.distances64.insert(found.distances64.end(), rows.distances64, rows.distances64 + added);
    });
    return found;
}

class RadiusShards : public testing::TestWithParam<std::string> {};

TEST_P(RadiusShards, OfAnyCutGiveTheRows) {
    const search_cases::Size sizes[] = {{60, 9, 33, 10}, {150, 40, 4, 75}};
    std::uint64_t turn = 0;
    for (const char* data : {"duplicates", "all_equal", "integers", "gaussian", "nan_rows"}) {
        for (const search_cases::Size& size : sizes) {
            const auto type = arrays::element_types[turn % 6];
            const auto all = variants(GetParam(), size.d, type);
            const auto c =
                search_cases::make_case(all[turn % all.size()], data, size, type, type, arrays::shapes[turn % 3], turn);
            kith::Options options = search_cases::options_of("cpu", c.variant, {}, true);
            const kith::MatrixView &points = c.points.view, &queries = c.queries.view;
            // The distance of some neighbour, which is then at the very radius, is one for all.
            const kith::Neighbors near = kith::search(points, queries, size.k, options);
            const auto row = static_cast<std::size_t>(turn % static_cast<std::uint64_t>(queries.rows));
            kith::Radius r =
                near.distances64[row * static_cast<std::size_t>(size.k) + static_cast<std::size_t>(size.k / 2)];
            if (std::isnan(r.r) || (r.r < 0 && GetParam() != "inner_product")) r.r = 1;
            r.open = turn % 5 == 4;
            options.f64 = turn % 2 == 0;
            adversarial::Random random(turn);
            const std::vector<std::int64_t> cut = borders(points.rows, 8, random);
            std::list<Rows> found, of_graph;
            std::vector<std::int64_t> counts, graph_counts;
            for (std::size_t i = 0; i + 1 < cut.size(); ++i) {
                const kith::MatrixView shard = rows_of(points, cut[i], cut[i + 1] - cut[i]);
                kith::radius_shard(shard, cut[i], queries, r, options, found.emplace_back().take());
                kith::radius_graph_shard(shard, cut[i], points, 0, r, options, of_graph.emplace_back().take());
                add(counts, kith::radius_shard_counts(shard, queries, r, options).counts);
                add(graph_counts, kith::radius_graph_shard_counts(shard, cut[i], points, 0, r, options).counts);
            }
            const auto merged = [&](const std::list<Rows>& shards) {
                std::vector<kith::RadiusRows> views;
                for (const Rows& rows : shards) views.push_back(rows.view());
                return kith::merge_radius(views, points.cols, options);
            };
            const kith::RadiusNeighbors expected = kith::radius(points, queries, r, options);
            const kith::RadiusNeighbors graph = kith::radius_graph(points, r, options);
            expect_same(expected, merged(found), c.label);
            expect_same(graph, merged(of_graph), c.label);
            expect_same(expected, by_file(found, points.cols, options), c.label);
            expect_same(graph, by_file(of_graph, points.cols, options), c.label);
            EXPECT_EQ(lengths(expected), counts) << c.label;
            EXPECT_EQ(lengths(graph), graph_counts) << c.label;
            ++turn;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Metric, RadiusShards, testing::ValuesIn(metric_names()),
                         [](const auto& info) { return info.param; });

// Both distances are 1 as f64; the key of the first point is 1 + 2^-52.
TEST(RadiusShards, KeysDecideWhereDistancesAreEqual) {
    const double points[] = {1, 0x1p-26, 1, 0};
    const double query[] = {0, 0};
    kith::Options options;
    options.metric = kith::MetricId::euclidean;
    options.device = "cpu";
    Rows first, second;
    constexpr std::int64_t far = std::int64_t{1} << 40;
    kith::radius_shard(kith::view(points, 1, 2), far, kith::view(query, 1, 2), 1.0, options, first.take());
    kith::radius_shard(kith::view(points + 2, 1, 2), far + 1, kith::view(query, 1, 2), 1.0, options, second.take());
    const kith::RadiusNeighbors found = kith::merge_radius({first.view(), second.view()}, 2, options);
    EXPECT_EQ((std::vector<std::int64_t>{far + 1, far}), found.ids);
    EXPECT_EQ((std::vector<float>{1, 1}), found.distances);
}

template <class Call>
void refused(const char* words, Call call) {
    refusals::expect_words(refusals::refusal_of(call), {words});
}

TEST(RadiusShards, RefuseWhatTheyCannotMerge) {
    const float points[] = {3, 1, 2, 4};
    const kith::MatrixView view = kith::view(points, 2, 2);
    kith::Options options;
    options.device = "cpu";
    Rows rows;
    refused("first_point: -1", [&] { kith::radius_shard(view, -1, view, 1.0, options, rows.take()); });
    refused("first_query: -2", [&] { kith::radius_graph_shard(view, 0, view, -2, 1.0, options, rows.take()); });
    refused("r: -1", [&] { kith::radius_shard_counts(view, view, -1.0, options); });
    kith::Options self = options;
    self.include_self = true;
    refused("include_self", [&] { kith::radius_graph_shard_counts(view, 0, view, 0, 1.0, self); });
    options.metric = kith::MetricId::seuclidean;
    refused("variances: none", [&] { kith::radius_shard(view, 0, view, 1.0, options, rows.take()); });
    options.metric = {};
    kith::radius_shard(view, 0, view, 100.0, options, rows.take());
    refused("shards: none", [&] { kith::merge_radius({}, 2, options); });
    kith::RadiusRows one = rows.view(), without = rows.view();
    one.count = 1;
    without.distances64 = nullptr;
    refused("1 rows from 0 on; expected 2 from 0", [&] { kith::merge_radius({rows.view(), one}, 2, options); });
    refused("expected the keys", [&] { kith::merge_radius({without}, 2, options); });

    kith::ShardRows waiting((std::filesystem::temp_directory_path() / "rows.npz").string());
    const kith::TakeRadiusRows none = [](const kith::RadiusRows&) { ADD_FAILURE(); };
    refused("expected those of one shard", [&] { waiting.hand_on(0, 2, options, 1 << 20, none); });
    refused("expected keys of f64", [&] { waiting.append(without); });
    kith::ShardRows uneven((std::filesystem::temp_directory_path() / "rows.npz").string());
    kith::RadiusRows later = one;
    later.first = 1;
    refused("rows from 1", [&] { uneven.append(later); });
    uneven.append(rows.view());
    uneven.append(one);
    refused("1 rows of shard 1; expected the 2", [&] { uneven.hand_on(0, 2, options, 1 << 20, none); });
}

}  // namespace
