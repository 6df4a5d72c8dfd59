// The progress callback is asked during every stretch of work, and its refusal ends it.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "api/check/validate.h"
#include "api/run.h"
#include "cpu/backend.h"
#include "cpu/points/points.h"
#include "cpu/select/driver.h"
#include "exact/linear/cholesky.h"
#include "kith/error.h"
#include "kith/kith.h"

namespace {

using namespace kith;

class Cancel : public testing::Test {
protected:
    void SetUp() override { ProgressMeter::milliseconds_between = 0; }
    void TearDown() override { ProgressMeter::milliseconds_between = 100; }
};

// Counts the polls of a piece of work, and refuses at one of them.
class Watch {
public:
    explicit Watch(std::int64_t refuse_at = std::numeric_limits<std::int64_t>::max())
        : callback_([this, refuse_at](const Progress&) { return ++polls_ < refuse_at; }), meter(callback_, 1) {}
    std::int64_t polls() const { return polls_; }

private:
    std::int64_t polls_ = 0;
    std::function<bool(const Progress&)> callback_;

public:
    ProgressMeter meter;
};

// Work polls at least so often, and is cancelled by the poll that refuses, which is the last.
template <class Work>
void expect_watched(const char* what, std::int64_t least, const Work& work) {
    Watch all;
    work(all.meter);
    EXPECT_GE(all.polls(), least) << what;
    for (const std::int64_t at : {std::int64_t{1}, least / 2, least}) {
        if (at < 1) continue;
        Watch watch(at);
        try {
            work(watch.meter);
            watch.meter.throw_if_cancelled();
            ADD_FAILURE() << what << ": not cancelled at poll " << at;
        } catch (const Error& error) {
            EXPECT_EQ(ErrorCode::cancelled, error.code()) << what << ": " << error.what();
        }
        EXPECT_EQ(at, watch.polls()) << what;
    }
}

std::vector<float> random_values(std::int64_t count) {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<float> uniform;
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& v : values) v = uniform(random);
    return values;
}

// Diagonal dominance makes it positive definite.
std::vector<double> positive_definite(std::int64_t d) {
    std::vector<double> m(static_cast<std::size_t>(d * d), 0.25);
    for (std::int64_t i = 0; i < d; ++i) m[static_cast<std::size_t>(i * d + i)] = static_cast<double>(d);
    return m;
}

// For the caller alone, outside of a search.
TEST_F(Cancel, EstimatedParameters) {
    constexpr std::int64_t n = 2000, d = 40;
    const std::vector<float> points = random_values(n * d);
    for (const auto& estimate : {&inverse_covariance, &variances}) {
        Options options;
        std::int64_t polls = 0;
        options.progress = [&](const Progress&) { return ++polls, true; };
        EXPECT_EQ(estimate(view(points.data(), n, d), {}), estimate(view(points.data(), n, d), options));
        EXPECT_GT(polls, 1);
        options.progress = [&](const Progress&) { return false; };
        try {
            estimate(view(points.data(), n, d), options);
            ADD_FAILURE();
        } catch (const Error& error) {
            EXPECT_EQ(ErrorCode::cancelled, error.code()) << error.what();
        }
    }
}

TEST_F(Cancel, FactorAndInverse) {
    constexpr std::int64_t d = 300;
    std::vector<double> factor;
    for (const int threads : {1, 3})
        expect_watched("cholesky", d / 64, [&](ProgressMeter& meter) {
            factor = positive_definite(d);
            EXPECT_TRUE(exact::cholesky(factor, d, threads, meter));
        });
    factor = positive_definite(d);
    Watch silent;
    ASSERT_TRUE(exact::cholesky(factor, d, 1, silent.meter));
    expect_watched("inverse", d / 16, [&](ProgressMeter& meter) { exact::inverse_from_cholesky(factor, d, 1, meter); });
}

