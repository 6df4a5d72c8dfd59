// The path "tree" on a GPU against the oracle and the bits of the scan: adversarial data in few and in many dimensions,
// graphs, ties, how much it leaves out, and what it leaves to a filter.
#include <gtest/gtest.h>

#include <limits>

#include "exact/report/progress.h"
#include "same_answer.h"
#include "search_cases.h"

namespace {

const std::vector<std::string> metrics = {"sqeuclidean", "euclidean",  "cityblock",
                                          "chebyshev",   "seuclidean", "hellinger"};

kith::Options options_of(const char* path, const std::string& metric = "euclidean") {
    kith::Options options;
    options.device = "cuda";
    options.metric = kith::metric_named(metric);
    options.path = path;
    return options;
}

// Adversarial data; metrics, dimensions, sizes, k, types and layouts take turns.
TEST(GpuTree, AnswersAsTheOracle) {
    constexpr std::int64_t dimensions[] = {3, 1, 8, 2, 5, 4, 9, 34, 70}, neighbours[] = {10, 1, 32, 33, 128, 70};
    std::uint64_t turn = 0;
    for (const std::string& metric : metrics) {
        for (const std::string& data : adversarial::names()) {
            const search_cases::Size size{turn % 7 == 6 ? 20
                                          : turn % 3    ? 900
                                                        : 3000,
                                          turn % 4 ? 40 : 300, dimensions[turn % 9], neighbours[turn % 6]};
            const auto type = arrays::element_types[turn % 6];
            const auto query_type = turn % 4 ? type : kith::ElementType::f64;
            const auto all = variants(metric, size.d, type);
            const auto c = search_cases::make_case(all[turn % all.size()], data, size, type, query_type,
                                                   arrays::shapes[turn % 3], turn);
            const search_cases::Execution execution{"tree", "", 0, turn % 5 == 0};
            const auto got = search_cases::answer("cuda", c, execution, turn % 5 == 0);
            ASSERT_TRUE(got) << c.label;
            ASSERT_EQ("", c.truth().difference(*got)) << c.label;
            EXPECT_EQ("tree", got->report.path) << c.label;
            EXPECT_EQ(size.q, got->report.certified + got->report.retried + got->report.scanned);
            ++turn;
        }
    }
}

TEST(GpuTree, GraphsAsTheOracle) {
    std::uint64_t turn = 0;
    for (const std::string& data : adversarial::names()) {
        const std::string& metric = metrics[turn % metrics.size()];
        const std::int64_t d = 1 + static_cast<std::int64_t>(turn % 9);
        const auto type = arrays::element_types[turn % 6];
        const auto all = variants(metric, d, type);
        const auto c = search_cases::make_case(all[turn % all.size()], data, {500, 1, d, turn % 2 ? 5 : 60}, type, type,
                                               arrays::shapes[turn % 3], turn);
        const Truth truth(c.variant.name, c.variant.params, c.points.view, {}, c.k, true);
        const kith::Options options =
            search_cases::options_of("cuda", c.variant, {"tree", "", 0, false}, turn % 5 == 0);
        ASSERT_EQ("", truth.difference(kith::graph(c.points.view, c.k, options))) << c.label;
        const kith::Index index(c.points.view, options);
        ASSERT_EQ("", truth.difference(index.graph(c.k, options))) << c.label;
        ++turn;
    }
}

struct Cloud {
    std::string name;
    std::int64_t n, d;
    std::vector<float> points;
    kith::MatrixView view() const { return kith::view(points.data(), n, d); }
};

// Clouds of points whose boxes are hard to tell apart.
std::vector<Cloud> clouds() {
    constexpr std::int64_t n = 20000, d = 3;
    adversarial::Random random(11);
    std::vector<Cloud> list = {{"equal", n, d, std::vector<float>(n * d, 0.25f)},
                               {"infinite", n, d, std::vector<float>(n * d, std::numeric_limits<float>::infinity())}};
    const auto add = [&](const char* name, std::int64_t dims, auto value) {
        Cloud cloud{name, n, dims, {}};
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t j = 0; j < dims; ++j) cloud.points.push_back(static_cast<float>(value(i, j)));
        list.push_back(std::move(cloud));
    };
    add("uniform", d, [&](std::int64_t, std::int64_t) { return random.uniform(); });
    add("uniform-8", 8, [&](std::int64_t, std::int64_t) { return random.uniform(); });
    add("line", 1, [&](std::int64_t, std::int64_t) { return random.gaussian(); });
    add("lattice", d, [&](std::int64_t i, std::int64_t j) { return (j == 0 ? i : j == 1 ? i / 27 : i / 729) % 27; });
    add("few values", d, [&](std::int64_t i, std::int64_t j) { return (i * 2654435761 >> (j + 8)) % 2; });
    add("scales", d, [&](std::int64_t, std::int64_t j) {
        return random.gaussian() * (j == 0 ? 1e-20 : j == 1 ? 1 : 1e15);
    });
    add("outlier", d, [&](std::int64_t i, std::int64_t) { return i == 7 ? 1e30 : random.uniform(); });
    add("missing", d, [&](std::int64_t i, std::int64_t j) {
        return i % 3 == 1 && j == i % 2 ? std::numeric_limits<double>::quiet_NaN() : random.uniform();
    });
    return list;
}

