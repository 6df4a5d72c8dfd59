// The caller's own metrics on CUDA: a formula gives the bits of the CPU; a functor without a device side is refused.
#include <algorithm>
#include <cmath>

#include "exact/report/progress.h"
#include "formula_cases.h"
#include "kith/functor.h"
#include "kith/index.h"
#include "metric/portable.h"
#include "same_answer.h"
#include "search_cases.h"

namespace {

kith::Options with(const kith::Metric& metric, const std::string& device) {
    kith::Options options;
    options.metric = metric;
    options.device = device;
    options.f64 = true;
    return options;
}

TEST(GpuFormula, GivesTheBitsOfTheCpu) {
    const char* const texts[] = {
        "a + fabs(q - x)",
        "max(a, fabs(q - x))",
        "q - x > a ? q - x : (x - q > a ? x - q : a)",
        "a + (q - x) * (q - x) / (1 + fabs(q) + abs(x))",
        "a + fmin(sqrt(fabs(q)), x) * 0.5 - fmax(min(q, x), a / 3)",
        "a + pow(fabs(q - x), 1.5) + pow(q - x, 3)",
        "a + log(1 + fabs(q)) * exp(-fabs(x))",
    };
    std::uint64_t turn = 0;
    for (const char* data : {"gaussian", "integers", "nan_rows", "infinities", "offset", "duplicates"}) {
        for (const char* text : texts) {
            kith::Metric metric = kith::MetricId::formula;
            metric.formula = text;
            metric.start = turn % 2 ? 0 : -0.5;
            const auto type = arrays::element_types[turn % 6];
            const auto set = adversarial::make(data, 400, 21, 35, turn);
            const auto points = arrays::make(set.points, 400, 35, type, arrays::shapes[turn % 3]);
            const auto queries = arrays::make(set.queries, 21, 35, type, arrays::shapes[turn % 3]);
            ++turn;
            const auto cpu = kith::search(points.view, queries.view, 410, with(metric, "cpu"));
            const auto gpu = kith::search(points.view, queries.view, 410, with(metric, "cuda"));
            ASSERT_TRUE(same_answer(cpu, gpu)) << data << ": " << text;
            const auto small = search_cases::with_small_memory(with(metric, "cuda"), [&](const kith::Options& options) {
                return kith::search(points.view, queries.view, 410, options);
            });
            ASSERT_EQ(cpu.ids, small.ids) << data << ": " << text;
            const auto graph = kith::graph(points.view, 5, with(metric, "cuda"));
            ASSERT_EQ(kith::graph(points.view, 5, with(metric, "cpu")).ids, graph.ids) << data << ": " << text;
        }
    }
}

TEST(GpuFormula, KnowsItsFunctions) {
    const auto set = adversarial::make("probabilities", 300, 5, 12, 1);
    const auto points = arrays::make(set.points, 300, 12, kith::ElementType::f64);
    const auto queries = arrays::make(set.queries, 5, 12, kith::ElementType::f64);
    kith::Metric metric = kith::MetricId::formula;
    metric.formula = "a + pow(exp(q) - log(1 + x), 2)";
    const auto cpu = kith::search(points.view, queries.view, 9, with(metric, "cpu"));
    const auto gpu = kith::search(points.view, queries.view, 9, with(metric, "cuda"));
    EXPECT_TRUE(same_answer(cpu, gpu));
}

// A plain loop over the coordinates, and neighbours sorted by (distance, id): shares nothing with src/.
template <class Step>
void expect_neighbours_of(const Step& step, double start, const std::vector<double>& points, std::int64_t n,
                          const std::vector<double>& queries, std::int64_t q, std::int64_t d,
                          const kith::Neighbors& got) {
    for (std::int64_t i = 0; i < q; ++i) {
        std::vector<std::pair<double, std::int64_t>> all;
        for (std::int64_t j = 0; j < n; ++j) {
            double a = start;
            for (std::int64_t c = 0; c < d; ++c)
                a = step(a, queries[static_cast<std::size_t>(i * d + c)], points[static_cast<std::size_t>(j * d + c)]);
            all.emplace_back(std::isnan(a) ? HUGE_VAL : a, j);
        }
        std::sort(all.begin(), all.end());
        for (std::int64_t j = 0; j < n; ++j) {
            const auto at = static_cast<std::size_t>(i * n + j);
            ASSERT_EQ(all[static_cast<std::size_t>(j)].second, got.ids[at]) << "query " << i << ", place " << j;
            ASSERT_EQ(all[static_cast<std::size_t>(j)].first, got.distances64[at]) << "query " << i << ", place " << j;
        }
    }
}

// Formulas that a thread takes 16 pairs, 4 pairs and one through (gpu/metric/formula_text.cpp), the first of them one
// whose value depends on the order of the coordinates, in tiles that are full, cut off and of few queries.
TEST(GpuFormula, TilesOfEveryShape) {
    struct Formula {
        const char* text;
        double (*step)(double, double, double);
    };
    namespace p = kith::portable;
    const Formula formulas[] = {
        {"a / 3 + fabs(q - x)", [](double a, double q, double x) { return a / 3 + std::fabs(q - x); }},
        {"a + pow(fabs(q - x), 1.5)",
         [](double a, double q, double x) { return a + p::any_pow(std::fabs(q - x), 1.5); }},
        {"a + pow(fabs(q - x), 1.5) * exp(q * x) - log(2 + q) * pow(x + 1, a / 99)",
         [](double a, double q, double x) {
             return a + p::any_pow(std::fabs(q - x), 1.5) * p::any_exp(q * x) -
                    p::any_log(2 + q) * p::any_pow(x + 1, a / 99);
         }},
    };
    struct Size {
        std::int64_t n, q, d;
    };
    const Size sizes[] = {{1, 1, 1},   {257, 4, 17},   {64, 5, 16},    {65, 16, 3},   {63, 17, 31}, {130, 64, 1},
                          {64, 65, 2}, {129, 130, 33}, {300, 70, 100}, {1000, 3, 64}, {31, 15, 784}};
    for (const Formula& formula : formulas) {
        for (const Size& size : sizes) {
            SCOPED_TRACE(std::string(formula.text) + ", n " + std::to_string(size.n) + ", q " + std::to_string(size.q) +
                         ", d " + std::to_string(size.d));
            const auto set = adversarial::make("uniform", size.n, size.q, size.d, 5);
            const auto points = arrays::make(set.points, size.n, size.d, kith::ElementType::f64, arrays::shapes[1]);
            const auto queries = arrays::make(set.queries, size.q, size.d, kith::ElementType::f64, arrays::shapes[0]);
            kith::Metric metric = kith::MetricId::formula;
            metric.formula = formula.text;
            metric.start = 0.25;
            const auto options = with(metric, "cuda");
            const auto got = kith::search(points.view, queries.view, size.n, options);
            expect_neighbours_of(formula.step, metric.start, set.points, size.n, set.queries, size.q, size.d, got);
            const kith::Index index(points.view, options);
            ASSERT_EQ(got.ids, index.search(queries.view, size.n, options).ids);
            const auto small = search_cases::with_small_memory(
                options, [&](const kith::Options& o) { return kith::search(points.view, queries.view, size.n, o); });
            ASSERT_TRUE(same_answer(got, small));
        }
    }
}

// In every type and layout, with ties, NaN rows, infinities, denormals.
TEST(GpuFormula, TilesOfEveryDataSet) {
    std::uint64_t turn = 0;
    for (const std::string& data : adversarial::names()) {
        for (const kith::ElementType type : arrays::element_types) {
            const std::int64_t n = 190 + static_cast<std::int64_t>(turn % 5),
                               d = 1 + static_cast<std::int64_t>(turn % 37), q = turn % 3 ? 33 : 9;
            const auto set = adversarial::make(data, n, q, d, turn);
            const auto points = arrays::make(set.points, n, d, type, arrays::shapes[turn % 3]);
            const auto queries = arrays::make(set.queries, q, d, type, arrays::shapes[(turn + 1) % 3]);
            kith::Metric metric = kith::MetricId::formula;
            metric.formula = turn % 2 ? "a + fabs(q - x)" : "max(a, (q - x) * (q - x))";
            ++turn;
            const auto cpu = kith::search(points.view, queries.view, n + 1, with(metric, "cpu"));
            const auto gpu = kith::search(points.view, queries.view, n + 1, with(metric, "cuda"));
            ASSERT_TRUE(same_answer(cpu, gpu)) << data << ' ' << kith::name(type) << ' ' << d;
            const auto wanted = kith::graph(points.view, n, with(metric, "cpu"));
            const auto graph = kith::graph(points.view, n, with(metric, "cuda"));
            ASSERT_TRUE(same_answer(wanted, graph)) << data << ' ' << kith::name(type) << ' ' << d;
        }
    }
}

TEST(GpuFormula, IsCancelledBetweenTiles) {
    const auto set = adversarial::make("gaussian", 3000, 500, 20, 1);
    const auto points = arrays::make(set.points, 3000, 20, kith::ElementType::f32);
    const auto queries = arrays::make(set.queries, 500, 20, kith::ElementType::f32);
    kith::Metric metric = kith::MetricId::formula;
    metric.formula = "a + fabs(q - x)";
    kith::Options options = with(metric, "cuda");
    options.memory = 4 << 20;
    const auto wanted = kith::search(points.view, queries.view, 7, options);
    const int between = kith::ProgressMeter::milliseconds_between.exchange(0);
    int polls = 0;
    options.progress = [&](const kith::Progress&) { return ++polls < 3; };
    try {
        kith::search(points.view, queries.view, 7, options);
        ADD_FAILURE() << "not cancelled after " << polls << " polls";
    } catch (const kith::Error& error) {
        EXPECT_EQ(kith::ErrorCode::cancelled, error.code()) << error.what();
    }
    kith::ProgressMeter::milliseconds_between = between;
    options.progress = {};
    EXPECT_EQ(wanted.ids, kith::search(points.view, queries.view, 7, options).ids);
}

// The values of one formula for every pair of a query and a point, by one coordinate and by several.
void expect_bits_of_the_cpu(const std::string& text, formula_cases::Generator& random) {
    for (const std::int64_t d : {1, 4}) {
        constexpr std::int64_t n = 300, q = 24;
        std::vector<double> points, queries;
        const auto fill = [&](std::vector<double>& values, std::int64_t count) {
            while (static_cast<std::int64_t>(values.size()) < count) {
                const double value = random.value();
                if (!std::isnan(value)) values.push_back(value);
            }
        };
        fill(points, n * d);
        fill(queries, q * d);
        // For formulas that choose by the query's value.
        for (std::int64_t i = 0; i < q / 2; ++i)
            queries[static_cast<std::size_t>(i * d)] = 0.5 * static_cast<double>(i);
        kith::Metric metric = kith::MetricId::formula;
        metric.formula = text;
        metric.start = 0.75;
        const auto x = kith::view(points.data(), n, d), y = kith::view(queries.data(), q, d);
        const auto cpu = kith::search(x, y, n, with(metric, "cpu")), gpu = kith::search(x, y, n, with(metric, "cuda"));
        ASSERT_EQ(cpu.ids, gpu.ids) << text;
        for (std::size_t i = 0; i < cpu.distances64.size(); ++i)
            ASSERT_TRUE(formula_cases::same_bits(cpu.distances64[i], gpu.distances64[i]))
                << text << ": " << cpu.distances64[i] << " and " << gpu.distances64[i];
    }
}

class RandomFormulas : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomFormulas, HaveTheBitsOfTheCpu) {
    formula_cases::Generator random(GetParam());
    expect_bits_of_the_cpu(random.text(random.expression(4 + static_cast<int>(GetParam() % 3))), random);
}
INSTANTIATE_TEST_SUITE_P(GpuFormula, RandomFormulas, testing::Range<std::uint64_t>(0, 16));

