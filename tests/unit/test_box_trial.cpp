// What a sample says of boxes.
#include "exact/bounds/box_trial.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "adversarial.h"
#include "metric/chebyshev.h"
#include "metric/cityblock.h"
#include "metric/sqeuclidean.h"

namespace {

using kith::exact::boxes_pay;
using kith::exact::BoxTrial;
using kith::exact::share_in_boxes;

constexpr std::int64_t count = 512, d = 40, n = 1 << 20, leaf = 32;

std::vector<double> rows_of(const std::function<double(adversarial::Random&, std::int64_t row, std::int64_t)>& value) {
    adversarial::Random random(5);
    std::vector<double> rows;
    for (std::int64_t i = 0; i < count; ++i)
        for (std::int64_t j = 0; j < d; ++j) rows.push_back(value(random, i, j));
    return rows;
}

template <class M>
double share(std::vector<double> rows, std::int64_t axes = d) {
    return share_in_boxes(BoxTrial{M::traits, d, n, leaf, axes}, std::move(rows));
}

double gaussian(adversarial::Random& random, std::int64_t, std::int64_t) {
    return random.gaussian();
}
double one_wide(adversarial::Random& random, std::int64_t, std::int64_t column) {
    return random.gaussian() * (column == 7 ? 1e5 : 1);
}

TEST(BoxTrial, CoordinatesOfOneWidthLeaveNothingOut) {
    EXPECT_EQ(1, share<kith::metric::SqEuclidean>(rows_of(gaussian)));
    EXPECT_EQ(1, share<kith::metric::Cityblock>(rows_of(gaussian)));
}

TEST(BoxTrial, AFewWideOnesLeaveNearlyAllOut) {
    EXPECT_LT(share<kith::metric::SqEuclidean>(rows_of(one_wide)), 5e-3);
    EXPECT_LT(share<kith::metric::Cityblock>(rows_of(one_wide)), 5e-3);
    EXPECT_LT(share<kith::metric::Chebyshev>(rows_of(one_wide)), 5e-3);
    const auto three = [](adversarial::Random& random, std::int64_t, std::int64_t column) {
        return random.gaussian() * (column < 3 ? 1000 : 1);
    };
    EXPECT_LT(share<kith::metric::SqEuclidean>(rows_of(three)), 0.01);
}

TEST(BoxTrial, AColumnThatIsNotWideEnoughDoesNot) {
    const auto wider = [](adversarial::Random& random, std::int64_t, std::int64_t column) {
        return random.gaussian() * (column == 0 ? 20 : 1);
    };
    EXPECT_GT(share<kith::metric::SqEuclidean>(rows_of(wider)), 0.1);
}

TEST(BoxTrial, BoxesAreSplitAlongTheFirstAxesAlone) {
    EXPECT_EQ(1, share<kith::metric::SqEuclidean>(rows_of(one_wide), 7));
}

TEST(BoxTrial, RowsThatAreNotFiniteAreLeftOut) {
    const double infinity = std::numeric_limits<double>::infinity();
    std::vector<double> rows = rows_of(one_wide);
    for (std::int64_t i = 0; i < count / 2; ++i)
        rows[static_cast<std::size_t>(2 * i * d + i % d)] = i % 2 ? infinity : std::numeric_limits<double>::quiet_NaN();
    EXPECT_LT(share<kith::metric::SqEuclidean>(rows), 0.01);
    EXPECT_EQ(1, share<kith::metric::SqEuclidean>(std::vector<double>(static_cast<std::size_t>(count * d), infinity)));
    EXPECT_EQ(1, share<kith::metric::SqEuclidean>({}));
}

TEST(BoxTrial, AFarRowDoesNotWidenAColumn) {
    std::vector<double> rows = rows_of(gaussian);
    rows[3] = 1e9;
    EXPECT_GT(share<kith::metric::SqEuclidean>(rows), 0.5);
}

struct Trial {
    bool pays;
    std::vector<std::int64_t> asked;  // how many rows, each time
};
Trial trial_of(const std::vector<double>& rows, double most, std::int64_t points = n) {
    Trial out{};
    const auto sample = [&](std::int64_t some) {
        out.asked.push_back(some);
        return std::vector<double>(rows.begin(), rows.begin() + some * d);
    };
    out.pays = boxes_pay({.traits = kith::metric::SqEuclidean::traits, .d = d, .n = points, .leaf = leaf, .axes = d},
                         {.sampled_rows = count, .most_in_boxes = most}, sample);
    return out;
}

TEST(BoxTrial, AFewRowsSayThatBoxesLeaveNothingOut) {
    const Trial trial = trial_of(rows_of(gaussian), 1);
    EXPECT_FALSE(trial.pays);
    ASSERT_EQ(1u, trial.asked.size());
    EXPECT_LT(trial.asked[0], count);
}

TEST(BoxTrial, BoxesPayUpToTheShareThatTheyMayHold) {
    const double held = share<kith::metric::SqEuclidean>(rows_of(one_wide));
    const Trial trial = trial_of(rows_of(one_wide), held);
    EXPECT_TRUE(trial.pays);
    ASSERT_EQ(2u, trial.asked.size());
    EXPECT_EQ(count, trial.asked[1]);
    EXPECT_FALSE(trial_of(rows_of(one_wide), held * (1 - 1e-9)).pays);
}

TEST(BoxTrial, NoMoreRowsAreAskedForThanThereAre) {
    const Trial trial = trial_of(rows_of(one_wide), 1, 40);
    EXPECT_TRUE(trial.pays);
    EXPECT_EQ((std::vector<std::int64_t>{40, 40}), trial.asked);
}

}  // namespace
