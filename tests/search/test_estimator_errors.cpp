// Errors of the estimators: by their definition, beside the spread over samples drawn anew, and what they refuse.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "exact/report/progress.h"
#include "kith/c.h"
#include "kith/estimators.h"
#include "samples.h"

namespace {

using namespace kith;
using namespace samples;

Table rows(const Table& of, std::int64_t first, std::int64_t n) {
    const auto from = of.values.begin() + first * of.d;
    return {n, of.d, {from, from + n * of.d}};
}

double deviation(const std::vector<double>& values) {
    const double n = static_cast<double>(values.size());
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
    double squares = 0;
    for (const double v : values) squares += (v - mean) * (v - mean);
    return std::sqrt(squares / (n - 1));
}

double entropy_of(const Table& x, std::int64_t k) {
    return entropy(x.view(), k, on_cpu()).value;
}

TEST(EstimatorErrors, AreNotANumberUntilAskedFor) {
    const Table x = gaussian(50, 2, 1), y = gaussian(50, 1, 2);
    EXPECT_TRUE(std::isnan(entropy(x.view(), 3, on_cpu()).error));
    EXPECT_TRUE(std::isnan(kl_divergence(x.view(), x.view(), 3, {}, on_cpu()).error));
    EXPECT_TRUE(std::isnan(transfer_entropy(x.view(), y.view(), 3, 1, 1, on_cpu()).error));
}

// Stretches as long as a part leave one way to deal: the deviation of the parts' estimates over the root of their
// number.
TEST(EstimatorErrors, AreTheDeviationOfTheParts) {
    for (const std::int64_t parts : {2, 3, 5}) {
        const std::int64_t size = 40, n = parts * size;
        const Table x = gaussian(n, 2, 3), y = gaussian(n, 1, 4), z = gaussian(n, 1, 5);
        const Bootstrap as{.repeats = 3, .parts = parts, .stretch = size};
        std::vector<double> entropies, informations, given;
        for (std::int64_t part = 0; part < parts; ++part) {
            const Table a = rows(x, part * size, size), b = rows(y, part * size, size), c = rows(z, part * size, size);
            entropies.push_back(entropy_of(a, 3));
            informations.push_back(mutual_information(a.view(), b.view(), 3, KraskovForm::second, on_cpu()).value);
            given.push_back(conditional_mutual_information(a.view(), b.view(), c.view(), 3, on_cpu()).value);
        }
        const double root = std::sqrt(static_cast<double>(parts));
        const Estimate h = entropy(x.view(), 3, on_cpu(), as);
        EXPECT_EQ(entropy_of(x, 3), h.value);
        EXPECT_EQ(n, h.samples);
        EXPECT_NEAR(deviation(entropies) / root, h.error, 1e-12);
        EXPECT_NEAR(deviation(informations) / root,
                    mutual_information(x.view(), y.view(), 3, KraskovForm::second, on_cpu(), as).error, 1e-12);
        EXPECT_NEAR(deviation(given) / root,
                    conditional_mutual_information(x.view(), y.view(), z.view(), 3, on_cpu(), as).error, 1e-12);
    }
}

// Samples of a divergence, each dealt by itself: two halves go together in two ways.
TEST(EstimatorErrors, OfADivergenceDealBoth) {
    const Table x = gaussian(80, 2, 6), y = gaussian(80, 2, 7, 1);
    const auto of = [&](std::int64_t a, std::int64_t b) {
        return kl_divergence(rows(x, a * 40, 40).view(), rows(y, b * 40, 40).view(), 3, {}, on_cpu()).value;
    };
    const double straight = std::fabs(of(0, 0) - of(1, 1)) / 2, crossed = std::fabs(of(0, 1) - of(1, 0)) / 2;
    ASSERT_GT(std::fabs(straight - crossed), 1e-3);
    int seen[2] = {};
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        const Bootstrap as{.repeats = 1, .stretch = 40, .seed = seed};
        const double error = kl_divergence(x.view(), y.view(), 3, {}, on_cpu(), as).error;
        const bool is_straight = std::fabs(error - straight) < 1e-12;
        EXPECT_TRUE(is_straight || std::fabs(error - crossed) < 1e-12) << error;
        ++seen[is_straight];
    }
    EXPECT_TRUE(seen[0] > 0 && seen[1] > 0);
}

