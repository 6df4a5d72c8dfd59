// Retrieval of images: divergences by kl_divergence(), the order by plain loops, features by their definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <utility>

#include "exact/report/progress.h"
#include "kith/kith.h"
#include "kith/retrieval.h"

namespace {

using namespace kith;

FeatureSet gaussian(std::int64_t n, std::int64_t d, unsigned seed, double mean) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(static_cast<float>(mean), 1);
    FeatureSet out{n, d, std::vector<float>(static_cast<std::size_t>(n * d))};
    for (float& v : out.values) v = normal(random);
    return out;
}

// Six images of two scales, of two kinds.
std::vector<std::vector<FeatureSet>> images() {
    std::vector<std::vector<FeatureSet>> out;
    for (unsigned i = 0; i < 6; ++i)
        out.push_back({gaussian(200 + 10 * i, 4, 2 * i, i % 2), gaussian(90, 7, 2 * i + 1, i % 2)});
    return out;
}

RetrievalOptions on_cpu() {
    RetrievalOptions options;
    options.search.device = "cpu";
    return options;
}

TEST(Retrieval, SumsDivergencesOverScales) {
    const auto sets = images();
    for (const DivergenceForm form :
         {DivergenceForm::nearest, DivergenceForm::common_ball, DivergenceForm::common_ball_distances}) {
        for (const bool both_ways : {false, true}) {
            RetrievalOptions options = on_cpu();
            options.form = form;
            options.both_ways = both_ways;
            const Retrieved got = retrieve(views(sets), 5, options);
            ASSERT_EQ(6, got.images);
            ASSERT_EQ(std::size_t(36), got.divergences.size());
            ASSERT_EQ(std::size_t(30), got.order.size());
            for (std::size_t a = 0; a < 6; ++a) {
                std::vector<std::pair<double, std::int64_t>> near;
                for (std::size_t b = 0; b < 6; ++b) {
                    double sum = 0;
                    for (std::size_t s = 0; s < 2 && a != b; ++s) {
                        sum += kl_divergence(sets[a][s].view(), sets[b][s].view(), 5, form, options.search).value;
                        if (both_ways)
                            sum += kl_divergence(sets[b][s].view(), sets[a][s].view(), 5, form, options.search).value;
                    }
                    EXPECT_EQ(sum, got.divergences[a * 6 + b]) << a << " " << b;
                    if (a != b) near.emplace_back(sum, b);
                }
                std::sort(near.begin(), near.end());
                for (std::size_t j = 0; j < 5; ++j) EXPECT_EQ(near[j].second, got.order[a * 5 + j]);
            }
        }
    }
}

TEST(Retrieval, FindsWhatIsOfOneKind) {
    const auto sets = images();
    const Retrieved all = retrieve(views(sets), 5, on_cpu());
    const std::vector<std::int64_t> labels{0, 1, 0, 1, 0, 1};
    EXPECT_EQ(1, precision_at(all, labels, 1));
    EXPECT_EQ(1, precision_at(all, labels, 2));
    EXPECT_NEAR(2.0 / 3, precision_at(all, labels, 3), 1e-15);
    EXPECT_NEAR(0.4, precision_at(all, labels, 5), 1e-15);

    RetrievalOptions some = on_cpu();
    some.asked = {4, 1};
    const Retrieved got = retrieve(views(sets), 5, some);
    for (std::size_t b = 0; b < 6; ++b) {
        EXPECT_EQ(all.divergences[4 * 6 + b], got.divergences[b]);
        EXPECT_EQ(all.divergences[1 * 6 + b], got.divergences[6 + b]);
    }
    EXPECT_EQ(std::vector<std::int64_t>(got.order.begin(), got.order.begin() + 5),
              std::vector<std::int64_t>(all.order.begin() + 20, all.order.begin() + 25));
    EXPECT_EQ(1, precision_at(got, labels, 2));
}

TEST(Retrieval, LeavesOutEqualSamples) {
    auto sets = images();
    std::fill_n(sets[2][0].values.begin(), 4 * 8, 0.25F);  // eight samples of one value
    const Retrieved got = retrieve(views(sets), 5, on_cpu());
    EXPECT_EQ(5 * 8, got.left_out);  // in each comparison from image 2
}

