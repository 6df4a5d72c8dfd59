// The f32 filter of formulas: the same bits as the scan in binary64, of every type, layout and data set; its values, of
// coordinates that are hard on the functions of the special units, within the bound; and what it leaves to the scan.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "adversarial.h"
#include "arrays.h"
#include "formula/error_bound.h"
#include "gpu/filter/direct/direct.h"
#include "gpu/filter/direct/formula_pass.h"
#include "gpu/runtime/memory/device_memory.h"
#include "kith/kith.h"
#include "same_answer.h"
#include "search_cases.h"

namespace {

kith::Options with(const std::string& formula, const std::string& path, double start = 0) {
    kith::Options options;
    options.metric = kith::MetricId::formula;
    options.metric.formula = formula;
    options.metric.start = start;
    options.device = "cuda";
    options.path = path;
    options.f64 = true;
    return options;
}

// Formulas of signed coordinates.
const char* const formulas[] = {
    "a + fabs(q - x)",
    "max(a, fabs(q - x))",
    "a + (q - x) * (q - x)",
    "a + fabs(q - x) / (1 + fabs(q) + fabs(x))",
    "a + pow(fabs(q - x), 1.5)",
    "a + sqrt(fabs(q - x))",
    "a / 3 + fabs(q - x)",
    "a + (q < x ? x - q : 2 * (q - x))",
    "a + 1 - exp(-fabs(q - x))",
    "a + log(1 + (q - x) * (q - x))",
    "a - q * x",
    "sqrt(a * a + (q - x) * (q - x))",
    "a + (q == x ? 0 : 1)",
};

TEST(GpuFormulaFilter, GivesTheBitsOfTheScan) {
    // A formula is compiled anew for most data sets, so each meets every third of them, and each data set a third of
    // the formulas.
    std::uint64_t turn = 0, pair = 0;
    for (const std::string& data : adversarial::names()) {
        for (const char* formula : formulas) {
            if (pair++ % 3) continue;
            const std::int64_t n = 300 + static_cast<std::int64_t>(turn % 400), q = turn % 4 ? 37 : 1,
                               d = 1 + static_cast<std::int64_t>(turn % 40), k = turn % 3 ? 5 : 30;
            const auto set = adversarial::make(data, n, q, d, turn);
            const kith::ElementType type = arrays::element_types[turn % 6];
            const double start = turn % 5 ? 0 : 0.3;
            ++turn;
            if (type == kith::ElementType::f64) continue;
            const auto points = arrays::make(set.points, n, d, type, arrays::shapes[turn % 3]);
            const auto queries = arrays::make(set.queries, q, d, type, arrays::shapes[(turn + 1) % 3]);
            const std::string what = std::string(formula) + ", " + data + ' ' + kith::name(type) + ", n " +
                                     std::to_string(n) + ", q " + std::to_string(q) + ", d " + std::to_string(d);
            const auto scan = kith::search(points.view, queries.view, k, with(formula, "exact", start));
            const auto filtered = kith::search(points.view, queries.view, k, with(formula, "direct-f32", start));
            ASSERT_EQ("direct-f32", filtered.report.path) << what;
            ASSERT_TRUE(same_answer(scan, filtered)) << what;
            if (turn % 4) continue;
            const auto graph = kith::graph(points.view, k, with(formula, "direct-f32", start));
            ASSERT_TRUE(same_answer(kith::graph(points.view, k, with(formula, "exact", start)), graph)) << what;
            const kith::Index index(points.view, with(formula, "direct-f32", start));
            ASSERT_TRUE(same_answer(scan, index.search(queries.view, k, with(formula, "direct-f32", start)))) << what;
        }
    }
}

// Sizes that fill lists, levels of samples and tiles; here nothing should be left to the scan.
TEST(GpuFormulaFilter, FiltersOrdinaryData) {
    struct Case {
        const char* formula;
        bool positive;
    };
    const Case cases[] = {
        {"a + fabs(q - x)", false},
        {"a + (q - x) * (q - x) / (1 + fabs(q) + fabs(x))", false},
        {"a + pow(fabs(q - x), 1.5)", false},
        {"a - q * x", false},
        {"a + (sqrt(q) - sqrt(x)) * (sqrt(q) - sqrt(x))", true},
        {"a + fabs(q - x) / (q + x)", true},
        {"a + q * log(q / x)", true},
        {"a + (q - x) * log(q / x)", true},
        {"max(a, fabs(log(q / x)))", true},
    };
    constexpr std::int64_t n = 50000, q = 700, d = 24, k = 10;
    std::mt19937_64 random(3);
    std::normal_distribution<float> normal;
    std::uniform_real_distribution<float> uniform(0.05f, 1);
    for (const Case& c : cases) {
        std::vector<float> points(n * d), queries(q * d);
        for (auto* values : {&points, &queries})
            for (float& v : *values) v = c.positive ? uniform(random) : normal(random);
        const auto x = kith::view(points.data(), n, d), y = kith::view(queries.data(), q, d);
        const auto scan = kith::search(x, y, k, with(c.formula, "exact"));
        const auto filtered = kith::search(x, y, k, with(c.formula, ""));
        ASSERT_EQ("direct-f32", filtered.report.path) << c.formula;
        ASSERT_TRUE(same_answer(scan, filtered)) << c.formula;
        EXPECT_LE(filtered.report.scanned, 7) << c.formula;
        EXPECT_LT(filtered.report.candidates, 200.0 * q) << c.formula;
        RecordProperty(c.formula, std::to_string(filtered.report.candidates / q));
        // In chunks that stream.
        kith::Options small = with(c.formula, "direct-f32");
        small.memory = 6 << 20;
        ASSERT_TRUE(same_answer(scan, kith::search(x, y, k, small))) << c.formula;
    }
}

// Where no range of the points has a bound that serves, the scan answers, and a formula without a bound says so.
TEST(GpuFormulaFilter, LeavesTheRestToTheScan) {
    std::mt19937_64 random(4);
    std::normal_distribution<float> normal;
    constexpr std::int64_t n = 3000, q = 300, d = 8;
    std::vector<float> points(n * d), queries(q * d);
    for (auto* values : {&points, &queries})
        for (float& v : *values) v = normal(random);
    const auto x = kith::view(points.data(), n, d), y = kith::view(queries.data(), q, d);
    const char* const divides = "a + fabs(q - x) / (fabs(q) + fabs(x))";
    const auto found = kith::search(x, y, 5, with(divides, "direct-f32"));
    EXPECT_TRUE(same_answer(kith::search(x, y, 5, with(divides, "exact")), found));
    EXPECT_EQ(q, found.report.scanned);
    ASSERT_FALSE(found.report.fallbacks.empty());
    const char* const compares = "a + (q * x < 0.1 ? 1 : fabs(q - x))";
    EXPECT_EQ("exact", kith::search(x, y, 5, with(compares, "")).report.path);
    EXPECT_THROW(kith::search(x, y, 5, with(compares, "direct-f32")), kith::Error);
    std::vector<double> wide(points.begin(), points.end());
    EXPECT_THROW(kith::search(kith::view(wide.data(), n, d), y, 5, with("a + fabs(q - x)", "direct-f32")), kith::Error);
}

// Keys that f32 cannot tell apart: the same coordinates in another order, and rows that repeat others.
TEST(GpuFormulaFilter, NearTiesAndEqualRows) {
    std::mt19937_64 random(5);
    std::normal_distribution<float> normal;
    constexpr std::int64_t n = 20000, near = 60, d = 64, k = 10;
    std::vector<float> row(d), points(n * d), query(3 * d);
    for (float& v : row) v = normal(random);
    for (float& v : points) v = 10 + normal(random);
    for (std::int64_t i = 0; i < near; ++i) {
        std::shuffle(row.begin(), row.end(), random);
        std::copy(row.begin(), row.end(), points.begin() + i * (n / near) * d);
    }
    for (int copies : {0, 19000}) {
        for (int i = 0; i < copies; ++i)
            std::copy(points.end() - d, points.end(), points.begin() + (i % 2 ? i : n - 1 - i) * d);
        const auto x = kith::view(points.data(), n, d), y = kith::view(query.data(), 3, d);
        for (const char* formula : {"a + fabs(q - x)", "a + sqrt(fabs(q - x))", "a + log(1 + fabs(q - x))"})
            EXPECT_TRUE(same_answer(kith::search(x, y, k, with(formula, "exact")),
                                    kith::search(x, y, k, with(formula, "direct-f32"))))
                << formula;
    }
}

// The kernel's own values, of rows that are the range's ends, nearly equal, near 0 and denormal.
TEST(GpuFormulaFilter, ValuesAreWithinTheBound) {
    using kith::formula::Range;
    constexpr std::int64_t d = 5, n = 2048, q = 128, ld = 2048;
    std::mt19937_64 random(6);
    double most = 0;
    const std::pair<const char*, Range> cases[] = {
        {"a + fabs(q - x)", {-16, 16}},         {"a + fabs(q - x) / (1 + fabs(q) + fabs(x))", {-16, 16}},
        {"a + sqrt(fabs(q - x))", {-16, 16}},   {"a + pow(fabs(q - x), 1.5)", {-16, 16}},
        {"a + pow(fabs(q - x), 0.3)", {-1, 1}}, {"a + exp(q - x)", {-16, 16}},
        {"a + exp(-fabs(q * x))", {-16, 16}},   {"a + log(x)", {0x1p-100, 16}},
        {"a + log(q / x)", {0.5, 2}},           {"a + 1 / x", {0x1p-100, 1}},
        {"a + pow(x, -0.7)", {0x1p-50, 1}},     {"a * q - x", {-1.5, 1.5}},
        {"a + (q - x) * (q - x)", {-16, 16}},   {"a + (sqrt(q) - sqrt(x)) * (sqrt(q) - sqrt(x))", {0, 16}},
    };
    for (const auto& [text, range] : cases) {
        const auto program = kith::formula::compile(text);
        const auto bound = kith::formula::error_bound(*program, 0.25, d, range);
        ASSERT_EQ("", bound.refused) << text;
        const auto coordinate = [&, range = range](double near) {
            const double u = std::uniform_real_distribution<double>(0, 1)(random);
            double x = range.least + (range.most - range.least) * u;
            switch (random() % 6) {
                case 0:
                    x = random() % 2 ? range.least : range.most;
                    break;
                case 1:
                    x = static_cast<double>(std::nextafter(static_cast<float>(near), random() % 2 ? 1e30f : -1e30f));
                    break;
                case 2:
                    x = std::ldexp(u - 0.5, -static_cast<int>(random() % 150));
                    break;
                case 3:
                    x = range.least > 0 ? range.least * std::exp2(u * std::log2(range.most / range.least)) : near;
                    break;
                default:
                    break;
            }
            x = static_cast<double>(static_cast<float>(x));
            return x >= range.least && x <= range.most ? x : 0.5 * (range.least + range.most);
        };
        std::vector<double> points(n * d), queries(q * d);
        for (double& v : queries) v = coordinate(0);
        for (std::size_t i = 0; i < points.size(); ++i) points[i] = coordinate(queries[i % queries.size()]);
        const auto words = [&](const std::vector<double>& values, std::int64_t rows) {
            std::vector<float> out(static_cast<std::size_t>(rows * d));
            for (std::int64_t r = 0; r < rows; ++r)
                for (std::int64_t i = 0; i < d; ++i)
                    out[static_cast<std::size_t>(kith::gpu::direct_place(r, i, d))] =
                        static_cast<float>(values[static_cast<std::size_t>(r * d + i)]);
            return out;
        };
        const auto on_device = [](const std::vector<float>& values) {
            kith::gpu::Buffer<float> out(std::ssize(values), nullptr);
            kith::gpu::check(cudaMemcpy(out.get(), values.data(), values.size() * sizeof(float), cudaMemcpyDefault),
                             "cudaMemcpy");
            return out;
        };
        const auto x = on_device(words(points, n)), y = on_device(words(queries, q)),
                   h = on_device(std::vector<float>(n, 0.0f));
        kith::gpu::Buffer<float> all(q * ld, nullptr);
        kith::gpu::FilterPass pass;
        pass.exponent = 0.25f;
        pass.queries = y.get();
        pass.points = x.get();
        pass.half_norm = h.get();
        pass.q = q;
        pass.n = pass.count = n;
        pass.width = d;
        pass.all = all.get();
        pass.ld = ld;
        pass.formula = &*program;
        kith::gpu::sweep(pass, kith::gpu::FilterIsa::sm_80, nullptr);
        std::vector<float> got(q * ld);
        kith::gpu::check(cudaMemcpy(got.data(), all.get(), got.size() * sizeof(float), cudaMemcpyDefault),
                         "cudaMemcpy");
        for (std::int64_t i = 0; i < q; ++i) {
            for (std::int64_t j = 0; j < n; ++j) {
                const double wanted = kith::formula::evaluate(*program, 0.25, queries.data() + i * d,
                                                              points.data() + j * d, d),
                             value = static_cast<double>(got[static_cast<std::size_t>(i * ld + j)]),
                             allowed = bound.relative * std::fabs(wanted) + bound.absolute;
                ASSERT_LE(std::fabs(value - wanted), allowed) << text << ": " << value << " and " << wanted;
                if (allowed > 0) most = std::max(most, std::fabs(value - wanted) / allowed);
            }
        }
    }
    RecordProperty("largest_share_of_bound", std::to_string(most));
}

}  // namespace
