// What products with a projection's matrix may be away (docs/proofs/pca.md, lemma 2), in long double: vectors and
// directions in which every part of the bound is needed.
#include <gtest/gtest.h>

#include <cmath>

#include "exact/bounds/projection_error.h"

namespace {

using kith::exact::ProjectionError;

constexpr std::int64_t depth = 64, columns = 8;

// A vector of length `norm` in the plane of one column q of Q, whose column of P is (1 + defect) q, and of a direction
// across all columns; its product with P is said to be `away` of its length less.
struct Case {
    long double norm, cosine, defect, away;

    long double coordinate() const { return norm * cosine; }
    long double computed() const { return norm * (cosine * (1 + defect) - away); }
    long double remainder() const { return norm * std::sqrt(std::fmax(0.0L, 1 - cosine * cosine)); }
    long double computed_remainder2() const { return norm * norm - computed() * computed(); }
    long double computed_remainder() const { return std::sqrt(std::fmax(0.0L, computed_remainder2())); }
    ProjectionError error() const {
        const long double of_gram = defect * (2 + defect);
        return ProjectionError(static_cast<double>(of_gram * of_gram), depth, columns)
            .with(static_cast<double>(std::fabs(away)));
    }
};

TEST(ProjectionError, CoversWhatProductsLose) {
    double nearest_coordinate = 0, nearest_left = 0;
    for (const long double norm : {1.0L, 1e-6L, 3e4L})
        for (const long double defect : {0.0L, 1e-7L, -1e-7L, 1e-3L, -1e-3L})
            for (const long double away : {0.0L, 1e-9L, 3e-5L, -3e-5L, 0.01L, -0.01L, 0.5L, -0.5L})
                for (const long double cosine : {0.0L, 1e-5L, 0.3L, 0.7L, 0.999L, 1 - 1e-7L, 1.0L}) {
                    const Case of{norm, cosine, defect, away};
                    const ProjectionError error = of.error();
                    const auto norm2 = static_cast<double>(norm * norm),
                               left = static_cast<double>(of.computed_remainder());
                    const auto coordinate = static_cast<double>(std::fabs(of.computed() - of.coordinate())),
                               remainder = static_cast<double>(std::fabs(of.computed_remainder() - of.remainder()));
                    SCOPED_TRACE(testing::Message() << "norm " << norm << ", defect " << defect << ", away " << away
                                                    << ", cosine " << cosine);
                    const double of_coordinates = error.coordinates * static_cast<double>(norm),
                                 of_left = error.of_left(norm2, left);
                    EXPECT_LE(coordinate, of_coordinates);
                    EXPECT_LE(remainder, of_left);
                    EXPECT_GE(error.remainder(norm2, static_cast<double>(of.computed_remainder2())),
                              static_cast<double>(of.remainder()) * (1 - 0x1p-52));
                    EXPECT_LE(std::hypot(coordinate, remainder), error.of(norm2, left));
                    if (away == 0.01L && defect == 0) {
                        nearest_coordinate = std::fmax(nearest_coordinate, coordinate / of_coordinates);
                        nearest_left = std::fmax(nearest_left, remainder / of_left);
                    }
                }
    // Neither is more than what is needed of it.
    EXPECT_GT(nearest_coordinate, 0.999);
    EXPECT_GT(nearest_left, 0.9);
}

TEST(ProjectionError, WithNothingLostIsItself) {
    const ProjectionError error(1e-14, depth, columns), same = error.with(0);
    EXPECT_GE(same.coordinates, error.coordinates);
    EXPECT_LE(same.coordinates, error.coordinates * (1 + 0x1p-39));
    EXPECT_EQ(error.square, same.square);
}

TEST(ProjectionError, OfNoVectorThereIsNone) {
    const ProjectionError error = ProjectionError(1e-14, depth, columns).with(0.1);
    EXPECT_EQ(0, error.of_left(0, 0));
    EXPECT_EQ(0, error.of(0, 0));
}

// The root of the square's error where little is left, a share of what is left where much is.
TEST(ProjectionError, OfWhatIsLeft) {
    const ProjectionError error = ProjectionError(0, depth, columns).with(1e-4);
    EXPECT_DOUBLE_EQ(std::sqrt(error.square), error.of_left(1, 0));
    EXPECT_NEAR(error.square / 0.5, error.of_left(1, 0.5), 1e-15);
    EXPECT_NEAR(std::sqrt(error.square), error.of_left(1, 1e-4), 1e-15);
    EXPECT_NEAR(9 * error.of_left(1, 0.5) / 3, error.of_left(9, 1.5), 1e-15);
}

}  // namespace
