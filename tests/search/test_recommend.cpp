// Recommendations: by the definition in plain loops, in blocks, with items held out, and what they refuse.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

#include "exact/report/progress.h"
#include "kith/kith.h"
#include "kith/recommend.h"
#include "papers/plan.h"
#include "refusal.h"

namespace {

using namespace kith;

// Dense rows and the same ones sparse.
struct Table {
    std::int64_t users, items;
    std::vector<double> values;
    std::vector<std::int64_t> offsets, ids;
    std::vector<double> cells;

    double at(std::int64_t u, std::int64_t i) const { return values[static_cast<std::size_t>(u * items + i)]; }
    double& at(std::int64_t u, std::int64_t i) { return values[static_cast<std::size_t>(u * items + i)]; }
    SparseView sparse() {
        offsets.assign(1, 0);
        ids.clear();
        cells.clear();
        for (std::int64_t u = 0; u < users; ++u) {
            for (std::int64_t i = 0; i < items; ++i) {
                if (at(u, i) == 0) continue;
                ids.push_back(i);
                cells.push_back(at(u, i));
            }
            offsets.push_back(static_cast<std::int64_t>(ids.size()));
        }
        return {users, items, offsets.data(), ids.data(), cells.data()};
    }
};

// Small whole numbers, most of them 0, whose sums are exact; user 3 has nothing, user 4 one item.
Table counts(std::int64_t users, std::int64_t items, unsigned seed) {
    std::mt19937 random(seed);
    Table out{users, items, std::vector<double>(static_cast<std::size_t>(users * items)), {}, {}, {}};
    for (double& v : out.values) v = random() % 4 == 0 ? static_cast<double>(1 + random() % 5) : 0;
    for (std::int64_t i = 0; i < items; ++i) out.at(3, i) = out.at(4, i) = 0;
    out.at(4, items / 2) = 2;
    return out;
}

RecommendOptions on_cpu(MetricId metric, PreferenceForm form, NeighborWeight weight) {
    RecommendOptions options;
    options.search.device = "cpu";
    options.search.metric = metric;
    options.form = form;
    options.weight = weight;
    return options;
}

std::vector<double> vectors(const Table& t, PreferenceForm form) {
    std::vector<double> out;
    for (std::int64_t u = 0; u < t.users; ++u) {
        double sum = 0;
        for (std::int64_t i = 0; i < t.items; ++i) sum += t.at(u, i);
        for (std::int64_t i = 0; i < t.items; ++i)
            out.push_back(
                static_cast<float>(form == PreferenceForm::shares && t.at(u, i) != 0 ? t.at(u, i) / sum : t.at(u, i)));
    }
    return out;
}

double distance(MetricId metric, const double* q, const double* x, std::int64_t d) {
    double sum = 0;
    for (std::int64_t i = 0; i < d; ++i) {
        const double apart = metric == MetricId::hellinger ? std::sqrt(q[i]) - std::sqrt(x[i]) : q[i] - x[i];
        sum += metric == MetricId::cityblock ? std::fabs(apart) : apart * apart;
    }
    return metric == MetricId::cityblock ? sum : std::sqrt(metric == MetricId::hellinger ? sum / 2 : sum);
}

struct Told {
    std::vector<std::int64_t> items;
    std::vector<double> predictions;
};

Told by_definition(const Table& t, std::int64_t k, std::int64_t count, const RecommendOptions& options) {
    const std::vector<double> v = vectors(t, options.form);
    Told out;
    for (std::int64_t u = 0; u < t.users; ++u) {
        std::vector<std::pair<double, std::int64_t>> near;
        for (std::int64_t other = 0; other < t.users; ++other)
            if (other != u)
                near.emplace_back(distance(options.search.metric.id, &v[static_cast<std::size_t>(u * t.items)],
                                           &v[static_cast<std::size_t>(other * t.items)], t.items),
                                  other);
        std::sort(near.begin(), near.end());
        near.resize(std::min(near.size(), static_cast<std::size_t>(k)));
        std::vector<std::pair<double, std::int64_t>> told;
        for (std::int64_t i = 0; i < t.items; ++i) {
            double sum = 0, weights = 0;
            for (const auto& [away, other] : near) {
                const double w = options.weight == NeighborWeight::uniform ? 1 : 1 / (away + options.epsilon);
                weights += w;
                sum = std::fma(w, v[static_cast<std::size_t>(other * t.items + i)], sum);
            }
            if (t.at(u, i) == 0 && sum / weights > 0) told.emplace_back(-(sum / weights), i);
        }
        std::sort(told.begin(), told.end());
        told.resize(static_cast<std::size_t>(count), {0, -1});
        for (const auto& [prediction, item] : told) {
            out.items.push_back(item);
            out.predictions.push_back(-prediction);
        }
    }
    return out;
}

// Distances of whole numbers are exact, so every bit is the definition's.
TEST(Recommend, IsItsDefinition) {
    Table t = counts(140, 37, 1);
    for (const NeighborWeight weight : {NeighborWeight::inverse, NeighborWeight::uniform}) {
        for (const std::int64_t k : {1, 9, 500}) {
            const RecommendOptions options = on_cpu(MetricId::cityblock, PreferenceForm::as_given, weight);
            const Told want = by_definition(t, k, 6, options);
            const Recommendations got = recommend(t.sparse(), k, 6, options);
            EXPECT_EQ(want.items, got.items) << k;
            EXPECT_EQ(want.predictions, got.predictions) << k;
            EXPECT_EQ(140, got.users);
            EXPECT_EQ(6, got.count);
            EXPECT_EQ(140, got.report.queries);
            EXPECT_EQ(0, got.judged);
            EXPECT_TRUE(got.held_out.empty());
        }
    }
}

TEST(Recommend, SharesByHellinger) {
    Table t = counts(120, 50, 2);
    RecommendOptions options = on_cpu(MetricId::hellinger, PreferenceForm::shares, NeighborWeight::inverse);
    const Told want = by_definition(t, 15, 8, options);
    options.search.metric = Metric();  // hellinger where none is named
    const Recommendations got = recommend(t.sparse(), 15, 8, options);
    EXPECT_EQ(want.items, got.items);
    for (std::size_t i = 0; i < want.predictions.size(); ++i)
        EXPECT_NEAR(want.predictions[i], got.predictions[i], 1e-12) << i;
    const Recommendations dense = recommend(view(t.values.data(), t.users, t.items), 15, 8, options);
    EXPECT_EQ(got.items, dense.items);
    EXPECT_EQ(got.predictions, dense.predictions);
}

// A metric is named by its id as well, as a formula's often is.
TEST(Recommend, ByTheMetricThatIsNamed) {
    Table t = counts(80, 12, 11);
    RecommendOptions options = on_cpu(MetricId::cityblock, PreferenceForm::as_given, NeighborWeight::inverse);
    const Recommendations want = recommend(t.sparse(), 5, 6, options);
    options.search.metric = Metric();
    EXPECT_NE(want.predictions, recommend(t.sparse(), 5, 6, options).predictions);
    options.search.metric.id = MetricId::cityblock;
    EXPECT_EQ(want.predictions, recommend(t.sparse(), 5, 6, options).predictions);
    options.search.metric.id = MetricId::formula;
    options.search.metric.formula = "a + fabs(q - x)";
    EXPECT_EQ(want.predictions, recommend(t.sparse(), 5, 6, options).predictions);
}

// However many users are dense at once, however many threads there are, whatever the path: the same bits.
TEST(Recommend, BlocksAndPathsGiveTheSameBits) {
    Table t = counts(101, 30, 3);
    RecommendOptions options = on_cpu(MetricId::hellinger, PreferenceForm::shares, NeighborWeight::inverse);
    options.hold_out = true;
    options.seed = 7;
    const Recommendations whole = recommend(t.sparse(), 12, 5, options);
    for (const std::int64_t at_once : {1, 10, 64, 101, 1000}) {
        options.users_at_once = at_once;
        options.search.threads = at_once == 10 ? 1 : 0;
        const Recommendations got = recommend(t.sparse(), 12, 5, options);
        EXPECT_EQ(whole.items, got.items) << at_once;
        EXPECT_EQ(whole.predictions, got.predictions) << at_once;
        EXPECT_EQ(whole.held_out, got.held_out) << at_once;
        EXPECT_EQ(whole.hit_rate, got.hit_rate) << at_once;
    }
    options.users_at_once = 0;
    for (const char* const path : {"exact", "gemm-f32", "kato"}) {
        if (kith::papers::is_path(path) && !kith::papers::built()) continue;
        options.search.path = path;
        const Recommendations got = recommend(t.sparse(), 12, 5, options);
        EXPECT_EQ(path, got.report.path);
        EXPECT_EQ(whole.items, got.items) << path;
        EXPECT_EQ(whole.predictions, got.predictions) << path;
    }
}

TEST(Recommend, HoldsOneItemOut) {
    Table t = counts(160, 25, 4);
    RecommendOptions options = on_cpu(MetricId::cityblock, PreferenceForm::as_given, NeighborWeight::inverse);
    options.hold_out = true;
    options.seed = 5;
    const Recommendations got = recommend(t.sparse(), 20, 4, options);
    ASSERT_EQ(std::size_t(160), got.held_out.size());
    EXPECT_EQ(-1, got.held_out[3]);  // who has nothing
    EXPECT_EQ(-1, got.held_out[4]);  // and who has one item keep it

    // What is left is recommended from, as if it were all there is.
    Table left = t;
    std::int64_t judged = 0;
    for (std::int64_t u = 0; u < t.users; ++u) {
        const std::int64_t held = got.held_out[static_cast<std::size_t>(u)];
        const auto row = t.values.begin() + u * t.items;
        EXPECT_EQ(t.items - std::count(row, row + t.items, 0) > 1, held >= 0) << u;
        if (held < 0) continue;
        ++judged;
        ASSERT_NE(0, t.at(u, held)) << u;
        left.at(u, held) = 0;
    }
    EXPECT_EQ(judged, got.judged);
    options.hold_out = false;
    const Told want = by_definition(left, 20, 4, options);
    EXPECT_EQ(want.items, got.items);
    EXPECT_EQ(want.predictions, got.predictions);

    std::vector<std::pair<double, std::int64_t>> popular;
    for (std::int64_t i = 0; i < t.items; ++i) {
        double sum = 0;
        for (std::int64_t u = 0; u < t.users; ++u) sum += left.at(u, i);
        popular.emplace_back(-sum, i);
    }
    std::sort(popular.begin(), popular.end());
    double hits = 0, by_popularity = 0;
    for (std::int64_t u = 0; u < t.users; ++u) {
        const std::int64_t held = got.held_out[static_cast<std::size_t>(u)];
        if (held < 0) continue;
        const auto first = got.items.begin() + u * 4;
        if (std::find(first, first + 4, held) != first + 4) ++hits;
        int told = 0;
        for (const auto& [sum, item] : popular) {
            if (left.at(u, item) != 0) continue;
            if (told++ == 4) break;
            if (item == held) ++by_popularity;
        }
    }
    EXPECT_EQ(hits / static_cast<double>(judged), got.hit_rate);
    EXPECT_EQ(by_popularity / static_cast<double>(judged), got.popular_hit_rate);

    // Another seed holds other items out, the same seed the same.
    options.hold_out = true;
    EXPECT_EQ(got.held_out, recommend(t.sparse(), 20, 4, options).held_out);
    options.seed = 6;
    EXPECT_NE(got.held_out, recommend(t.sparse(), 20, 4, options).held_out);
}

// Users of two tastes: what those of one's own like is found, which the larger crowd does not like.
TEST(Recommend, FindsWhatNeighboursLike) {
    constexpr std::int64_t users = 300, items = 40;
    std::mt19937 random(8);
    Table t{users, items, std::vector<double>(users * items), {}, {}, {}};
    for (std::int64_t u = 0; u < users; ++u)
        for (int taken = 0; taken < 12; ++taken) t.at(u, (u < 60 ? 30 : 0) + random() % (u < 60 ? 10 : 30)) += 1;
    RecommendOptions options;
    options.search.device = "cpu";
    options.hold_out = true;
    const Recommendations got = recommend(t.sparse(), 20, 5, options);
    double own = 0, of_minority = 0;
    for (std::int64_t u = 0; u < 60; ++u)
        for (std::int64_t j = 0; j < 5; ++j) {
            const std::int64_t item = got.items[static_cast<std::size_t>(u * 5 + j)];
            if (item < 0) continue;
            ++of_minority;
            own += item >= 30;
        }
    EXPECT_GT(own / of_minority, 0.95);
    EXPECT_GT(got.hit_rate, got.popular_hit_rate);
}

TEST(Recommend, RefusesWhatMakesNoSense) {
    Table t = counts(10, 8, 9);
    const SparseView good = t.sparse();
    RecommendOptions options;
    options.search.device = "cpu";
    const auto refusal = [&](const SparseView& preferences, std::int64_t k = 3, std::int64_t count = 2) {
        return refusals::refusal([&] { recommend(preferences, k, count, options); });
    };
    const auto has = [](const std::string& text, const char* words) { return text.find(words) != std::string::npos; };
    EXPECT_EQ("", refusal(good));
    EXPECT_TRUE(has(refusal(good, 0), "k: 0"));
    EXPECT_TRUE(has(refusal(good, 3, 0), "count: 0"));
    for (const std::int64_t count : {std::int64_t{9}, std::int64_t{1} << 60})
        EXPECT_TRUE(
            has(refusal(good, 3, count), fmt::format("count: {}; expected at most the 8 items", count).c_str()));
    EXPECT_EQ("", refusal(good, std::int64_t{1} << 60, 8));  // all the others
    EXPECT_TRUE(has(refusal({0, 8, good.offsets, good.ids, good.values}), "0 users"));
    EXPECT_TRUE(has(refusal({10, 8, nullptr, good.ids, good.values}), "offsets"));
    EXPECT_TRUE(has(refusal({10, 8, good.offsets, nullptr, good.values}), "without ids"));
    EXPECT_TRUE(has(refusal({10, 3, good.offsets, good.ids, good.values}), "column"));
    std::vector<std::int64_t> offsets{0, 2, 1}, ids{5, 5};
    std::vector<double> values{1, 1};
    EXPECT_TRUE(has(refusal({2, 8, offsets.data(), ids.data(), values.data()}), "row 1 ends at 1"));
    offsets = {0, 0, 2};
    EXPECT_TRUE(has(refusal({2, 8, offsets.data(), ids.data(), values.data()}), "row 1 has column 5 after 5"));
    ids = {5, 6};
    for (const double value : {-1.0, std::nan(""), 1e300, std::numeric_limits<double>::infinity()}) {
        values[1] = value;
        EXPECT_TRUE(has(refusal({2, 8, offsets.data(), ids.data(), values.data()}), "row 1, column 6")) << value;
    }
    options.epsilon = 0;
    EXPECT_TRUE(has(refusal(good), "epsilon: 0"));
    options.epsilon = 5e-324;  // whose reciprocal is infinite
    EXPECT_TRUE(has(refusal(good), "epsilon: 5e-324; expected a number of at least 1e-240"));
    options.epsilon = 1e-240;
    EXPECT_EQ("", refusal(good));
    options.epsilon = 1;
    options.search.metric = MetricId::inner_product;
    EXPECT_TRUE(has(refusal(good), "inner_product"));
    options.weight = NeighborWeight::uniform;
    EXPECT_EQ("", refusal(good));
    options.users_at_once = -1;
    EXPECT_TRUE(has(refusal(good), "users_at_once: -1"));
}

// Wherever it is asked, of all users at once and in blocks, whose progress is one; and what it throws comes out.
TEST(Recommend, ReportsAndIsCancelledAtTheCallersWish) {
    struct Between {
        Between() { ProgressMeter::milliseconds_between = 0; }
        ~Between() { ProgressMeter::milliseconds_between = 100; }
    } const at_every_poll;
    Table t = counts(90, 20, 10);
    for (const std::int64_t at_once : {0, 30}) {
        RecommendOptions options;
        options.search.device = "cpu";
        options.users_at_once = at_once;
        options.hold_out = true;
        const Recommendations silent = recommend(t.sparse(), 5, 5, options);
        std::vector<std::string> stages;
        double done = 0;
        options.search.progress = [&](const Progress& progress) {
            if (stages.empty() || stages.back() != progress.stage) stages.emplace_back(progress.stage);
            if (stages.back() == "recommend") {
                EXPECT_EQ(90 * 90, progress.total);
                EXPECT_LE(done, progress.done);
                done = progress.done;
            }
            return true;
        };
        const Recommendations got = recommend(t.sparse(), 5, 5, options);
        EXPECT_EQ(silent.items, got.items);
        EXPECT_EQ(silent.hit_rate, got.hit_rate);
        if (at_once > 0) {
            EXPECT_EQ((std::vector<std::string>{"recommend", "judge"}), stages);
        }
        EXPECT_EQ(at_once > 0 ? 90 * 90 : 0, done);
        ASSERT_FALSE(stages.empty());
        EXPECT_EQ("judge", stages.back());

        for (const std::string& stage : stages) {
            for (const int after : {1, 3}) {
                for (const bool throws : {false, true}) {
                    int asked = 0;
                    options.search.progress = [&](const Progress& progress) {
                        if (progress.stage != stage || ++asked < after) return true;
                        if (throws) throw std::runtime_error("by the callback");
                        return false;
                    };
                    try {
                        recommend(t.sparse(), 5, 5, options);
                        EXPECT_LT(asked, after) << "not cancelled in " << stage;
                        EXPECT_GT(after, 1);
                    } catch (const Error& error) {
                        EXPECT_FALSE(throws) << stage << " " << at_once << " " << after << ": " << error.what();
                        EXPECT_EQ(ErrorCode::cancelled, error.code());
                    } catch (const std::runtime_error&) {
                        EXPECT_TRUE(throws);
                    }
                }
            }
        }
    }
}

// Users in masses of equal ones, whom a filter retries: the report of blocks says why of each, as that of all does.
TEST(Recommend, ReportsWhyOfEveryBlock) {
    constexpr std::int64_t users = 600, items = 64;
    std::mt19937 random(14);
    Table t{users, items, std::vector<double>(users * items), {}, {}, {}};
    for (std::int64_t u = 0; u < users; ++u)
        for (std::int64_t i = 0; i < items; ++i)
            t.at(u, i) = u < 3 ? static_cast<double>(1 + random() % 5) : t.at(u % 3, i);
    RecommendOptions options = on_cpu(MetricId::euclidean, PreferenceForm::as_given, NeighborWeight::inverse);
    options.search.path = "gemm-f32";
    for (const std::int64_t at_once : {0, 200}) {
        options.users_at_once = at_once;
        const Report report = recommend(t.sparse(), 5, 5, options).report;
        std::int64_t told = 0;
        for (const Fallback& each : report.fallbacks) told += each.queries;
        EXPECT_GT(told, 0) << at_once;
        EXPECT_EQ(report.retried + report.scanned, told) << at_once;
        EXPECT_EQ(report.queries, report.certified + report.retried + report.scanned) << at_once;
    }
}

// The vectors are dense in blocks where the memory that is given does not hold them all.
TEST(Recommend, KeepsToTheMemoryThatIsGiven) {
    Table t = counts(300, 64, 12);
    RecommendOptions options = on_cpu(MetricId::hellinger, PreferenceForm::shares, NeighborWeight::inverse);
    const Recommendations whole = recommend(t.sparse(), 4, 5, options);
    options.search.memory = std::int64_t{1} << 40;
    EXPECT_EQ(300, recommend(t.sparse(), 4, 5, options).report.queries);
    options.search.memory = 300 * 64 * sizeof(float) / 2;
    const Recommendations got = recommend(t.sparse(), 4, 5, options);
    EXPECT_GT(got.report.queries, 300);  // once of each block of points
    EXPECT_EQ(whole.items, got.items);
    EXPECT_EQ(whole.predictions, got.predictions);
}

}  // namespace
