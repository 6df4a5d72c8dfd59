// What a sample says of boxes.
#include "exact/box_trial.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "adversarial.h"
#include "metric/chebyshev.h"
#include "metric/cityblock.h"
#include "metric/sqeuclidean.h"

namespace {

using kith::exact::BoxTrial;
using kith::exact::share_in_boxes;

constexpr std::int64_t count = 512, d = 40, n = 1 << 20, k = 10, leaf = 32;

std::vector<double> rows_of(const std::function<double(adversarial::Random&, std::int64_t row, std::int64_t)>& value) {
    adversarial::Random random(5);
    std::vector<double> rows;
    for (std::int64_t i = 0; i < count; ++i)
        for (std::int64_t j = 0; j < d; ++j) rows.push_back(value(random, i, j));
    return rows;
}

template <class M>
double share(std::vector<double> rows, std::int64_t axes = d) {
    return share_in_boxes(BoxTrial{M::traits, d, n, k, leaf, axes}, std::move(rows));
}

template <class M>
bool splits(std::vector<double> rows) {
    return kith::exact::splits_few(BoxTrial{M::traits, d, n, k, leaf, d}, std::move(rows));
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
    EXPECT_FALSE(splits<kith::metric::SqEuclidean>(rows_of(gaussian)));
    EXPECT_TRUE(splits<kith::metric::SqEuclidean>(rows_of(one_wide)));
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

}  // namespace