// Of six samples in halves there are ten ways; many repeats come to their mean.
TEST(EstimatorErrors, DealEveryWayAlike) {
    const Table x = gaussian(6, 1, 8);
    double squares = 0;
    int ways = 0;
    for (unsigned mask = 0; mask < 32; ++mask) {  // the half without the last row
        if (__builtin_popcount(mask) != 3) continue;
        Table in{3, 1, {}}, out{3, 1, {}};
        for (unsigned i = 0; i < 6; ++i) (mask >> i & 1 ? in : out).values.push_back(x.values[i]);
        const double difference = entropy_of(in, 1) - entropy_of(out, 1);
        squares += difference * difference / 4;
        ++ways;
    }
    EXPECT_EQ(10, ways);
    const double want = std::sqrt(squares / ways);
    EXPECT_NEAR(want, entropy(x.view(), 1, on_cpu(), {.repeats = 4000}).error, 0.03 * want);
}

TEST(EstimatorErrors, AreThoseOfTheSeed) {
    const Table x = gaussian(300, 2, 9);
    const double want = entropy(x.view(), 3, on_cpu(), {.repeats = 2, .seed = 5}).error;
    for (const int threads : {1, 2, 3}) {
        Options options = on_cpu();
        options.threads = threads;
        EXPECT_EQ(want, entropy(x.view(), 3, options, {.repeats = 2, .seed = 5}).error);
    }
    EXPECT_NE(want, entropy(x.view(), 3, on_cpu(), {.repeats = 2, .seed = 6}).error);
    EXPECT_NE(want, entropy(x.view(), 3, on_cpu(), {.repeats = 3, .seed = 5}).error);
}

// Samples drawn anew: their spread over the error that one draw states, on average.
double spread_over_error(const std::function<Estimate(unsigned)>& draw) {
    std::vector<double> values;
    double variance = 0;
    constexpr unsigned draws = 60;
    for (unsigned seed = 0; seed < draws; ++seed) {
        const Estimate e = draw(seed);
        values.push_back(e.value);
        variance += e.error * e.error / draws;
    }
    return deviation(values) / std::sqrt(variance);
}

// The deviation of 60 draws is within a quarter of the true one.
TEST(EstimatorErrors, AreTheSpreadOfEntropyAndDivergence) {
    const Bootstrap as{.repeats = 4};
    EXPECT_NEAR(1, spread_over_error([&](unsigned seed) {
                    return entropy(gaussian(400, 2, 100 + seed).view(), 4, on_cpu(), as);
                }),
                0.25);
    // Neighbours in y are shared by many of x: the terms depend on one another.
    for (const auto form : {DivergenceForm::nearest, DivergenceForm::common_ball}) {
        EXPECT_NEAR(1, spread_over_error([&](unsigned seed) {
                        const Table x = gaussian(400, 10, 200 + seed), y = gaussian(400, 10, 300 + seed, 0.5, 1.5);
                        return kl_divergence(x.view(), y.view(), 4, form, on_cpu(), as);
                    }),
                    0.25);
    }
}