TEST(GpuTree, GivesTheBitsOfTheScan) {
    int turn = 0;
    for (const Cloud& cloud : clouds()) {
        const std::string metric = metrics[turn % 4];
        const std::int64_t k = turn % 2 ? 10 : 100;
        const kith::Neighbors found = kith::graph(cloud.view(), k, options_of("tree", metric));
        EXPECT_EQ("tree", found.report.path);
        EXPECT_EQ(cloud.n, found.report.certified);
        ASSERT_TRUE(same_answer(kith::graph(cloud.view(), k, options_of("exact", metric)), found)) << cloud.name;
        // Queries in the order of their leaves, some of them NaN, others far away.
        std::vector<float> asked(cloud.points.begin(), cloud.points.begin() + 2000 * cloud.d);
        for (std::size_t i = 0; i < asked.size(); ++i) asked[i] = asked[i] * 1.25f - 0.1f;
        for (std::int64_t j = 0; j < cloud.d; ++j) asked[5 * cloud.d + j] = 1e20f;
        asked[99] = std::numeric_limits<float>::quiet_NaN();
        asked[300] = -std::numeric_limits<float>::infinity();
        const kith::MatrixView queries = kith::view(asked.data(), 2000, cloud.d);
        ASSERT_TRUE(same_answer(kith::search(cloud.view(), queries, k, options_of("exact", metric)),
                                kith::search(cloud.view(), queries, k, options_of("tree", metric))))
            << cloud.name;
        ++turn;
    }
}

// Ties are decided by the ids of whole boxes, and neither outliers nor scales hide the others.
TEST(GpuTree, LeavesOutMostPoints) {
    for (const Cloud& cloud : clouds()) {
        const double looked_at =
            kith::graph(cloud.view(), 10, options_of("tree")).report.candidates / static_cast<double>(cloud.n);
        EXPECT_LT(looked_at, cloud.name == "uniform-8" ? 6000 : cloud.name == "few values" ? 2500 : 1000) << cloud.name;
    }
}