// A duplicate comes first, what nothing can be estimated of last, and the order is one whatever lies between.
TEST(Retrieval, OrdersDuplicatesAndWhatCannotBeEstimated) {
    auto sets = images();
    sets.push_back(sets[1]);                                              // 6: a duplicate of 1
    std::fill(sets[2][1].values.begin(), sets[2][1].values.end(), 2.0F);  // all samples of a scale are equal
    for (const bool both_ways : {false, true}) {
        RetrievalOptions options = on_cpu();
        options.both_ways = both_ways;
        const Retrieved got = retrieve(views(sets), 1, options);
        const double infinity = std::numeric_limits<double>::infinity();
        EXPECT_EQ(-infinity, got.divergences[1 * 7 + 6]);
        EXPECT_EQ(-infinity, got.divergences[6 * 7 + 1]);
        EXPECT_EQ(6, got.order[1 * 6]);
        EXPECT_EQ(1, got.order[6 * 6]);
        EXPECT_EQ((std::vector<std::int64_t>{0, 1, 3, 4, 5, 6}),
                  std::vector<std::int64_t>(got.order.begin() + 2 * 6, got.order.begin() + 3 * 6));
        for (std::size_t a = 0; a < 7; ++a) {
            const double* const away = &got.divergences[a * 7];
            for (std::size_t b = 0; b < 7; ++b)
                EXPECT_EQ(a != b && (a == 2 || (both_ways && b == 2)), std::isnan(away[b])) << a << " " << b;
            for (std::size_t j = 0; j + 1 < 6; ++j) {
                const double nearer = away[got.order[a * 6 + j]], farther = away[got.order[a * 6 + j + 1]];
                EXPECT_TRUE(std::isnan(farther) || nearer <= farther) << a << " " << j;
            }
        }
    }
    // With two neighbours the duplicate's second is another sample: finite, and first as well.
    const Retrieved second = retrieve(views(sets), 2, on_cpu());
    EXPECT_TRUE(std::isfinite(second.divergences[1 * 7 + 6]));
    EXPECT_EQ(6, second.order[1 * 6]);
}

TEST(Retrieval, IsCancelledAtTheCallersWish) {
    struct Between {
        Between() { ProgressMeter::milliseconds_between = 0; }
        ~Between() { ProgressMeter::milliseconds_between = 100; }
    } const at_every_poll;
    const auto sets = images();
    for (const bool throws : {false, true}) {
        int asked = 0;
        RetrievalOptions options = on_cpu();
        options.search.progress = [&](const Progress& progress) {
            EXPECT_STREQ("retrieve", progress.stage);
            if (++asked < 20) return true;
            if (throws) throw std::runtime_error("by the callback");
            return false;
        };
        try {
            retrieve(views(sets), 5, options);
            FAIL() << "not cancelled";
        } catch (const Error& error) {
            EXPECT_FALSE(throws) << error.what();
            EXPECT_EQ(ErrorCode::cancelled, error.code());
        } catch (const std::runtime_error&) {
            EXPECT_TRUE(throws);
        }
    }
}

std::vector<std::uint8_t> picture(std::int64_t height, std::int64_t width, int channels, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::uint8_t> out(static_cast<std::size_t>(height * width * channels));
    for (std::uint8_t& v : out) v = static_cast<std::uint8_t>(random());
    return out;
}

TEST(ImageFeatures, HaveThePapersNumbers) {
    const auto pixels = picture(240, 320, 3, 1);
    const std::vector<FeatureSet> sets = image_features(view(pixels.data(), 240, 960), 3);
    ASSERT_EQ(std::size_t(3), sets.size());
    const std::vector<std::pair<std::int64_t, std::int64_t>> want{{4800, 18}, {2400, 18}, {1200, 27}};
    for (std::size_t s = 0; s < 3; ++s) {
        EXPECT_EQ(want[s].first, sets[s].n);
        EXPECT_EQ(want[s].second, sets[s].d);
        EXPECT_EQ(static_cast<std::size_t>(sets[s].n * sets[s].d), sets[s].values.size());
    }
    const auto grey = picture(32, 33, 1, 2);
    const std::vector<FeatureSet> few = image_features(view(grey.data(), 32, 33), 1);
    EXPECT_EQ(16 * 17, few[0].n);
    EXPECT_EQ(8 * 9, few[1].n);
    EXPECT_EQ(4 * 5, few[2].n);
    EXPECT_EQ(9, few[2].d);
    EXPECT_EQ(few[0].values, image_features(view(grey.data(), 32, 33), 1, 0)[0].values);
    EXPECT_NE(few[0].values, image_features(view(grey.data(), 32, 33), 1, 1)[0].values);  // other noise
}

