// graph() against the oracle: every point but the one with its own id is a neighbour, its duplicates first of all.
#include <gtest/gtest.h>

#include "search_cases.h"

namespace {

kith::Neighbors graph(const search_cases::Case& c, const search_cases::Execution& execution) {
    const kith::Options options = search_cases::options_of("cpu", c.variant, execution, false);
    const auto run = [&](const kith::Options& o) { return kith::graph(c.points.view, c.k, o); };
    return execution.small_memory ? search_cases::with_small_memory(options, run) : run(options);
}

class Graph : public testing::TestWithParam<std::string> {};

TEST_P(Graph, ExcludesItselfById) {
    const search_cases::Size sizes[] = {{1, 1, 3, 2}, {2, 1, 1, 1}, {60, 1, 33, 10}, {150, 1, 4, 149}, {40, 1, 7, 50}};
    std::uint64_t turn = 0;
    for (const char* data : {"duplicates", "all_equal", "integers", "gaussian", "nan_rows", "infinities", "offset"}) {
        for (const search_cases::Size& size : sizes) {
            const auto type = arrays::element_types[turn % 6];
            const auto all = variants(GetParam(), size.d, type);
            const auto c =
                search_cases::make_case(all[turn % all.size()], data, size, type, type, arrays::shapes[turn % 3], turn);
            const Truth truth(c.variant.name, c.variant.params, c.points.view, {}, c.k, true);
            for (const auto& execution : {search_cases::Execution{}, {"exact", "", 2, false}, {"", "", 1, true}}) {
                ASSERT_EQ("", truth.difference(graph(c, execution))) << c.label << ", " << execution.label();
            }
            ++turn;
        }
    }
}

// The filters offer a point to itself like any other, in blocks that begin anywhere.
TEST_P(Graph, FiltersExcludeItByIdToo) {
    for (const char* data : {"duplicates", "gaussian", "outlier"}) {
        const search_cases::Size size{400, 1, 16, 12};
        const auto c = search_cases::make_case(variants(GetParam(), size.d, kith::ElementType::f32).front(), data, size,
                                               kith::ElementType::f32, kith::ElementType::f32, arrays::Shape::dense, 9);
        const Truth truth(c.variant.name, c.variant.params, c.points.view, {}, c.k, true);
        for (const char* path : {"gemm-f32", "gemm-bf16", "direct-f32", "tree", "projected"}) {
            try {
                ASSERT_EQ("", truth.difference(graph(c, {path, "", 2, false}))) << c.label << ", path " << path;
            } catch (const kith::Error& error) {
                ASSERT_NE(std::string::npos, std::string(error.what()).find(path)) << error.what();
            }
        }
    }
}

// With include_self: the point itself at its distance to itself, then the row of k - 1 others; a NaN row stays empty.
TEST_P(Graph, BeginsWithItself) {
    std::uint64_t turn = 0;
    for (const char* data : {"duplicates", "all_equal", "integers", "nan_rows", "infinities"}) {
        for (const std::int64_t k : {1, 2, 6, 60, 70}) {
            const auto type = arrays::element_types[turn % 6];
            const auto all = variants(GetParam(), 5, type);
            auto c = search_cases::make_case(all[turn % all.size()], data, {60, 1, 5, k}, type, type,
                                             arrays::shapes[turn % 3], turn);
            kith::Options options = search_cases::options_of("cpu", c.variant, {}, false);
            options.f64 = turn % 2;
            const auto distance = [&](const kith::Neighbors& n, std::int64_t at) {
                return options.f64 ? n.distances64[at] : double{n.distances[at]};
            };
            const kith::Neighbors others = kith::graph(c.points.view, std::max<std::int64_t>(1, k - 1), options);
            const kith::Neighbors nearest = kith::search(c.points.view, c.points.view, 60, options);
            options.include_self = true;
            const kith::Neighbors got = kith::graph(c.points.view, k, options);
            const kith::Neighbors again = kith::Index(c.points.view, options).graph(k, options);
            ASSERT_EQ(got.ids, again.ids) << c.label;
            for (std::int64_t row = 0; row < 60; ++row) {
                const bool empty = nearest.ids[row * 60] < 0;
                ASSERT_EQ(empty ? -1 : row, got.ids[row * k]) << c.label;
                for (std::int64_t at = row * 60; at < row * 60 + 60; ++at) {
                    if (nearest.ids[at] != row) continue;
                    ASSERT_EQ(distance(nearest, at), distance(got, row * k)) << c.label << ", row " << row;
                }
                for (std::int64_t j = 1; j < k; ++j) {
                    ASSERT_EQ(others.ids[row * others.k + j - 1], got.ids[row * k + j]) << c.label << ", row " << row;
                    ASSERT_EQ(distance(others, row * others.k + j - 1), distance(got, row * k + j)) << c.label;
                }
            }
            ++turn;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Metric, Graph, testing::ValuesIn(metric_names()), [](const auto& info) { return info.param; });

TEST(Graph, KeepsDuplicates) {
    const float points[] = {5, 5, 1, 5};
    kith::Options options;
    options.device = "cpu";
    const auto got = kith::graph(kith::view(points, 4, 1), 3, options);
    EXPECT_EQ((std::vector<std::int64_t>{1, 3, 2, 0, 3, 2, 0, 1, 3, 0, 1, 2}), got.ids);
}

// The row of a self-search without its own id, wherever that stands among the duplicates.
TEST(Graph, IsTheSearchWithoutTheSelf) {
    const auto set = adversarial::make("duplicates", 500, 1, 8, 3);
    const auto points = arrays::make(set.points, 500, 8, kith::ElementType::f32);
    kith::Options options;
    options.device = "cpu";
    const auto graph = kith::graph(points.view, 499, options);
    const auto search = kith::search(points.view, points.view, 500, options);
    for (std::int64_t row = 0; row < 500; ++row) {
        std::vector<std::int64_t> want(search.ids.begin() + row * 500, search.ids.begin() + (row + 1) * 500);
        std::erase(want, row);
        ASSERT_EQ(want, std::vector<std::int64_t>(graph.ids.begin() + row * 499, graph.ids.begin() + (row + 1) * 499));
    }
}

}  // namespace
