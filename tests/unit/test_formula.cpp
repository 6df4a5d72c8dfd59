// Metrics of the caller's own, a text or a functor, against the built-in ones and against their definition: the running
// value over coordinates 0, 1, ..., d - 1 in binary64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kith/functor.h"
#include "search_cases.h"

namespace {

struct Data {
    arrays::Array points, queries;
};

Data make(const std::string& name, kith::ElementType type, arrays::Shape shape = arrays::Shape::dense) {
    const auto set = adversarial::make(name, 200, 13, 37, 5);
    return {arrays::make(set.points, 200, 37, type, shape), arrays::make(set.queries, 13, 37, type, shape)};
}

kith::Options on_cpu(const kith::Metric& metric, bool f64 = true) {
    kith::Options options;
    options.device = "cpu";
    options.metric = metric;
    options.f64 = f64;
    return options;
}

kith::Metric formula(const std::string& text, double start = 0) {
    kith::Metric metric = kith::MetricId::formula;
    metric.formula = text;
    metric.start = start;
    return metric;
}

// The k nearest by definition of the running value.
template <class Step>
kith::Neighbors by_definition(const Data& data, std::int64_t k, Step step, double start, bool graph = false) {
    const oracle::Matrix points = oracle::decode(data.points.view);
    const oracle::Matrix queries = graph ? points : oracle::decode(data.queries.view);
    kith::Neighbors out;
    for (std::int64_t row = 0; row < queries.rows; ++row) {
        std::vector<std::pair<double, std::int64_t>> found;
        for (std::int64_t id = 0; id < points.rows; ++id) {
            const bool nan =
                oracle::has_nan(points.row(id), points.cols) || oracle::has_nan(queries.row(row), points.cols);
            if (nan || (graph && id == row)) continue;
            double a = start;
            for (std::int64_t j = 0; j < points.cols; ++j) a = step(a, queries.row(row)[j], points.row(id)[j]);
            found.push_back({std::isnan(a) ? oracle::infinity : a, id});
        }
        std::sort(found.begin(), found.end());
        found.resize(k, {oracle::infinity, -1});
        for (const auto& [distance, id] : found) {
            out.ids.push_back(id);
            out.distances64.push_back(distance);
        }
    }
    return out;
}

void expect_same(const kith::Neighbors& want, const kith::Neighbors& got, const std::string& label) {
    EXPECT_EQ(want.ids, got.ids) << label;
    EXPECT_EQ(want.distances64, got.distances64) << label;
}

TEST(Formula, IsTheBuiltInMetricWhereSumsAreExact) {
    // Small integers: every order of summation gives the same bits.
    for (const auto type : arrays::element_types) {
        const Data data = make("integers", type, arrays::Shape::strided);
        const std::pair<const char*, kith::MetricId> same[] = {
            {"a + fabs(q - x)", kith::MetricId::cityblock},
            {"a + abs(q-x)", kith::MetricId::cityblock},
            {"max(a, fabs(q - x))", kith::MetricId::chebyshev},
            {"q - x > a ? q - x : (x - q > a ? x - q : a)", kith::MetricId::chebyshev},
            {"a + (q - x) * (q - x)", kith::MetricId::sqeuclidean},
            {"a + pow(q - x, 2)", kith::MetricId::sqeuclidean},
        };
        for (const auto& [text, id] : same) {
            const auto want = kith::search(data.points.view, data.queries.view, 20, on_cpu(id));
            const auto got = kith::search(data.points.view, data.queries.view, 20, on_cpu(formula(text)));
            expect_same(want, got, std::string(text) + " " + kith::name(type));
        }
    }
}

TEST(Formula, IsItsDefinition) {
    for (const char* name : {"gaussian", "nan_rows", "infinities", "offset", "denormals"}) {
        for (const auto type : {kith::ElementType::f64, kith::ElementType::f16}) {
            const Data data = make(name, type, arrays::Shape::column_major);
            const auto step = [](double a, double q, double x) { return a + std::fabs(q - x) / (1 + std::fabs(x)); };
            const auto got = kith::search(data.points.view, data.queries.view, 30,
                                          on_cpu(formula("a + fabs(q - x) / (1 + fabs(x))", 2.5)));
            expect_same(by_definition(data, 30, step, 2.5), got, name);
            const auto graph =
                kith::graph(data.points.view, 9, on_cpu(formula("a + fabs(q - x) / (1 + fabs(x))", 2.5)));
            expect_same(by_definition(data, 9, step, 2.5, true), graph, name);
        }
    }
}

TEST(Formula, KnowsItsFunctions) {
    const Data data = make("probabilities", kith::ElementType::f64);
    const auto got = kith::search(data.points.view, data.queries.view, 5,
                                  on_cpu(formula("a + fmin(sqrt(q), exp(x)) * log(2 + x) - fmax(min(q, x), 0)")));
    const auto step = [](double a, double q, double x) {
        return a + std::fmin(std::sqrt(q), std::exp(x)) * std::log(2 + x) - std::fmax(std::fmin(q, x), 0);
    };
    const auto want = by_definition(data, 5, step, 0);
    for (std::size_t i = 0; i < want.ids.size(); ++i) EXPECT_NEAR(want.distances64[i], got.distances64[i], 1e-13);
}

TEST(Formula, ManyThreadsAndPointsGiveTheSameBits) {
    const auto set = adversarial::make("gaussian", 5000, 3, 5, 5);
    const auto points = arrays::make(set.points, 5000, 5, kith::ElementType::f32);
    const auto queries = arrays::make(set.queries, 3, 5, kith::ElementType::f32);
    kith::Options options = on_cpu(formula("a + fabs(q - x)"));
    options.threads = 1;
    const auto one = kith::search(points.view, queries.view, 40, options);
    options.threads = 2;
    expect_same(one, kith::search(points.view, queries.view, 40, options), "2 threads");
    const kith::Index index(points.view, options);
    kith::Options again;
    again.f64 = true;
    expect_same(one, index.search(queries.view, 40, again), "index");
}

TEST(Formula, RefusesWhatIsNone) {
    const Data data = make("integers", kith::ElementType::f32);
    for (const char* text : {"", " ", "a +", "a + b", "a + fabs(q - x", "a; q", "a = q", "sin(a)", "a + fabs(q, x)",
                             "\"a\"", "a ^ 2", "q, x", "a + q x"}) {
        try {
            kith::search(data.points.view, data.queries.view, 1, on_cpu(formula(text)));
            ADD_FAILURE() << "accepted: " << text;
        } catch (const kith::Error& error) {
            EXPECT_EQ(kith::ErrorCode::invalid_argument, error.code());
            const std::string message = error.what();
            EXPECT_NE(std::string::npos, message.find("formula: '" + std::string(text) + "'")) << message;
            EXPECT_NE(std::string::npos, message.find("expected")) << message;
        }
    }
    kith::Options forced = on_cpu(formula("a + fabs(q - x)"));
    forced.path = "gemm-f32";
    EXPECT_THROW(kith::search(data.points.view, data.queries.view, 1, forced), kith::Error);
}

struct Cityblock {
    double operator()(double a, double q, double x) const { return a + std::fabs(q - x); }
};

TEST(Functor, IsItsDefinition) {
    const Cityblock f;
    const kith::FunctorMetric functor = kith::functor_metric(f, 1.0);
    kith::Metric metric = kith::MetricId::functor;
    metric.functor = &functor;
    for (const char* name : {"gaussian", "integers", "nan_rows", "infinities"}) {
        for (const auto type : arrays::element_types) {
            const Data data = make(name, type, arrays::Shape::strided);
            const auto got = kith::search(data.points.view, data.queries.view, 210, on_cpu(metric));
            expect_same(by_definition(data, 210, f, 1.0), got, name);
            expect_same(by_definition(data, 4, f, 1.0, true), kith::graph(data.points.view, 4, on_cpu(metric)), name);
        }
    }
}

TEST(Functor, MayHoldState) {
    const std::vector<double> price = {7, 3, 5};
    // Categories: what it costs to turn one into the other.
    const auto f = [&price](double a, double q, double x) {
        return q == x ? a : a + price[static_cast<std::size_t>(q)] + price[static_cast<std::size_t>(x)];
    };
    const kith::FunctorMetric functor = kith::functor_metric(f);
    kith::Metric metric = kith::MetricId::functor;
    metric.functor = &functor;
    const std::uint8_t points[] = {0, 0, 1, 2, 1, 1, 0, 2};
    const std::uint8_t query[] = {0, 1};
    const auto got = kith::search(kith::view(points, 4, 2), kith::view(query, 1, 2), 4, on_cpu(metric));
    EXPECT_EQ((std::vector<std::int64_t>{3, 0, 2, 1}), got.ids);
    EXPECT_EQ((std::vector<double>{8, 10, 10, 18}), got.distances64);
}

}  // namespace