// x and y of 400 rows that go slowly and together: their neighbours in time are much alike.
TEST(EstimatorErrors, OfSeriesNeedStretches) {
    const auto slow = [](unsigned seed) {
        Table out = gaussian(800, 1, seed);
        for (std::size_t i = 1; i < out.values.size(); ++i) out.values[i] = 0.9 * out.values[i - 1] + out.values[i];
        return out;
    };
    const auto ratio = [&](std::int64_t stretch) {
        return spread_over_error([&](unsigned seed) {
            const Table x = slow(400 + seed), noise = slow(500 + seed);
            Table y = x;
            for (std::size_t i = 0; i < y.values.size(); ++i) y.values[i] += noise.values[i];
            return mutual_information(x.view(), y.view(), 4, {}, on_cpu(), {.repeats = 4, .stretch = stretch});
        });
    };
    const double alone = ratio(1), together = ratio(40);
    EXPECT_GT(alone, 1.5);
    EXPECT_LT(together, 0.8 * alone);
}

// The parts' own searches would be too short to report.
TEST(EstimatorErrors, CountPartsAndCanBeCancelled) {
    const Table x = gaussian(60, 2, 81), y = gaussian(60, 1, 82);
    const Bootstrap as{.repeats = 4, .parts = 3};
    struct Between {
        Between() { ProgressMeter::milliseconds_between = 0; }
        ~Between() { ProgressMeter::milliseconds_between = 100; }
    } const at_every_poll;
    const std::vector<std::function<Estimate(const Options&)>> estimates = {
        [&](const Options& o) { return entropy(x.view(), 3, o, as); },
        [&](const Options& o) { return kl_divergence(x.view(), x.view(), 3, {}, o, as); },
        [&](const Options& o) { return mutual_information(x.view(), y.view(), 3, KraskovForm::first, o, as); },
        [&](const Options& o) { return conditional_mutual_information(x.view(), y.view(), y.view(), 3, o, as); },
        [&](const Options& o) { return transfer_entropy(y.view(), x.view(), 3, 1, 1, o, as); },
    };
    for (const auto& estimate : estimates) {
        Options options = on_cpu();
        const Estimate silent = estimate(options);
        double done = 0;
        std::int64_t parts = 0;
        options.progress = [&](const Progress& progress) {
            if (std::string(progress.stage) != "bootstrap") {
                EXPECT_EQ(0, parts) << progress.stage;
                return true;
            }
            EXPECT_EQ(12, progress.total);
            EXPECT_LE(done, progress.done);
            done = progress.done;
            return ++parts, true;
        };
        EXPECT_EQ(silent.error, estimate(options).error);
        EXPECT_EQ(12, done);
        EXPECT_GT(parts, 12);  // a search of a part reports as well

        // At the end of a part, within one's search, and by what the callback throws in either.
        for (const std::int64_t at : {1, 2, 3, 4, 5, 6}) {
            for (const bool throws : {false, true}) {
                std::int64_t seen = 0;
                options.progress = [&](const Progress& progress) {
                    if (std::string(progress.stage) != "bootstrap" || ++seen < at) return true;
                    if (throws) throw std::runtime_error("by the callback");
                    return false;
                };
                try {
                    estimate(options);
                    FAIL() << "not cancelled";
                } catch (const Error& error) {
                    EXPECT_FALSE(throws);
                    EXPECT_EQ(ErrorCode::cancelled, error.code());
                } catch (const std::runtime_error& error) {
                    EXPECT_TRUE(throws) << error.what();
                }
                EXPECT_EQ(at, seen);
            }
        }
    }
}

