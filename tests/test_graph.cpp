// graph() against the oracle: every point but the one with its own id is a neighbour, its duplicates first of all.
#include <gtest/gtest.h>

#include "search_cases.h"

namespace {

kith::Neighbors graph(const search_cases::Case& c, const search_cases::Way& way) {
    const kith::Options options = search_cases::options_of("cpu", c.variant, way, false);
    const auto run = [&](const kith::Options& o) { return kith::graph(c.points.view, c.k, o); };
    return way.small_memory ? search_cases::with_small_memory(options, run) : run(options);
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
            for (const auto& way : {search_cases::Way{}, {"exact", "", 2, false}, {"", "", 1, true}}) {
                ASSERT_EQ("", truth.difference(graph(c, way))) << c.label << ", " << way.label();
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
        for (const char* path : {"gemm-f32", "gemm-bf16", "direct-f32"}) {
            try {
                ASSERT_EQ("", truth.difference(graph(c, {path, "", 2, false}))) << c.label << ", path " << path;
            } catch (const kith::Error& error) {
                ASSERT_NE(std::string::npos, std::string(error.what()).find(path)) << error.what();
            }
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
