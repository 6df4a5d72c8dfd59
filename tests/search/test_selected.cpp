// Searches on the CPU by a selector that was asked for: all distances and a selection have the oracle's answers and the
// bits of the planner's own choice.
#include <limits>

#include "cpu/select/selectors.h"
#include "exact/report/progress.h"
#include "kith/batches.h"
#include "kith/index.h"
#include "kith/radius.h"
#include "same_answer.h"
#include "search_cases.h"

namespace {

using kith::ElementType;

class SelectedSearch : public testing::TestWithParam<std::string> {};

kith::Options by(const std::string& selector, const Variant& variant, int threads, bool f64) {
    kith::Options options = search_cases::options_of("cpu", variant, {"", "", threads, false}, f64);
    options.selector = selector;
    return options;
}

// Every metric on every data set, types, layouts, threads and memory in turn.
TEST_P(SelectedSearch, EveryMetric) {
    std::uint64_t turn = GetParam().size();
    for (const std::string& metric : metric_names())
        for (const std::string& data : adversarial::names()) {
            search_cases::Size size = search_cases::sizes[turn % std::size(search_cases::sizes)];
            if (metric == "mahalanobis") size.d = std::min<std::int64_t>(size.d, 33);
            if (GetParam() == "insertion") size.k = std::min<std::int64_t>(size.k, 256);
            const ElementType type = arrays::element_types[turn % 6],
                              query_type = turn % 5 ? type : arrays::element_types[turn / 5 % 6];
            const auto all = variants(metric, size.d, type);
            const Variant& variant = all[turn / 2 % all.size()];
            const auto c =
                search_cases::make_case(variant, data, size, type, variant.metric.packed_bits ? type : query_type,
                                        arrays::shapes[turn % 3], turn);
            const kith::Options options = by(GetParam(), variant, static_cast<int>(turn % 3), turn % 4 == 0);
            const auto search = [&](const kith::Options& o) {
                return kith::search(c.points.view, c.queries.view, c.k, o);
            };
            const kith::Neighbors got = turn % 3 ? search(options) : search_cases::with_small_memory(options, search);
            ASSERT_EQ("", c.truth().difference(got)) << c.label << ", " << GetParam();
            kith::Options own = options;
            own.selector.clear();
            ASSERT_TRUE(same_answer(search(own), got)) << c.label << ", " << GetParam();
            EXPECT_EQ("exact", got.report.path);
            EXPECT_EQ(c.queries.view.rows, got.report.scanned);
            ++turn;
        }
}

// More points than a tile has and than queries, and the other way round; ties, and rows alike.
TEST_P(SelectedSearch, ManyRows) {
    for (const search_cases::Size& size : {search_cases::Size{40'000, 3, 6, 100}, {700, 900, 5, 20}})
        for (const char* const data : {"duplicates", "lattice", "gaussian"})
            for (const int threads : {1, 2}) {
                const auto c =
                    search_cases::make_case(variants("cityblock", size.d, ElementType::f32).front(), data, size,
                                            ElementType::f32, ElementType::f32, arrays::Shape::dense, 3);
                const auto got =
                    kith::search(c.points.view, c.queries.view, c.k, by(GetParam(), c.variant, threads, true));
                ASSERT_EQ("", c.truth().difference(got)) << c.label;
            }
}

TEST_P(SelectedSearch, GraphAndIndex) {
    const auto c =
        search_cases::make_case(variants("euclidean", 21, ElementType::f32).front(), "duplicates", {900, 30, 21, 9},
                                ElementType::f32, ElementType::f32, arrays::Shape::dense, 8);
    const Truth near = c.truth(), among(c.variant.name, c.variant.params, c.points.view, {}, 9, true);
    const kith::Options options = by(GetParam(), c.variant, 2, true);
    ASSERT_EQ("", among.difference(kith::graph(c.points.view, 9, options)));
    kith::Options plain = options;
    plain.selector.clear();
    for (const kith::Options& made : {options, plain}) {
        const kith::Index index(c.points.view, made);
        ASSERT_EQ("", near.difference(index.search(c.queries.view, 9, options)));
        ASSERT_EQ("", among.difference(index.graph(9, options)));
    }
}

TEST_P(SelectedSearch, AFormula) {
    const auto c =
        search_cases::make_case(variants("cityblock", 9, ElementType::f32).front(), "gaussian", {300, 20, 9, 7},
                                ElementType::f32, ElementType::f32, arrays::Shape::dense, 8);
    kith::Options options = by(GetParam(), c.variant, 2, true);
    options.metric = kith::Metric(kith::MetricId::formula);
    options.metric.formula = "a + fabs(q - x)";
    const auto got = kith::search(c.points.view, c.queries.view, c.k, options);
    options.selector.clear();
    ASSERT_TRUE(same_answer(kith::search(c.points.view, c.queries.view, c.k, options), got));
}

// Points that are nobody's neighbours, a query that has none, more neighbours than there are.
TEST_P(SelectedSearch, MissingNeighbours) {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
    const std::vector<float> points{0, nan, 3, -1, infinity}, queries{0, nan};
    const auto got = kith::search(kith::view(points.data(), 5, 1), kith::view(queries.data(), 2, 1), 6,
                                  by(GetParam(), variants("cityblock", 1, ElementType::f32).front(), 1, false));
    EXPECT_EQ((std::vector<std::int64_t>{0, 3, 2, 4, -1, -1, -1, -1, -1, -1, -1, -1}), got.ids);
    const std::vector<float> distances{0,        1,        3,        infinity, infinity, infinity,
                                       infinity, infinity, infinity, infinity, infinity, infinity};
    EXPECT_EQ(distances, got.distances);
}

TEST_P(SelectedSearch, Batches) {
    const auto c =
        search_cases::make_case(variants("sqeuclidean", 3, ElementType::f32).front(), "gaussian", {400, 40, 3, 5},
                                ElementType::f32, ElementType::f32, arrays::Shape::dense, 8);
    const std::vector<kith::Batch> batches{{0, 100, 0, 30}, {100, 300, 30, 10}};
    kith::Options options = by(GetParam(), c.variant, 1, true);
    const auto got = kith::search_batches(c.points.view, c.queries.view, batches, 5, options);
    options.selector.clear();
    ASSERT_TRUE(same_answer(kith::search_batches(c.points.view, c.queries.view, batches, 5, options), got));
}

TEST_P(SelectedSearch, IsCancelled) {
    struct Often {
        Often() { kith::ProgressMeter::milliseconds_between = 0; }
        ~Often() { kith::ProgressMeter::milliseconds_between = 100; }
    } const often;
    const std::vector<float> points(300'000, 1.0f), queries(300, 2.0f);
    kith::Options options = by(GetParam(), variants("cityblock", 3, ElementType::f32).front(), 2, false);
    const auto polls_until = [&](int refuse_at) {
        int polls = 0;
        options.progress = [&](const kith::Progress&) { return ++polls < refuse_at; };
        try {
            kith::search(kith::view(points.data(), 100'000, 3), kith::view(queries.data(), 100, 3), 10, options);
        } catch (const kith::Error& error) {
            EXPECT_EQ(kith::ErrorCode::cancelled, error.code()) << error.what();
            EXPECT_EQ(refuse_at, polls);
        }
        return polls;
    };
    const int all = polls_until(std::numeric_limits<int>::max());
    EXPECT_GT(all, 20);
    for (const int at : {1, all / 3, all / 2}) EXPECT_EQ(at, polls_until(at));
}

std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const kith::cpu::Selector& selector : kith::cpu::selectors) all.emplace_back(selector.name);
    return all;
}
INSTANTIATE_TEST_SUITE_P(Cpu, SelectedSearch, testing::ValuesIn(names()), [](const auto& info) {
    std::string name = info.param;
    for (char& c : name)
        if (c == '-') c = '_';
    return name;
});

// A radius selects nothing.
TEST(Selected, NotWithinARadius) {
    const std::vector<float> points(30, 1.0f);
    kith::Options options;
    options.device = "cpu";
    options.selector = "heap";
    try {
        kith::radius(kith::view(points.data(), 10, 3), kith::view(points.data(), 10, 3), 1.0, options);
        ADD_FAILURE();
    } catch (const kith::Error& error) {
        EXPECT_EQ(kith::ErrorCode::invalid_argument, error.code());
        EXPECT_NE(std::string::npos, std::string(error.what()).find("selector: 'heap'")) << error.what();
    }
}

}  // namespace