// A sphere's centre is as far from every box: a filter answers. What an Index was prepared for does not matter.
TEST(GpuTree, LeavesASphereToAFilter) {
    constexpr std::int64_t n = 65536, d = 3, k = 10;
    adversarial::Random random(8);
    const std::vector<float> points = adversarial::sphere(n, d, random);
    const kith::MatrixView all = kith::view(points.data(), n, d);
    const kith::Index index(all, options_of("")), direct(all, options_of("direct-f32"));
    for (const std::int64_t q : {1, 256, 700}) {
        std::vector<float> centre(static_cast<std::size_t>(q * d));
        for (float& x : centre) x = static_cast<float>(1e-4 * random.gaussian());
        const kith::MatrixView asked = kith::view(centre.data(), q, d), some = kith::view(points.data(), q, d);
        const kith::Neighbors expected = index.search(asked, k, options_of("exact")),
                              found = index.search(asked, k, options_of(""));
        EXPECT_EQ("tree", found.report.path);
        EXPECT_EQ(q, found.report.retried + found.report.scanned);
        ASSERT_FALSE(found.report.fallbacks.empty());
        EXPECT_NE(std::string::npos, found.report.fallbacks[0].why.find("tree"));
        ASSERT_TRUE(same_answer(expected, found));
        ASSERT_TRUE(same_answer(expected, index.search(asked, k, options_of("tree"))));
        const kith::Neighbors near = index.search(some, k, options_of(""));
        EXPECT_EQ(q, near.report.certified);
        for (const char* path : {"gemm-f16", "direct-f32", "exact"})
            ASSERT_TRUE(same_answer(near, index.search(some, k, options_of(path)))) << path;
        ASSERT_TRUE(same_answer(near, direct.search(some, k, options_of("tree"))));
        ASSERT_TRUE(same_answer(index.search(some, 200, options_of("exact")), index.search(some, 200, options_of(""))));
    }
}

using Query = std::vector<float>;

// A filter answers `asked`, of which some are dear, as it does without a tree.
void expect_a_filter(const kith::Index& index, const Query& asked, std::int64_t d, std::int64_t k,
                     std::int64_t memory) {
    const auto q = static_cast<std::int64_t>(asked.size()) / d;
    const kith::MatrixView queries = kith::view(asked.data(), q, d);
    kith::Options options = options_of("");
    options.memory = memory;
    double done = 0, total = 0;
    options.progress = [&](const kith::Progress& p) {
        done = p.done;
        total = p.total;
        return true;
    };
    kith::ProgressMeter::milliseconds_between = 0;
    const kith::Neighbors found = index.search(queries, k, options);
    kith::ProgressMeter::milliseconds_between = 100;
    EXPECT_EQ("tree", found.report.path);
    EXPECT_EQ(q, found.report.retried + found.report.scanned);
    EXPECT_LE(done, total);
    ASSERT_TRUE(same_answer(index.search(queries, k, options_of("exact")), found));
}

// Queries that a tree serves, and others at the centre of a sphere: a quarter of them; behind all those of earlier
// leaves; behind those of a tile.
TEST(GpuTree, LeavesAMixtureToAFilter) {
    constexpr std::int64_t n = 65536, d = 3;
    adversarial::Random random(12);
    const auto centre = [&](Query& to, std::int64_t count, float x) {
        for (std::int64_t i = 0; i < count * d; ++i)
            to.push_back((i % d ? 0 : x) + static_cast<float>(1e-4 * random.gaussian()));
    };
    const Query points = adversarial::sphere(n, d, random);
    const kith::Index sphere(kith::view(points.data(), n, d), options_of(""));
    const auto near = [&](std::int64_t count) { return Query(points.begin(), points.begin() + count * d); };
    Query some = near(760);
    centre(some, 240, 0);
    expect_a_filter(sphere, some, d, 10, 0);
    Query later = near(12000);
    centre(later, 12000, 0);
    expect_a_filter(sphere, later, d, 128, std::int64_t{48} << 20);

    Query both, asked;
    for (std::int64_t i = 0; i < n / 2 * d; ++i) both.push_back(static_cast<float>(random.uniform() - (i % d ? 0 : 2)));
    for (std::int64_t i = 0; i < n / 2 * d; ++i)
        both.push_back(points[static_cast<std::size_t>(i)] + (i % d ? 0.0f : 20.0f));
    asked.assign(both.begin(), both.begin() + 256 * d);
    centre(asked, 255, 20);
    expect_a_filter(kith::Index(kith::view(both.data(), n, d), options_of("")), asked, d, 10, 0);
}