// What these were before they were cut into panels and groups: one sum per element, in order of k.
TEST_F(Cancel, FactorAndInverseAreSumsInOrder) {
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal;
    for (const std::int64_t d : {1, 2, 15, 16, 17, 63, 64, 65, 130, 200}) {
        const auto at = [d](std::int64_t i, std::int64_t j) { return static_cast<std::size_t>(i * d + j); };
        std::vector<double> a = positive_definite(d);
        for (std::int64_t i = 0; i < d; ++i)
            for (std::int64_t j = 0; j < i; ++j) a[at(i, j)] = normal(random) / 4;
        std::vector<double> l = a;
        for (std::int64_t j = 0; j < d; ++j) {
            for (std::int64_t i = j; i < d; ++i) {
                double sum = l[at(i, j)];
                for (std::int64_t k = 0; k < j; ++k) sum -= l[at(i, k)] * l[at(j, k)];
                l[at(i, j)] = i == j ? std::sqrt(sum) : sum / l[at(j, j)];
            }
        }
        std::vector<double> inverse(a.size());
        for (std::int64_t c = 0; c < d; ++c) {
            std::vector<double> v(static_cast<std::size_t>(d), 0.0);
            for (std::int64_t i = c; i < d; ++i) {
                double sum = i == c ? 1.0 : 0.0;
                for (std::int64_t k = c; k < i; ++k) sum -= l[at(i, k)] * v[static_cast<std::size_t>(k)];
                v[static_cast<std::size_t>(i)] = sum / l[at(i, i)];
            }
            for (std::int64_t i = d - 1; i >= c; --i) {
                double sum = v[static_cast<std::size_t>(i)];
                for (std::int64_t k = i + 1; k < d; ++k) sum -= l[at(k, i)] * v[static_cast<std::size_t>(k)];
                v[static_cast<std::size_t>(i)] = sum / l[at(i, i)];
                inverse[at(i, c)] = inverse[at(c, i)] = v[static_cast<std::size_t>(i)];
            }
        }
        for (const int threads : {1, 3}) {
            Watch silent;
            std::vector<double> factor = a;
            ASSERT_TRUE(exact::cholesky(factor, d, threads, silent.meter));
            EXPECT_EQ(l, factor) << d;
            EXPECT_EQ(inverse, exact::inverse_from_cholesky(factor, d, threads, silent.meter)) << d;
        }
    }
}

TEST_F(Cancel, AMatrixGivenToMahalanobis) {
    constexpr std::int64_t d = 300;
    const std::vector<float> points = random_values(4 * d);
    const std::vector<double> matrix = positive_definite(d);
    Metric metric = MetricId::mahalanobis;
    metric.inverse_covariance = view(matrix.data(), d, d);
    expect_watched("given", d / 64,
                   [&](ProgressMeter& meter) { api::validate_metric(metric, view(points.data(), 4, d), 2, meter); });
}

TEST_F(Cancel, ACovarianceEstimated) {
    constexpr std::int64_t n = 2000, d = 40;
    const std::vector<float> points = random_values(n * d);
    expect_watched("estimated", n / 256, [&](ProgressMeter& meter) {
        api::validate_metric(MetricId::mahalanobis, view(points.data(), n, d), 2, meter);
    });
}

TEST_F(Cancel, VariancesEstimated) {
    constexpr std::int64_t n = 20000, d = 40;
    const std::vector<float> points = random_values(n * d);
    const auto judged = [&](int threads, ProgressMeter& meter) {
        return *api::validate_metric(MetricId::seuclidean, view(points.data(), n, d), threads, meter).constants;
    };
    expect_watched("estimated", n >> 12, [&](ProgressMeter& meter) { judged(1, meter); });
    // One sum per column, in order of the rows.
    std::vector<double> mean(d), want(d);
    for (std::int64_t i = 0; i < n * d; ++i) mean[i % d] += points[i];
    for (double& m : mean) m /= n;
    for (std::int64_t i = 0; i < n * d; ++i) want[i % d] += (points[i] - mean[i % d]) * (points[i] - mean[i % d]);
    for (double& w : want) w = std::sqrt(w / (n - 1));
    Watch silent;
    for (const int threads : {1, 2, 7}) EXPECT_EQ(want, judged(threads, silent.meter)) << threads;
}

