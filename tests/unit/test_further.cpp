// What further columns say of a pair (docs/proofs/pca.md, lemma 6) is never above its value by all coordinates, in
// long double, one stage after the other.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "adversarial.h"
#include "gpu/filter/pca/further.h"

namespace {

using namespace kith;

using Vector = std::vector<double>;

constexpr std::int64_t d = 40, first_columns = 6, stage_columns = 12, columns = first_columns + 2 * stage_columns;

long double product_of(const Vector& u, const Vector& v) {
    long double sum = 0;
    for (std::size_t i = 0; i < u.size(); ++i) sum += static_cast<long double>(u[i]) * v[i];
    return sum;
}

// Orthonormal columns Q, and P = Q (I + defect w w'), to which they are the nearest such, |w| = 1.
struct Basis {
    Vector q, p;  // d x columns
    exact::ProjectionError error;

    Basis(adversarial::Random& random, double defect) : q(d * columns) {
        for (double& x : q) x = random.gaussian();
        for (int twice = 0; twice < 2; ++twice)
            for (std::int64_t c = 0; c < columns; ++c) {
                for (std::int64_t b = 0; b < c; ++b) {
                    const double along = product(q, c, b);
                    for (std::int64_t i = 0; i < d; ++i) q[i * columns + c] -= along * q[i * columns + b];
                }
                const double norm = std::sqrt(product(q, c, c));
                for (std::int64_t i = 0; i < d; ++i) q[i * columns + c] /= norm;
            }
        p = q;
        const double w = 1 / std::sqrt(static_cast<double>(columns));
        for (std::int64_t i = 0; i < d; ++i) {
            double along = 0;
            for (std::int64_t c = 0; c < columns; ++c) along += q[i * columns + c] * w;
            for (std::int64_t c = 0; c < columns; ++c) p[i * columns + c] += defect * along * w;
        }
        double defect2 = 0;
        for (std::int64_t c = 0; c < columns; ++c)
            for (std::int64_t b = 0; b < columns; ++b) {
                const double e = product(p, c, b) - (c == b ? 1 : 0);
                defect2 += e * e;
            }
        error = exact::ProjectionError(defect2, d, columns);
    }
    static double product(const Vector& at, std::int64_t c, std::int64_t b) {
        double sum = 0;
        for (std::int64_t i = 0; i < d; ++i) sum += at[i * columns + c] * at[i * columns + b];
        return sum;
    }
    static Vector along(const Vector& at, const Vector& v) {
        Vector out(columns, 0.0);
        for (std::int64_t c = 0; c < columns; ++c)
            for (std::int64_t i = 0; i < d; ++i) out[c] += at[i * columns + c] * v[i];
        return out;
    }
};

// A vector, what it has along orthonormal columns, what is computed of that, and what this may be away from it.
struct Given {
    Vector v, exact, along;
    exact::ProjectionError error;

    double norm() const { return static_cast<double>(std::sqrt(product_of(v, v))); }
    // What so many columns leave.
    long double left(std::int64_t of) const {
        long double sum = product_of(v, v);
        for (std::int64_t c = 0; c < of; ++c) sum -= static_cast<long double>(exact[c]) * exact[c];
        return std::sqrt(std::fmax(sum, 0.0L));
    }
};

struct Steps {
    double point = 0, query = 0;
};

// A vector's row of one stage, as the kernels make it.
struct Row {
    std::vector<int> numbers;
    gpu::FurtherTerms terms;