TEST(EstimatorErrors, RefuseWhatMakesNoSense) {
    const Table x = gaussian(20, 2, 71), y = gaussian(9, 2, 72);
    const auto says = [&](const char* words, const Bootstrap& as, std::int64_t k = 3) {
        try {
            kl_divergence(x.view(), y.view(), k, {}, on_cpu(), as);
            FAIL() << words;
        } catch (const Error& error) {
            EXPECT_EQ(ErrorCode::invalid_argument, error.code());
            EXPECT_NE(std::string::npos, std::string(error.what()).find(words)) << words << ": " << error.what();
        }
    };
    says("bootstrap: -1 repeats", {.repeats = -1});
    says("bootstrap: 1 parts", {.repeats = 1, .parts = 1});
    says("stretches of -2", {.repeats = 1, .stretch = -2});
    // Of y's nine samples parts of four.
    EXPECT_GT(kl_divergence(x.view(), y.view(), 3, {}, on_cpu(), {.repeats = 1}).error, 0);
    says("9 samples in 2 parts of stretches of 1", {.repeats = 1}, 4);
    says("3 parts", {.repeats = 1, .parts = 3});
    // Stretches of four: parts of four and of five, or of eight and of one.
    says("stretches of 4", {.repeats = 1, .stretch = 4}, 1);
    says("stretches of 9223372036854775807", {.repeats = 1, .stretch = INT64_MAX});
    says("9223372036854775807 parts", {.repeats = 1, .parts = INT64_MAX});
    // A part of equal samples alone.
    Table same = gaussian(8, 1, 73);
    for (std::size_t i = 0; i < 4; ++i) same.values[i] = 1;
    EXPECT_THROW(entropy(same.view(), 1, on_cpu(), {.repeats = 1, .stretch = 4}), Error);
}

// Through the C interface: the same bits.
TEST(EstimatorErrors, AreThoseOfC) {
    const Table x = gaussian(200, 2, 91), y = gaussian(200, 1, 92), z = gaussian(200, 1, 93);
    const Table other = gaussian(150, 2, 94, 0.5);
    const auto of_c = [](const Table& t) { return kith_view(t.values.data(), t.n, t.d, KITH_F64); };
    const kith_matrix cx = of_c(x), cy = of_c(y), cz = of_c(z), co = of_c(other);
    kith_options options;
    kith_options_init(&options, sizeof options);
    options.device = "cpu";
    options.bootstrap_repeats = 3;
    options.bootstrap_parts = 4;
    options.bootstrap_stretch = 5;
    options.bootstrap_seed = UINT64_MAX - 6;
    const Bootstrap as{.repeats = 3, .parts = 4, .stretch = 5, .seed = UINT64_MAX - 6};
    const auto same = [](const Estimate& want, int code, const kith_estimate& got) {
        EXPECT_EQ(KITH_OK, code) << kith_last_error();
        EXPECT_EQ(want.value, got.value);
        EXPECT_EQ(want.error, got.error);
        EXPECT_EQ(want.samples, got.samples);
        EXPECT_EQ(want.left_out, got.left_out);
    };
    kith_estimate e;
    int code = kith_entropy(&cx, 3, &options, &e);
    same(entropy(x.view(), 3, on_cpu(), as), code, e);
    code = kith_kl_divergence(&cx, &co, 3, KITH_DIVERGENCE_COMMON_BALL, &options, &e);
    same(kl_divergence(x.view(), other.view(), 3, DivergenceForm::common_ball, on_cpu(), as), code, e);
    code = kith_mutual_information(&cx, &cy, 3, KITH_KRASKOV_SECOND, &options, &e);
    same(mutual_information(x.view(), y.view(), 3, KraskovForm::second, on_cpu(), as), code, e);
    code = kith_conditional_mutual_information(&cx, &cy, &cz, 3, &options, &e);
    same(conditional_mutual_information(x.view(), y.view(), z.view(), 3, on_cpu(), as), code, e);
    options.bootstrap_stretch = 0;  // what a series has of itself
    code = kith_transfer_entropy(&cy, &cz, 3, 1, 2, &options, &e);
    same(transfer_entropy(y.view(), z.view(), 3, 1, 2, on_cpu(), {.repeats = 3, .parts = 4, .seed = as.seed}), code, e);

    // Options of a caller that was compiled before the fields were there.
    options.struct_size = offsetof(kith_options, bootstrap_repeats);
    EXPECT_EQ(KITH_OK, kith_entropy(&cx, 3, &options, &e));
    EXPECT_TRUE(std::isnan(e.error));
}

}  // namespace