// An even picture has no bands, and its low band is its colour; of numbers that are not whole there is no noise.
TEST(ImageFeatures, OfAnEvenPicture) {
    std::vector<float> pixels;
    for (int i = 0; i < 48 * 64; ++i) pixels.insert(pixels.end(), {64, 32, 128});
    const std::vector<FeatureSet> sets = image_features(view(pixels.data(), 48, 64 * 3), 3);
    const double y = 0.299 * 64 + 0.587 * 32 + 0.114 * 128;
    for (const float v : sets[0].values) ASSERT_NEAR(0, v, 1e-4);
    for (const float v : sets[1].values) ASSERT_NEAR(0, v, 1e-4);
    for (std::int64_t i = 0; i < sets[2].n; ++i) {
        for (std::int64_t c = 0; c < 27; ++c) {
            const double want = c < 9 ? y : c < 18 ? 0.713 * (64 - y) : 0.564 * (128 - y);
            ASSERT_NEAR(want, sets[2].values[static_cast<std::size_t>(i * 27 + c)], 1e-4);
        }
    }
}

// Smoothing by 1 4 6 4 1 keeps a slope and doubles its step at each halving, but near the edges.
TEST(ImageFeatures, OfASlope) {
    std::vector<double> pixels;
    for (int r = 0; r < 128; ++r)
        for (int c = 0; c < 128; ++c) pixels.push_back(3.0 * c - 2.0 * r);
    const std::vector<FeatureSet> sets = image_features(view(pixels.data(), 128, 128), 1);
    ASSERT_EQ(16 * 16, sets[2].n);
    for (int r = 5; r < 11; ++r)
        for (int c = 5; c < 11; ++c)
            for (int v = -1; v <= 1; ++v)
                for (int u = -1; u <= 1; ++u)
                    ASSERT_NEAR(24.0 * (c + u) - 16.0 * (r + v),
                                sets[2].values[static_cast<std::size_t>((16 * r + c) * 9 + 3 * (v + 1) + u + 1)], 1e-4);
    // Bands of a slope are 0 inside: band 1 is 64 x 64.
    const FeatureSet& fine = sets[0];
    ASSERT_EQ(64 * 64, fine.n);
    for (int r = 16; r < 48; ++r)
        for (int c = 16; c < 48; ++c)
            for (int j = 0; j < 18; ++j)
                ASSERT_NEAR(0, fine.values[static_cast<std::size_t>((64 * r + c) * 18 + j)], 1e-4) << r << " " << c;
}

TEST(Retrieval, RefusesWhatMakesNoSense) {
    const auto sets = images();
    const auto refusal = [](const std::vector<std::vector<MatrixView>>& of, std::int64_t k,
                            const RetrievalOptions& options) -> std::string {
        try {
            retrieve(of, k, options);
        } catch (const Error& error) {
            EXPECT_EQ(ErrorCode::invalid_argument, error.code()) << error.what();
            return error.what();
        }
        return "";
    };
    const auto has = [](const std::string& text, const char* words) { return text.find(words) != std::string::npos; };
    auto all = views(sets);
    EXPECT_TRUE(has(refusal({all[0]}, 3, on_cpu()), "images: 1"));
    EXPECT_TRUE(has(refusal(all, 90, on_cpu()), "k: 90"));
    EXPECT_TRUE(has(refusal(all, 0, on_cpu()), "k: 0"));
    RetrievalOptions options = on_cpu();
    options.asked = {6};
    EXPECT_TRUE(has(refusal(all, 3, options), "asked: 6"));
    options = on_cpu();
    options.search.metric = MetricId::cosine;
    EXPECT_TRUE(has(refusal(all, 3, options), "cosine"));
    all[2].pop_back();
    EXPECT_TRUE(has(refusal(all, 3, on_cpu()), "image 2 has 1 scales"));
    all = views(sets);
    std::swap(all[1][0], all[1][1]);
    EXPECT_TRUE(has(refusal(all, 3, on_cpu()), "image 1, scale 0: 7 columns"));
    auto with_nan = sets;
    with_nan[3][1].values[8] = std::nanf("");
    EXPECT_TRUE(has(refusal(views(with_nan), 3, on_cpu()), "image 3, scale 1: row 1, column 1"));

    const Retrieved found = retrieve(views(sets), 5, on_cpu());
    EXPECT_THROW(precision_at(found, {0, 1}, 1), Error);
    EXPECT_THROW(precision_at(found, {0, 1, 0, 1, 0, 1}, 6), Error);
    const auto pixels = picture(40, 40, 1, 3);
    EXPECT_THROW(image_features(view(pixels.data(), 40, 40), 2), Error);
    EXPECT_THROW(image_features(view(pixels.data(), 31, 40), 1), Error);
    EXPECT_THROW(image_features(view(pixels.data(), 40, 40), 3), Error);
}

}  // namespace
