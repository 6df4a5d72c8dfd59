// The caller's own metrics on CUDA: a formula gives the bits of the CPU; a functor without a device side is refused.
#include <cmath>

#include "formula_cases.h"
#include "kith/functor.h"
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
            ASSERT_EQ(cpu.ids, gpu.ids) << data << ": " << text;
            ASSERT_EQ(cpu.distances64, gpu.distances64) << data << ": " << text;
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
    EXPECT_EQ(cpu.ids, gpu.ids);
    EXPECT_EQ(cpu.distances64, gpu.distances64);
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