TEST_F(Cancel, ValuesChecked) {
    constexpr std::int64_t n = 20000, d = 40;
    const std::vector<float> points = random_values(n * d);
    const auto values = view(points.data(), n, d);
    Watch silent;
    const MetricSpec metric = api::validate_metric(MetricId::hellinger, values, 1, silent.meter);
    expect_watched("values", n * d >> 17,
                   [&](ProgressMeter& meter) { api::check_values(values, metric, "points", 1, meter); });
}

TEST_F(Cancel, PointsPreparedAndSearched) {
    constexpr std::int64_t n = 20000, d = 24;
    const std::vector<float> data = random_values(n * d);
    const auto points = view(data.data(), n, d);
    MetricSpec metric;
    metric.params.d = d;
    for (const Path path : {Path::exact, Path::gemm_f32}) {
        Plan plan;
        plan.path = path;
        plan.isa = "baseline";
        plan.threads = 1;
        expect_watched(name(path), n / 300,
                       [&](ProgressMeter& meter) { cpu::prepare(points, metric, plan, true, meter); });
        Watch silent;
        const auto prepared = cpu::prepare(points, metric, plan, true, silent.meter);
        for (const std::int64_t q : {1, 40}) {
            std::vector<std::int64_t> ids(static_cast<std::size_t>(q * 5));
            expect_watched(name(path), 2, [&](ProgressMeter& meter) {
                Report report;
                cpu::search(*prepared, view(data.data(), q, d), false, plan, meter,
                            cpu::Results(5, ids.data(), nullptr), report);
            });
        }
    }
}

TEST_F(Cancel, AFilterBeingMadeIsAskedForByTheCallback) {
    constexpr std::int64_t n = 2000, d = 24;
    const std::vector<float> data = random_values(n * d);
    MetricSpec metric;
    metric.params.d = d;
    Plan plan;
    plan.path = kith::Path::gemm_f32;
    plan.isa = "baseline";
    plan.threads = 1;
    Watch silent;
    const auto prepared = cpu::prepare(view(data.data(), n, d), metric, plan, false, silent.meter);
    std::vector<const cpu::Filter*> inner;
    const auto filter = [&](ProgressMeter& meter) {
        return prepared->filter(cpu::Isa::baseline, 1, cpu::Rounding::f32, meter);
    };
    const std::function<bool(const Progress&)> searches = [&](const Progress&) {
        if (inner.empty()) inner.push_back(filter(silent.meter));
        return true;
    };
    ProgressMeter meter(searches, 1);
    const cpu::Filter* const outer = filter(meter);
    ASSERT_EQ(1u, inner.size());
    EXPECT_NE(nullptr, outer);
    EXPECT_EQ(inner.front(), outer);
    EXPECT_TRUE(prepared->packed(cpu::Isa::baseline, cpu::Rounding::f32));
}

TEST_F(Cancel, ManyDimensionsArePolledMoreOften) {
    constexpr std::int64_t n = 3200, d = 8000, q = 40;
    const std::vector<float> data = random_values(n * d);
    MetricSpec metric;
    metric.params.d = d;
    Plan plan;
    plan.path = kith::Path::gemm_f32;
    plan.isa = "baseline";
    plan.threads = 1;
    Watch silent;
    const auto prepared = cpu::prepare(view(data.data(), n, d), metric, plan, true, silent.meter);
    std::vector<std::int64_t> ids(q * 5);
    Watch all;
    Report report;
    cpu::search(*prepared, view(data.data(), q, d), false, plan, all.meter, cpu::Results(5, ids.data(), nullptr),
                report);
    // A thousand million multiply-adds; fewer than 256 groups of 32 points in all.
    EXPECT_GE(all.polls(), 40);
}