// A graph whose queries are no more all there at once.
TEST(GpuTree, GraphsInTiles) {
    constexpr std::int64_t n = 20000, d = 3, k = 128;
    adversarial::Random random(13);
    Query points(n * d);
    for (float& x : points) x = static_cast<float>(random.uniform());
    const kith::MatrixView view = kith::view(points.data(), n, d);
    kith::Options options = options_of("tree");
    options.memory = std::int64_t{32} << 20;
    const kith::Neighbors found = kith::graph(view, k, options);
    EXPECT_EQ(n, found.report.certified);
    ASSERT_TRUE(same_answer(kith::graph(view, k, options_of("exact")), found));
}

// More queries than are taken at a time.
TEST(GpuTree, TakesManyQueriesInSteps) {
    constexpr std::int64_t n = 100, q = (1 << 21) + 77, d = 2, k = 2;
    adversarial::Random random(9);
    std::vector<float> points(n * d), queries(q * d);
    for (auto* rows : {&points, &queries})
        for (float& x : *rows) x = static_cast<float>(random.uniform());
    const kith::MatrixView all = kith::view(points.data(), n, d), asked = kith::view(queries.data(), q, d);
    const kith::Neighbors found = kith::search(all, asked, k, options_of("tree"));
    EXPECT_EQ(q, found.report.certified);
    ASSERT_TRUE(same_answer(kith::search(all, asked, k, options_of("exact")), found));
}

TEST(GpuTree, IsCancelled) {
    constexpr std::int64_t n = 5000, d = 3;
    adversarial::Random random(4);
    std::vector<float> points(n * d);
    for (float& x : points) x = static_cast<float>(random.uniform());
    const kith::MatrixView view = kith::view(points.data(), n, d);
    kith::ProgressMeter::milliseconds_between = 0;
    kith::Options options = options_of("tree");
    int calls = 0, all = 0;
    options.progress = [&](const kith::Progress&) { return ++calls > 0; };
    kith::graph(view, 5, options);
    all = calls;
    EXPECT_LE(2, all);
    for (int at = 1; at <= all; ++at) {
        calls = 0;
        options.progress = [&](const kith::Progress&) { return ++calls < at; };
        try {
            kith::graph(view, 5, options);
            ADD_FAILURE() << "not cancelled at call " << at;
        } catch (const kith::Error& error) {
            EXPECT_EQ(kith::ErrorCode::cancelled, error.code());
        }
    }
    kith::ProgressMeter::milliseconds_between = 100;
}

// Between launches, where every query looks at all points.
TEST(GpuTree, IsCancelledBetweenLaunches) {
    constexpr std::int64_t n = 65536, q = 1 << 20, d = 3;
    adversarial::Random random(14);
    const Query points = adversarial::sphere(n, d, random);
    Query centre(q * d);
    for (float& x : centre) x = static_cast<float>(1e-4 * random.gaussian());
    kith::ProgressMeter::milliseconds_between = 0;
    kith::Options options = options_of("tree");
    double done = 0;
    options.progress = [&](const kith::Progress& p) {
        done = p.done / p.total;
        return !(done > 0 && done < 1);
    };
    try {
        kith::search(kith::view(points.data(), n, d), kith::view(centre.data(), q, d), 10, options);
        ADD_FAILURE() << "not cancelled";
    } catch (const kith::Error& error) {
        EXPECT_EQ(kith::ErrorCode::cancelled, error.code());
    }
    EXPECT_LT(done, 1);
    kith::ProgressMeter::milliseconds_between = 100;
}

TEST(GpuTree, IsTakenForFewDimensions) {
    constexpr std::int64_t n = 100000, d = 3;
    adversarial::Random random(6);
    std::vector<float> points(n * d);
    for (float& x : points) x = static_cast<float>(random.uniform());
    const kith::MatrixView view = kith::view(points.data(), n, d);
    const kith::Neighbors found = kith::graph(view, 16, options_of(""));
    EXPECT_EQ("tree", found.report.path);
    EXPECT_EQ(n, found.report.certified);
    EXPECT_LT(found.report.candidates, 500.0 * n);
    ASSERT_TRUE(same_answer(kith::graph(view, 16, options_of("direct-f32")), found));
}

}  // namespace