    Row(const Given& of, std::int64_t first, double step, bool query) {
        gpu::FurtherSums sums;
        for (const double x : of.v) sums.norm2 += x * x;
        for (std::int64_t c = 0; c < first; ++c) sums.before2 += of.along[c] * of.along[c];
        for (std::int64_t c = first; c < first + stage_columns; ++c) {
            const double y = of.along[c], b = gpu::further_number(y, 1 / step, query), rest = y - b * step;
            numbers.push_back(static_cast<int>(b));
            sums.own2 += y * y;
            sums.stepped2 += b * step * (b * step);
            sums.rest2 += rest * rest;
        }
        terms = gpu::further_terms(sums, of.error, query);
    }
};

// What a stage makes of `a`.
double found_by(const Given& query, const Given& point, std::int64_t first, const Steps& steps, float a) {
    const Row u(query, first, steps.query, true), v(point, first, steps.point, false);
    int sum = 0;
    for (std::int64_t c = 0; c < stage_columns; ++c) sum += u.numbers[c] * v.numbers[c];
    return gpu::further_value(a, u.terms, v.terms, steps.point * steps.query, sum);
}

// A pair's value by all coordinates where the half norm is such that the first columns, exactly, say 0.
double value_above(const Given& query, const Given& point) {
    long double first = query.left(first_columns) * point.left(first_columns);
    for (std::int64_t c = 0; c < first_columns; ++c) first += static_cast<long double>(query.exact[c]) * point.exact[c];
    return static_cast<double>(first - product_of(query.v, point.v));
}

// Rows of which some lie within the columns' span and some are alike; coordinates `lost` of their length away from the
// products with P, towards what makes the product with the row before smaller, the row longer or shorter.
std::vector<Given> rows_of(adversarial::Random& random, const Basis& basis, double size, double lost) {
    std::vector<Given> rows;
    for (int i = 0; i < 48; ++i) {
        Vector v(d);
        for (double& x : v) x = size * random.gaussian();
        if (i % 3 == 1)
            for (std::int64_t j = 0; j < d; ++j) v[j] = size * basis.q[j * columns + i % columns];
        if (i % 3 == 2 && i > 5)
            for (std::int64_t j = 0; j < d; ++j) v[j] = rows[i - 3].v[j] * (1 + 1e-7 * random.gaussian());
        Given row{v, Basis::along(basis.q, v), Basis::along(basis.p, v), basis.error.with(lost)};
        const Vector away = i % 4 == 0 || i == 0 ? row.exact : rows[i - 1].exact;
        const double sign = i % 8 == 0 ? 1 : -1, length = static_cast<double>(std::sqrt(product_of(away, away)));
        for (std::int64_t c = 0; c < columns && length > 0; ++c)
            row.along[c] += sign * lost * row.norm() * away[c] / length;
        rows.push_back(row);
    }
    return rows;
}

// One after the other both stages, of steps that suit the coordinates, of such that clip or lose nearly all of them,
// and of equal and very different ones.
TEST(Further, IsNeverAboveTheValue) {
    adversarial::Random random(3);
    const std::vector<Steps> all_steps = {{0.335, 0.03}, {0.335, 0.335}, {0.03, 0.03}, {0.002, 0.0003}, {30, 30},
                                          {0.335, 30},   {30, 0.03},     {1e-3, 1e3},  {1e3, 1e-3}};
    double nearest = std::numeric_limits<double>::infinity();
    std::int64_t raised = 0, pairs = 0;
    for (const double defect : {0.0, 1e-9, 1e-4, -1e-4}) {
        const Basis basis(random, defect);
        for (const double lost : {0.0, 1e-5, 0.01}) {
            for (const double size : {1.0, 1e-3, 1e4}) {
                const std::vector<Given> rows = rows_of(random, basis, size, lost);
                for (const Steps& steps : all_steps) {
                    const Steps own{steps.point * size, steps.query * size};
                    for (const Given& u : rows) {
                        for (const Given& v : rows) {
                            const double sizes = static_cast<double>(product_of(u.v, u.v) + product_of(v.v, v.v)),
                                         value = value_above(u, v);
                            float a = 0;
                            for (int stage = 0; stage < 2; ++stage) {
                                const double found = found_by(u, v, first_columns + stage * stage_columns, own, a);
                                ASSERT_LE(found, value + 1e-15 * sizes)
                                    << "defect " << defect << ", lost " << lost << ", steps " << steps.point << " and "
                                    << steps.query << ", size " << size << ", stage " << stage;
                                nearest = std::fmin(nearest, (value - found) / sizes);
                                a = static_cast<float>(found);
                                if (static_cast<double>(a) > found)
                                    a = std::nextafter(a, -std::numeric_limits<float>::infinity());
                            }
                            ++pairs;
                            raised += a > 0;
                        }
                    }
                }
            }
        }
    }
    EXPECT_GT(raised, pairs / 10);
    RecordProperty("nearest", std::to_string(nearest));
}

// Along the first coordinates themselves: products are all that is away from what it should be, in the direction that
// hides most of a pair's product. Without what is lost the bound is above the value.
struct Hidden {
    static constexpr double lost = 1e-3;
    Steps steps{0.25, 0.0078125};
    Given query{Vector(d), Vector(columns), Vector(columns), {}}, point = query;