TEST_F(Cancel, LongRowsSelected) {
    constexpr std::int64_t n = std::int64_t{1} << 26;
    const std::vector<float> row(static_cast<std::size_t>(n), 1.0f);
    Plan plan;
    plan.selector = "heap";
    plan.isa = "baseline";
    plan.threads = 1;
    std::vector<std::int64_t> ids(5);
    expect_watched("row", 2, [&](ProgressMeter& meter) {
        cpu::select(view(row.data(), 1, n), {.k = 5}, plan, meter, ids.data(), nullptr);
    });
}

TEST_F(Cancel, AGraphWithThePointsThemselves) {
    constexpr std::int64_t n = 700, d = 4;
    const std::vector<float> points = random_values(n * d);
    Options options;
    options.device = "cpu";
    options.include_self = true;
    const Index index(view(points.data(), n, d), options);
    std::vector<Neighbors> got;
    for (const int threads : {1, 5}) {
        options.threads = threads;
        options.progress = [&](const Progress& progress) {
            EXPECT_STREQ("search", progress.stage);
            return true;
        };
        got.push_back(index.graph(3, options));
        // Cancelled wherever it is, by the last of its polls too.
        if (threads > 1) continue;
        int all = 0, polls = 0;
        options.progress = [&](const Progress&) { return ++all > 0; };
        index.graph(3, options);
        for (const int at : {1, all / 2, all}) {
            polls = 0;
            options.progress = [&](const Progress&) { return ++polls < at; };
            EXPECT_THROW(index.graph(3, options), Error) << at;
            EXPECT_EQ(at, polls);
        }
    }
    EXPECT_EQ(got[0].ids, got[1].ids);
    EXPECT_EQ(got[0].distances, got[1].distances);
}

// A call is planned anew where a device's memory does not suffice, not where the callback itself says that.
TEST_F(Cancel, ACallbackThatRunsOutOfMemoryEndsTheCall) {
    bool throws = false;
    const std::function<bool(const Progress&)> callback = [&](const Progress&) -> bool {
        if (throws) throw Error(ErrorCode::out_of_memory, "the callback's");
        return true;
    };
    for (const bool of_callback : {false, true}) {
        throws = of_callback;
        ProgressMeter meter(callback, 1);
        std::vector<double> shares;
        try {
            api::with_less_memory(meter, [&](double share, bool& allocating) -> int {
                shares.push_back(share);
                allocating = true;
                meter.poll("search");
                meter.throw_if_cancelled();
                throw Error(ErrorCode::out_of_memory, "the device's");
            });
            ADD_FAILURE() << "nothing was thrown";
        } catch (const Error& error) {
            EXPECT_STREQ(of_callback ? "the callback's" : "the device's", error.what());
        }
        EXPECT_EQ(of_callback ? std::vector<double>{1} : (std::vector<double>{1, 0.5, 0.25}), shares);
    }
}

TEST_F(Cancel, AnIndexBeingBuilt) {
    constexpr std::int64_t n = 200, d = 100;
    const std::vector<float> points = random_values(n * d);
    const std::vector<double> matrix = positive_definite(d);
    Options options;
    options.device = "cpu";
    options.metric = MetricId::mahalanobis;
    options.metric.inverse_covariance = view(matrix.data(), d, d);
    int calls = 0;
    options.progress = [&](const Progress& progress) {
        ++calls;
        EXPECT_STREQ("prepare", progress.stage);
        return false;
    };
    try {
        const Index index(view(points.data(), n, d), options);
        ADD_FAILURE() << "not cancelled";
    } catch (const Error& error) {
        EXPECT_EQ(ErrorCode::cancelled, error.code());
    }
    EXPECT_EQ(1, calls);
}

}  // namespace
