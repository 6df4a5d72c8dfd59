// Estimators of information: by their definitions in plain loops, by values that are known, and what they refuse.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "kith/estimators.h"
#include "kith/kith.h"
#include "samples.h"

namespace {

using namespace kith;
using namespace samples;

// psi by its recurrence up to where the logarithm is exact enough.
double psi(std::int64_t n) {
    long double shift = 0, x = static_cast<long double>(n);
    for (; x < 200; x += 1) shift += 1 / x;
    return static_cast<double>(std::log(x) - 1 / (2 * x) - 1 / (12 * x * x) + 1 / (120 * x * x * x * x) - shift);
}

double maximum_norm(const Table& t, std::int64_t i, std::int64_t j) {
    double most = 0;
    for (std::int64_t c = 0; c < t.d; ++c) most = std::max(most, std::fabs(t.at(i, c) - t.at(j, c)));
    return most;
}
double euclidean(const Table& a, std::int64_t i, const Table& b, std::int64_t j) {
    double sum = 0;
    for (std::int64_t c = 0; c < a.d; ++c) sum += (a.at(i, c) - b.at(j, c)) * (a.at(i, c) - b.at(j, c));
    return std::sqrt(sum);
}
double kth(std::vector<double> distances, std::int64_t k) {
    std::sort(distances.begin(), distances.end());
    return distances[static_cast<std::size_t>(k - 1)];
}
std::vector<double> to_others(std::int64_t n, std::int64_t i, const std::function<double(std::int64_t)>& distance) {
    std::vector<double> out;
    for (std::int64_t j = 0; j < n; ++j)
        if (j != i) out.push_back(distance(j));
    return out;
}
std::int64_t closer(const Table& t, std::int64_t i, double r, bool open) {
    std::int64_t count = 0;
    for (std::int64_t j = 0; j < t.n; ++j)
        if (j != i && (open ? maximum_norm(t, i, j) < r : maximum_norm(t, i, j) <= r)) ++count;
    return count;
}
double entropy_by_definition(const Table& x, std::int64_t k) {
    double sum = 0;
    for (std::int64_t i = 0; i < x.n; ++i)
        sum += std::log(kth(to_others(x.n, i, [&](auto j) { return euclidean(x, i, x, j); }), k));
    const double d = static_cast<double>(x.d);
    return psi(x.n) - psi(k) + d / 2 * std::log(std::acos(-1.0)) - std::lgamma(1 + d / 2) +
           d * sum / static_cast<double>(x.n);
}

TEST(Entropy, IsItsDefinition) {
    for (const std::int64_t d : {1, 2, 5}) {
        for (const std::int64_t k : {1, 4}) {
            const Table x = gaussian(300, d, 3);
            const Estimate got = entropy(x.view(), k, on_cpu());
            EXPECT_NEAR(entropy_by_definition(x, k), got.value, 1e-11);
            EXPECT_EQ(300, got.samples);
            EXPECT_EQ(0, got.left_out);
        }
    }
}

// Of Gaussians and of the uniform distribution, in each metric's own ball.
TEST(Entropy, OfDistributionsThatAreKnown) {
    const double pi = std::acos(-1.0);
    for (const std::int64_t d : {1, 2, 3}) {
        const Table x = gaussian(20'000, d, 1, 5, 2);
        const double want = static_cast<double>(d) / 2 * std::log(2 * pi * std::exp(1.0) * 4);
        for (const MetricId metric : {MetricId::euclidean, MetricId::cityblock, MetricId::chebyshev}) {
            const Estimate got = entropy(x.view(), 4, on_cpu(metric), {.repeats = 3});
            EXPECT_NEAR(want, got.value, 6 * got.error + 0.01) << d;
            EXPECT_LT(got.error, 0.02);
        }
        Options third = on_cpu(MetricId::minkowski);
        third.metric.p = 3;
        EXPECT_NEAR(want, entropy(x.view(), 4, third).value, 0.05);
    }
}

TEST(Entropy, LeavesEqualSamplesOut) {
    Table x = gaussian(200, 2, 5);
    for (std::size_t i = 0; i < 20; ++i) x.values[i] = 7;  // ten equal rows
    const Estimate got = entropy(x.view(), 3, on_cpu());
    EXPECT_EQ(10, got.left_out);
    EXPECT_EQ(190, got.samples);
    EXPECT_TRUE(std::isfinite(got.value));
    // Those of nine others: none is at k 10.
    EXPECT_EQ(0, entropy(x.view(), 10, on_cpu()).left_out);
    const Table same{5, 1, {1, 1, 1, 1, 1}};
    EXPECT_THROW(entropy(same.view(), 2, on_cpu()), Error);
}

// Of any scale; an estimate shifts by the logarithm of a power of two, and by no rounding besides.
TEST(Entropy, OfVerySmallAndVeryLargeValues) {
    const Table x = gaussian(100, 2, 9);
    const double want = entropy(x.view(), 3, on_cpu()).value;
    for (const int exponent : {-900, -600, 600, 1018}) {
        Table scaled = x;
        for (double& v : scaled.values) v = std::ldexp(v, exponent);
        EXPECT_NEAR(want + 2 * exponent * std::log(2.0), entropy(scaled.view(), 3, on_cpu()).value, 1e-9) << exponent;
        EXPECT_EQ(mutual_information(x.view(), x.view(), 3, {}, on_cpu()).value,
                  mutual_information(scaled.view(), scaled.view(), 3, {}, on_cpu()).value);
        EXPECT_EQ(kl_divergence(x.view(), gaussian(90, 2, 10).view(), 3, {}, on_cpu()).value, [&] {
            Table y = gaussian(90, 2, 10);
            for (double& v : y.values) v = std::ldexp(v, exponent);
            return kl_divergence(scaled.view(), y.view(), 3, {}, on_cpu()).value;
        }());
    }
    // A large power has distances where it has no distance keys: nearly the largest difference.
    Options power = on_cpu(MetricId::minkowski);
    power.metric.p = 2000;
    EXPECT_NEAR(entropy(x.view(), 1, on_cpu(MetricId::chebyshev)).value, entropy(x.view(), 1, power).value, 0.01);
}

TEST(KlDivergence, IsItsDefinition) {
    const Table x = gaussian(250, 3, 7), y = gaussian(400, 3, 8, 0.5, 1.5);
    for (const std::int64_t k : {1, 5}) {
        double nearest = 0, ball = 0, distances = 0;
        for (std::int64_t i = 0; i < x.n; ++i) {
            const std::vector<double> own = to_others(x.n, i, [&](auto j) { return euclidean(x, i, x, j); }),
                                      other = to_others(y.n, -1, [&](auto j) { return euclidean(x, i, y, j); });
            const double e = kth(own, k), v = kth(other, k), r = std::max(e, v);
            double last_own = 0, last_other = 0;
            std::int64_t in_own = 0, in_other = 0;
            for (const double at : own)
                if (at <= r) ++in_own, last_own = std::max(last_own, at);
            for (const double at : other)
                if (at <= r) ++in_other, last_other = std::max(last_other, at);
            nearest += 3 * std::log(v / e);
            ball += psi(in_own) - psi(in_other);
            distances += 3 * std::log(last_other / last_own) + psi(in_own) - psi(in_other);
        }
        const double shift = std::log(400.0 / 249.0);
        const auto got = [&](DivergenceForm form) {
            return kl_divergence(x.view(), y.view(), k, form, on_cpu()).value;
        };
        EXPECT_NEAR(nearest / 250 + shift, got(DivergenceForm::nearest), 1e-11);
        EXPECT_NEAR(ball / 250 + shift, got(DivergenceForm::common_ball), 1e-11);
        EXPECT_NEAR(distances / 250 + shift, got(DivergenceForm::common_ball_distances), 1e-11);
    }
}

// Two Gaussians: log(s2 / s1) + (s1^2 + (m1 - m2)^2) / (2 s2^2) - 1 / 2 a dimension.
TEST(KlDivergence, ConvergesForGaussians) {
    const double want = 2 * (std::log(1.5) + (1 + 0.25) / (2 * 2.25) - 0.5);
    double before = 1;
    for (const std::int64_t n : {500, 20'000}) {
        const Table x = gaussian(n, 2, 11), y = gaussian(n, 2, 12, 0.5, 1.5);
        for (const auto form :
             {DivergenceForm::nearest, DivergenceForm::common_ball, DivergenceForm::common_ball_distances}) {
            const Estimate got = kl_divergence(x.view(), y.view(), 5, form, on_cpu(), {.repeats = 3});
            EXPECT_NEAR(want, got.value, 6 * got.error + 0.01) << n;
            EXPECT_LT(got.error, before);
        }
        before = 0.03;
    }
    const Table x = gaussian(500, 2, 13);
    EXPECT_NEAR(0, kl_divergence(x.view(), gaussian(500, 2, 14).view(), 3, {}, on_cpu()).value, 0.2);
}

// Samples of x that lie in y as well.
TEST(KlDivergence, LeavesEqualSamplesOut) {
    const Table x = gaussian(100, 2, 15);
    Table y = gaussian(120, 2, 16);
    std::copy_n(x.values.begin(), 2 * 7, y.values.begin());
    const Estimate got = kl_divergence(x.view(), y.view(), 1, {}, on_cpu());
    EXPECT_EQ(7, got.left_out);
    EXPECT_TRUE(std::isfinite(got.value));
}

double mutual_by_definition(const Table& x, const Table& y, std::int64_t k, KraskovForm form) {
    const Table all = beside(x, y);
    double sum = 0;
    for (std::int64_t i = 0; i < x.n; ++i) {
        std::vector<std::pair<double, std::int64_t>> order;
        for (std::int64_t j = 0; j < x.n; ++j)
            if (j != i) order.emplace_back(maximum_norm(all, i, j), j);
        std::sort(order.begin(), order.end());
        const double e = order[static_cast<std::size_t>(k - 1)].first;
        if (e == 0) {
            sum += psi(closer(all, i, 0, false)) - psi(closer(x, i, 0, false) + 1) - psi(closer(y, i, 0, false) + 1);
        } else if (form == KraskovForm::first) {
            sum += psi(k) - psi(closer(x, i, e, true) + 1) - psi(closer(y, i, e, true) + 1);
        } else {
            double in_x = 0, in_y = 0;
            for (std::int64_t j = 0; j < k; ++j) {
                in_x = std::max(in_x, maximum_norm(x, i, order[static_cast<std::size_t>(j)].second));
                in_y = std::max(in_y, maximum_norm(y, i, order[static_cast<std::size_t>(j)].second));
            }
            sum +=
                psi(k) - 1 / static_cast<double>(k) - psi(closer(x, i, in_x, false)) - psi(closer(y, i, in_y, false));
        }
    }
    return psi(x.n) + sum / static_cast<double>(x.n);
}

// One and several dimensions, continuous, with ties, and discrete.
TEST(MutualInformation, IsItsDefinition) {
    for (const std::int64_t d : {1, 3}) {
        for (const double step : {0.0, 0.25, 2.0}) {
            Table x = gaussian(220, d, 21), y = gaussian(220, 1, 22);
            for (std::int64_t i = 0; i < y.n; ++i) y.values[static_cast<std::size_t>(i)] += x.at(i, 0);
            if (step > 0) {
                x = rounded(x, step);
                y = rounded(y, step);
            }
            for (const KraskovForm form : {KraskovForm::first, KraskovForm::second})
                for (const std::int64_t k : {1, 3})
                    EXPECT_NEAR(mutual_by_definition(x, y, k, form),
                                mutual_information(x.view(), y.view(), k, form, on_cpu()).value, 1e-11)
                        << d << ", " << step << ", " << k;
        }
    }
}

// Variables in units ever so far apart: the smaller one's values are counted as they are.
TEST(MutualInformation, OfVariablesOfVeryDifferentSizes) {
    Table x = gaussian(150, 2, 23), y = gaussian(150, 1, 24);
    for (std::int64_t i = 0; i < y.n; ++i) y.values[static_cast<std::size_t>(i)] += x.at(i, 0);
    for (const bool discrete : {false, true}) {
        if (discrete) {
            x = rounded(x, 1);
            y = rounded(y, 1);
        }
        for (const auto& [of_x, of_y] : {std::pair{1e150, 1e-300}, {1e307, 1e-310}, {1e-300, 1e150}, {1e200, 1e-5}}) {
            Table large = x, small = y;
            for (double& v : large.values) v *= of_x;
            for (double& v : small.values) v *= of_y;
            for (const KraskovForm form : {KraskovForm::first, KraskovForm::second})
                EXPECT_NEAR(mutual_by_definition(large, small, 3, form),
                            mutual_information(large.view(), small.view(), 3, form, on_cpu()).value, 1e-11)
                    << discrete << " " << of_x;
        }
    }
    // Differences that overflow, of values that no power of two brings closer without rounding others.
    x.values[0] = -1.5e308;
    x.values[1] = 1.5e308;
    y.values[3] = 3e-310;
    try {
        mutual_information(x.view(), y.view(), 3, {}, on_cpu());
        FAIL();
    } catch (const Error& error) {
        EXPECT_NE(std::string::npos, std::string(error.what()).find("3e-310 to 1.5e+308")) << error.what();
    }
}

TEST(MutualInformation, OfGaussiansIsKnown) {
    const std::int64_t n = 20'000;
    for (const double correlation : {0.0, 0.6, 0.95}) {
        const Table x = gaussian(n, 1, 31);
        Table y = gaussian(n, 1, 32);
        for (std::size_t i = 0; i < y.values.size(); ++i)
            y.values[i] = correlation * x.values[i] + std::sqrt(1 - correlation * correlation) * y.values[i];
        const double want = -0.5 * std::log(1 - correlation * correlation);
        for (const KraskovForm form : {KraskovForm::first, KraskovForm::second})
            EXPECT_NEAR(want, mutual_information(x.view(), y.view(), 4, form, on_cpu()).value, 0.03) << correlation;
    }
}

// Of a fair die and whether it is even: log 2.
TEST(MutualInformation, OfDiscreteVariables) {
    Table die{6000, 1, {}}, even{6000, 1, {}};
    for (int i = 0; i < 6000; ++i) {
        die.values.push_back(i % 6);
        even.values.push_back(i % 2);
    }
    EXPECT_NEAR(std::log(2.0), mutual_information(die.view(), even.view(), 3, {}, on_cpu()).value, 0.002);
}

TEST(ConditionalMutualInformation, IsItsDefinition) {
    for (const double step : {0.0, 0.5}) {
        Table x = gaussian(200, 1, 41), y = gaussian(200, 2, 42), z = gaussian(200, 1, 43);
        for (std::int64_t i = 0; i < z.n; ++i) y.values[static_cast<std::size_t>(2 * i)] += x.at(i, 0) + z.at(i, 0);
        if (step > 0) {
            x = rounded(x, step);
            y = rounded(y, step);
            z = rounded(z, step);
        }
        const Table all = beside(beside(x, y), z), xz = beside(x, z), yz = beside(y, z);
        double sum = 0;
        for (std::int64_t i = 0; i < x.n; ++i) {
            const double e = kth(to_others(x.n, i, [&](auto j) { return maximum_norm(all, i, j); }), 3);
            const bool open = e > 0;
            sum += psi(open ? 3 : closer(all, i, 0, false)) - psi(closer(xz, i, e, open) + 1) -
                   psi(closer(yz, i, e, open) + 1) + psi(closer(z, i, e, open) + 1);
        }
        EXPECT_NEAR(sum / 200, conditional_mutual_information(x.view(), y.view(), z.view(), 3, on_cpu()).value, 1e-11);
    }
}

// y follows x by one step; x does not follow y.
TEST(TransferEntropy, KnowsTheDirection) {
    const std::int64_t n = 5000;
    const Table x = gaussian(n, 1, 51);
    Table y = gaussian(n, 1, 52);
    for (std::size_t i = 1; i < y.values.size(); ++i) y.values[i] = 0.8 * x.values[i - 1] + 0.6 * y.values[i];
    const double want = -0.5 * std::log(1 - 0.64);
    EXPECT_NEAR(want, transfer_entropy(x.view(), y.view(), 4, 1, 1, on_cpu()).value, 0.06);
    EXPECT_NEAR(0, transfer_entropy(y.view(), x.view(), 4, 1, 1, on_cpu()).value, 0.04);
    // Of two lags: the blocks of the past, as the definition has them.
    const auto tail = [&](const Table& t, std::int64_t first) {
        return Table{n - 2, 1, {t.values.begin() + first, t.values.begin() + first + n - 2}};
    };
    const Table past_x = beside(tail(x, 1), tail(x, 0));
    EXPECT_EQ(conditional_mutual_information(tail(y, 2).view(), past_x.view(), tail(y, 1).view(), 4, on_cpu()).value,
              transfer_entropy(x.view(), y.view(), 4, 2, 1, on_cpu()).value);
}

// Of a long past more than there is memory: said at once.
TEST(TransferEntropy, AsksForTheMemoryOfThePast) {
    const std::int64_t n = 4'000'000;
    const Table x{n, 1, std::vector<double>(static_cast<std::size_t>(n))};
    for (const bool of_source : {true, false}) {
        try {
            transfer_entropy(x.view(), x.view(), 3, of_source ? n / 2 : 1, of_source ? 1 : n / 2, on_cpu());
            FAIL();
        } catch (const Error& error) {
            EXPECT_EQ(ErrorCode::out_of_memory, error.code());
            EXPECT_NE(std::string::npos,
                      std::string(error.what()).find(of_source ? "source_lags: 2000000" : "target_lags: 2000000"))
                << error.what();
        }
    }
}

TEST(Estimators, TakeAnyElementTypeAndLayout) {
    Table x = rounded(gaussian(150, 2, 61), 0.125);
    std::vector<float> narrow(x.values.begin(), x.values.end()), columns(narrow.size());
    for (std::int64_t r = 0; r < x.n; ++r)
        for (std::int64_t c = 0; c < x.d; ++c)
            columns[static_cast<std::size_t>(c * x.n + r)] = static_cast<float>(x.at(r, c));
    const double want = entropy(x.view(), 12, on_cpu()).value;
    EXPECT_EQ(want, entropy(view(narrow.data(), x.n, x.d), 12, on_cpu()).value);
    EXPECT_EQ(want, entropy(view_column_major(columns.data(), x.n, x.d), 12, on_cpu()).value);
    for (const int threads : {1, 2, 5}) {
        Options options = on_cpu();
        options.threads = threads;
        EXPECT_EQ(want, entropy(x.view(), 12, options).value);
    }
}

TEST(Estimators, RefuseWhatMakesNoSense) {
    const Table x = gaussian(20, 2, 71), y = gaussian(20, 2, 72), short_y = gaussian(19, 2, 73);
    const auto refusal = [](const auto& call) -> std::string {
        try {
            call();
        } catch (const Error& error) {
            EXPECT_EQ(ErrorCode::invalid_argument, error.code()) << error.what();
            return error.what();
        }
        return "";
    };
    const auto says = [&](const char* words, const auto& call) {
        EXPECT_NE(std::string::npos, refusal(call).find(words)) << words << ": " << refusal(call);
    };
    says("k: 20", [&] { entropy(x.view(), 20, on_cpu()); });
    says("k: 0", [&] { entropy(x.view(), 0, on_cpu()); });
    says("'cosine'", [&] { entropy(x.view(), 3, on_cpu(MetricId::cosine)); });
    says("'seuclidean'", [&] { kl_divergence(x.view(), y.view(), 3, {}, on_cpu(MetricId::seuclidean)); });
    says("'sqeuclidean'", [&] { kl_divergence(x.view(), y.view(), 3, {}, on_cpu(MetricId::sqeuclidean)); });
    says("'euclidean'", [&] { mutual_information(x.view(), y.view(), 3, {}, on_cpu(MetricId::euclidean)); });
    says("19 samples", [&] { mutual_information(x.view(), short_y.view(), 3, {}, on_cpu()); });
    says("source_lags: 0", [&] { transfer_entropy(x.view(), y.view(), 3, 0, 1, on_cpu()); });
    says("k: 18", [&] { transfer_entropy(x.view(), y.view(), 18, 2, 1, on_cpu()); });
    Table bad = x;
    bad.values[7] = std::numeric_limits<double>::infinity();
    says("x: row 3, column 1", [&] { entropy(bad.view(), 3, on_cpu()); });
    says("y: 3 columns", [&] { kl_divergence(x.view(), gaussian(20, 3, 1).view(), 3, {}, on_cpu()); });
}

}  // namespace