    // Coordinates that are exact, `away` of them not in what is computed.
    static void set(Given& of, std::int64_t at, double computed, double away) {
        of.v[at] = of.exact[at] = computed + away;
        of.along[at] = computed;
    }
    double found(double of_query, double of_point) {
        const exact::ProjectionError error(0, d, columns);
        query.error = error.with(of_query);
        point.error = error.with(of_point);
        return found_by(query, point, first_columns, steps, 0);
    }
    // A query and a point whose coordinates together are so far away.
    void hold() {
        const auto away = [](const Given& of) {
            double sum = 0;
            for (std::int64_t c = 0; c < columns; ++c) sum += std::pow(of.exact[c] - of.along[c], 2);
            return std::sqrt(sum) / of.norm() * (1 + 1e-12);
        };
        const double value = value_above(query, point);
        EXPECT_LE(found(away(query), away(point)), value);
        EXPECT_GT(found(0, 0), value);
    }
};

// Of one of the two: what the other's numbers say is all of its length.
TEST(Further, PaysForProductsAlongItsColumns) {
    for (const bool of_query : {true, false}) {
        SCOPED_TRACE(of_query ? "query" : "point");
        Hidden pair;
        for (std::int64_t c = first_columns; c < first_columns + stage_columns; ++c) {
            const double u = 100 * pair.steps.query, v = 7 * pair.steps.point;
            Hidden::set(pair.query, c, u, of_query ? Hidden::lost * u : 0);
            Hidden::set(pair.point, c, v, of_query ? 0 : Hidden::lost * v);
        }
        pair.hold();
    }
}

TEST(Further, PaysForProductsAlongTheColumnsBefore) {
    Hidden pair;
    Hidden::set(pair.query, 0, 1, Hidden::lost);
    Hidden::set(pair.point, 0, 1, 0);
    for (Given* const each : {&pair.query, &pair.point}) Hidden::set(*each, first_columns, 0.75, 0);
    pair.hold();
}

TEST(Further, PaysForProductsInWhatIsLeft) {
    Hidden pair;
    constexpr double stage = 1.5, behind = 0.05;
    // The point's coordinate says all of its length.
    Hidden::set(pair.point, first_columns, stage, 0);
    pair.point.v[first_columns] = pair.point.exact[first_columns] = std::sqrt(stage * stage - behind * behind);
    pair.point.v[d - 1] = behind;
    Hidden::set(pair.query, first_columns, 0.0078125, 0);
    pair.query.v[d - 1] = 1;
    pair.hold();
}

TEST(Further, RowsAreWholeRuns) {
    struct Sizes {
        std::int64_t count, row, pieces, query;
    };
    for (const Sizes& of : {Sizes{1, 128, 7, 240}, Sizes{31, 128, 7, 240}, Sizes{32, 128, 7, 240},
                            Sizes{224, 128, 7, 240}, Sizes{225, 256, 15, 496}, Sizes{480, 256, 15, 496}}) {
        const gpu::FurtherColumns columns_of{.first = 0, .count = of.count};
        EXPECT_EQ(of.row, columns_of.row_bytes()) << of.count;
        EXPECT_EQ(of.row, gpu::FurtherColumns::row_bytes(of.count)) << of.count;
        EXPECT_EQ(of.pieces, columns_of.pieces()) << of.count;
        EXPECT_EQ(of.query, columns_of.query_bytes()) << of.count;
        EXPECT_GE(columns_of.pieces() * gpu::FurtherColumns::piece, of.count);
    }
}

TEST(Further, NumbersOfPointsHaveFourBits) {
    for (const double y : {-1e300, -8.6, -7.4, -0.4, 0.0, 0.6, 7.4, 7.6, 1e300}) {
        EXPECT_EQ(std::fmin(std::fmax(std::nearbyint(y), -8.0), 7.0), gpu::further_number(y, 1, false)) << y;
        EXPECT_EQ(std::fmin(std::fmax(std::nearbyint(y), -128.0), 127.0), gpu::further_number(y, 1, true)) << y;
    }
    EXPECT_EQ(127, gpu::further_number(100, 2, true));
    EXPECT_EQ(-128, gpu::further_number(-100, 2, true));
    EXPECT_EQ(3, gpu::further_number(1.5, 2, false));
}

TEST(Further, RoundsToTheSideThatIsSafe) {
    for (const double x : {0.0, 1e-310, 1e-44, 3e-39, 1e-30, 0.1, 1.0, 3e38, 1e39}) {
        EXPECT_LE(static_cast<double>(gpu::at_most(x)), x) << x;
        EXPECT_GE(static_cast<double>(gpu::at_least(x)), x) << x;
    }
}

// Points that every query has to look at, and rows whose terms f32 does not hold, are not left out.
TEST(Further, LeavesWhatHasNoValue) {
    const float infinity = std::numeric_limits<float>::infinity();
    const gpu::FurtherTerms one{1, 1, 1, 1}, wide{1, infinity, infinity, infinity}, vast{infinity, 1, 1, 1};
    for (const gpu::FurtherTerms& of : {one, wide, vast}) {
        EXPECT_FALSE(gpu::further_value(-infinity, of, one, 1, 5) > 0.0);
        EXPECT_FALSE(gpu::further_value(-infinity, one, of, 1, 5) > 0.0);
    }
    EXPECT_FALSE(gpu::further_value(0, wide, one, 1, 5) > 0.0);
    EXPECT_FALSE(gpu::further_value(0, one, wide, 1, 5) > 0.0);
}

TEST(Further, WholeSumsAreBoundedInF32) {
    std::mt19937 random(3);
    std::uniform_int_distribution<int> bits(0, 2147483647);
    for (int turn = 0; turn < 20000; ++turn) {
        const int sum = (bits(random) >> bits(random) % 31) * (turn % 2 ? 1 : -1);
        const double step = std::ldexp(1 + bits(random) * 0x1p-31, bits(random) % 100 - 50), exact = step * step * sum;
        const auto unit = static_cast<float>(step * step);
        // Beyond f32 neither is a number: candidates stay.
        ASSERT_FALSE(static_cast<double>(gpu::value_of_sum(sum, unit)) > exact);
        ASSERT_FALSE(static_cast<double>(gpu::threshold_of_sum(sum, unit)) < exact);
    }
}

}  // namespace