// Several in one kernel: the query's value says which.
class SeveralFormulas : public testing::TestWithParam<std::uint64_t> {};

TEST_P(SeveralFormulas, HaveTheBitsOfTheCpu) {
    formula_cases::Generator random(GetParam());
    std::string text;
    for (int i = 0; i < 6; ++i)
        text += "q <= " + std::to_string(i) + " ? (" + random.text(random.expression(4)) + ") : ";
    expect_bits_of_the_cpu(text + random.text(random.expression(4), 1), random);
}
INSTANTIATE_TEST_SUITE_P(GpuFormula, SeveralFormulas, testing::Range<std::uint64_t>(100, 112));

TEST(GpuFormula, NumbersAreDoublesAndTheOrderIsAsWritten) {
    formula_cases::Generator random(7);
    expect_bits_of_the_cpu("a + ((x + 1e16) - 1e16)", random);
    expect_bits_of_the_cpu("a + 1/3 * fabs(q - x) + 010 + 5e-324", random);
    expect_bits_of_the_cpu("a + q * x + 1e308*10 * (x > 1e16) + min(q, -0.0) / max(x, 0)", random);
}

TEST(GpuFormula, RefusesWhatIsNone) {
    const float values[] = {1, 2, 3, 4};
    for (const char* text : {"", " ", "a +", "a + b", "a; q", "sin(a)"}) {
        kith::Metric metric = kith::MetricId::formula;
        metric.formula = text;
        try {
            kith::search(kith::view(values, 2, 2), kith::view(values, 1, 2), 1, with(metric, "cuda"));
            ADD_FAILURE() << "accepted: " << text;
        } catch (const kith::Error& error) {
            EXPECT_EQ(kith::ErrorCode::invalid_argument, error.code()) << error.what();
        }
    }
}

TEST(GpuFunctor, NeedsItsDeviceSide) {
    const auto f = [](double a, double q, double x) { return a + std::fabs(q - x); };
    const kith::FunctorMetric functor = kith::functor_metric(f);
    kith::Metric metric = kith::MetricId::functor;
    metric.functor = &functor;
    const float values[] = {1, 2, 3, 5};
    const auto points = kith::view(values, 4, 1);
    EXPECT_THROW(kith::search(points, points, 1, with(metric, "cuda")), kith::Error);
    const auto got = kith::search(points, points, 2, with(metric, "auto"));
    EXPECT_EQ((std::vector<std::int64_t>{0, 1, 1, 0, 2, 1, 3, 2}), got.ids);
    EXPECT_EQ(0u, got.report.device.find("cpu")) << got.report.device;
}

}  // namespace
