// Metrics by values that are known: those that scipy and scikit-learn give, the accuracy of the portable functions,
// what is estimated from the points, and what is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "adversarial.h"
#include "api/check/validate.h"
#include "kith/kith.h"
#include "metric/portable.h"
#include "metric_variants.h"
#include "refusal.h"

namespace {

using refusals::refusal;

constexpr double pi = 3.14159265358979323846;

kith::Options of(kith::MetricId metric) {
    kith::Options options;
    options.device = "cpu";
    options.metric = metric;
    options.f64 = true;
    return options;
}

// The distance of two vectors.
template <class T>
double distance(const std::vector<T>& q, const std::vector<T>& x, const kith::Options& options) {
    const auto d = static_cast<std::int64_t>(q.size());
    return kith::search(kith::view(x.data(), 1, d), kith::view(q.data(), 1, d), 1, options).distances64[0];
}

// In units of the last place of the exact value.
double ulps(double got, long double exact) {
    if (exact == 0) return got == 0 ? 0 : 1e300;
    const int exponent = std::ilogb(static_cast<double>(exact));
    return static_cast<double>(std::fabs((got - exact) / std::ldexp(1.0L, exponent - 52)));
}

// The oracle's table says of a metric what its traits say: data of the tests are made by it.
TEST(Traits, AreTheOracles) {
    for (const std::string& name : metric_names()) {
        const kith::metric::Traits traits = kith::api::traits_of(kith::metric_named(name).id);
        const oracle::Definition& definition = oracle::definition(name);
        EXPECT_EQ(traits.similarity, definition.similarity) << name;
        EXPECT_EQ(traits.non_negative, definition.non_negative) << name;
        EXPECT_EQ(traits.dimensions, definition.dimensions) << name;
        for (std::size_t i = 0; i < std::size(traits.limits); ++i) {
            const double largest = traits.limits[i].largest;
            ASSERT_EQ(largest > 0, i < definition.largest.size()) << name;
            if (largest > 0) {
                EXPECT_LE(definition.largest[i], largest) << name;
                EXPECT_GE(definition.largest[i], 0.99 * largest) << name;
            }
        }
        EXPECT_EQ(traits.packed_bits, definition.packed_bits) << name;
        EXPECT_EQ(traits.root != kith::metric::Root::none, definition.distance != nullptr) << name;
    }
}

TEST(Portable, SineCosineArcsine) {
    adversarial::Random random(1);
    double worst_sin = 0, worst_cos = 0, worst_asin = 0;
    const auto look = [&](double x) {
        worst_sin = std::max(worst_sin, ulps(kith::portable::sin(x), std::sin(static_cast<long double>(x))));
        worst_cos = std::max(worst_cos, ulps(kith::portable::cos(x), std::cos(static_cast<long double>(x))));
    };
    for (int i = 0; i < 400000; ++i) {
        look((2 * random.uniform() - 1) * std::ldexp(1.0, static_cast<int>(random.below(22)) - 1));
        look(std::ldexp(random.uniform(), -static_cast<int>(random.below(60))));
        // Where the value is smallest: next to a multiple of pi / 2.
        const double turn = static_cast<double>(random.below(40) - 20) * pi / 2;
        look(turn);
        look(std::nextafter(turn, 100.0));
        look(static_cast<double>(static_cast<float>(turn)));
        const double y = random.uniform() * std::sin(pi / 8);
        worst_asin = std::max(worst_asin, ulps(kith::portable::small_asin(y), std::asin(static_cast<long double>(y))));
    }
    EXPECT_LT(worst_sin, 2);
    EXPECT_LT(worst_cos, 2);
    EXPECT_LT(worst_asin, 2);
    EXPECT_EQ(0.0, kith::portable::sin(0.0));
    EXPECT_EQ(1.0, kith::portable::cos(0.0));
}

TEST(Haversine, OfPlaces) {
    const auto options = of(kith::MetricId::haversine);
    const auto radians = [](double lat, double lon) { return std::vector<double>{lat * pi / 180, lon * pi / 180}; };
    // Buenos Aires and Paris: scikit-learn's example, 11,099.54 km.
    EXPECT_NEAR(11099.54,
                distance(radians(-34.83333, -58.5166646), radians(49.0083899664, 2.53844117956), options) * 6371, 0.01);
    EXPECT_NEAR(pi, distance(radians(90, 0), radians(-90, 77), options), 1e-15);
    EXPECT_NEAR(pi / 2, distance(radians(0, -45), radians(0, 45), options), 1e-15);
    // One meridian by two names, and a pole from anywhere.
    EXPECT_LT(distance(radians(10, 180), radians(10, -180), options), 1e-15);
    EXPECT_LT(distance(radians(90, 12), radians(90, -50), options), 1e-15);
    // Near places keep their digits: a millionth of a radian along a meridian.
    EXPECT_NEAR(1e-6, distance<double>({0.5, 1}, {0.500001, 1}, options), 1e-16);
    // Next to the antipode.
    EXPECT_NEAR(pi - 1e-3, distance<double>({0, 0}, {0, pi - 1e-3}, options), 1e-12);
}

TEST(Haversine, RefusesOtherThanRadians) {
    const auto options = of(kith::MetricId::haversine);
    const std::vector<float> three(9, 1.0f), degrees = {0, 1, 1, 0, 1, 103.8f}, good(6, 1.0f);
    std::string text =
        refusal([&] { kith::search(kith::view(three.data(), 3, 3), kith::view(three.data(), 3, 3), 1, options); });
    EXPECT_NE(std::string::npos, text.find("points: 3 columns; haversine expected 2")) << text;
    text = refusal([&] { kith::search(kith::view(good.data(), 3, 2), kith::view(degrees.data(), 3, 2), 1, options); });
    EXPECT_NE(std::string::npos, text.find("queries: row 2, column 1 is 103.8")) << text;
    EXPECT_NE(std::string::npos, text.find("a longitude within 6.3 radians of 0")) << text;
    text = refusal([&] { kith::plan({100, 100, 3, 1, kith::ElementType::f32, false}, options); });
    EXPECT_NE(std::string::npos, text.find("d: 3; haversine expected 2")) << text;
}

// A latitude ends at the poles, in every element type and on both sides; the longitude beside it goes on.
TEST(Haversine, LatitudesEndAtThePoles) {
    const auto options = of(kith::MetricId::haversine);
    const auto search = [&](const auto& points, const auto& queries) {
        kith::search(kith::view(points.data(), 2, 2), kith::view(queries.data(), 2, 2), 1, options);
    };
    const std::vector<double> poles = {pi / 2, pi, -pi / 2, -2 * pi};
    const std::vector<float> poles32 = {float(pi / 2), float(pi), -float(pi / 2), float(2 * pi)};
    search(poles, poles32);
    // -105 degrees.
    const std::vector<double> beyond = {1, 2, -1.83, 2};
    std::string text = refusal([&] { search(poles, beyond); });
    EXPECT_NE(
        std::string::npos,
        text.find("queries: row 1, column 0 is -1.83; haversine expected a latitude within 1.5707964 radians of 0"))
        << text;
    text = refusal([&] { search(beyond, poles); });
    EXPECT_NE(std::string::npos, text.find("points: row 1, column 0 is -1.83")) << text;
    const std::vector<float> next = {std::nextafter(float(pi / 2), 2.0f), 0, 0, 0};
    text = refusal([&] { kith::Index(kith::view(next.data(), 2, 2), options); });
    EXPECT_NE(std::string::npos, text.find("points: row 0, column 0")) << text;
}

TEST(Sets, OfScipy) {
    const std::vector<float> a = {1, 0, 0, 2, 5}, b = {3, 1, 0, 0, 5}, none(5, 0.0f);
    EXPECT_EQ(0.5, distance(a, b, of(kith::MetricId::jaccard)));
    EXPECT_EQ(2.0 / 6, distance(a, b, of(kith::MetricId::dice)));
    for (const auto metric : {kith::MetricId::jaccard, kith::MetricId::dice}) {
        EXPECT_EQ(0.0, distance(none, none, of(metric)));
        EXPECT_EQ(1.0, distance(a, none, of(metric)));
        EXPECT_EQ(0.0, distance(a, a, of(metric)));
    }
}

// Bits in bytes are the sets that a byte for each is, ties included: 2/4 and 3/6 are one rank.
TEST(Sets, PackedBits) {
    constexpr std::int64_t n = 400, bytes = 21;
    adversarial::Random random(3);
    std::vector<std::uint8_t> packed(n * bytes), plain;
    for (std::int64_t i = 0; i < n * bytes; ++i) {
        packed[i] = static_cast<std::uint8_t>(i / bytes % 5 ? random.bits() & random.bits() & random.bits() : 0);
        for (int bit = 0; bit < 8; ++bit) plain.push_back(packed[i] >> bit & 1);
    }
    for (const std::string& name : metric_names()) {
        if (!oracle::definition(name).packed_bits) continue;
        kith::Options options = of(kith::metric_named(name).id);
        const auto want = kith::graph(kith::view(plain.data(), n, 8 * bytes), 50, options);
        options.metric.packed_bits = true;
        const auto got = kith::graph(kith::view(packed.data(), n, bytes), 50, options);
        EXPECT_EQ(want.ids, got.ids) << name;
        EXPECT_EQ(want.distances64, got.distances64) << name;
    }
    kith::Options options = of(kith::MetricId::cosine);
    options.metric.packed_bits = true;
    const std::string text = refusal([&] { distance(packed, packed, options); });
    for (const char* word : {"packed_bits", "hamming", "jaccard", "dice", "cosine"})
        EXPECT_NE(std::string::npos, text.find(word)) << text;
}

// Of the points, as scipy's variance with ddof = 1: here 4/3 and 16/3.
TEST(SEuclidean, EstimatesTheVariances) {
    const double inf = INFINITY, nan = NAN;
    const double points[] = {1, 2, inf, 5, 1, -2, -1, 2, 7, nan, -1, -2};
    const double queries[] = {3, 2};
    const auto options = of(kith::MetricId::seuclidean);
    const auto got = kith::search(kith::view(points, 6, 2), kith::view(queries, 1, 2), 6, options);
    EXPECT_EQ((std::vector<std::int64_t>{0, 2, 3, 5, 1, -1}), got.ids);
    const double want[] = {std::sqrt(3.0), std::sqrt(6.0), std::sqrt(12.0), std::sqrt(15.0)};
    for (int i = 0; i < 4; ++i) EXPECT_NEAR(want[i], got.distances64[i], 1e-12);
}

TEST(SEuclidean, JudgesTheVariances) {
    const std::vector<double> points = {1, 2, 1, 3, 1, 4}, variances = {1, 0, 2};
    kith::Options options = of(kith::MetricId::seuclidean);
    const auto refused = [&] { return refusal([&] { kith::graph(kith::view(points.data(), 3, 2), 1, options); }); };
    EXPECT_NE(std::string::npos, refused().find("column 0 has variance 0")) << refused();
    // The mean of ten times 0.1 is not 0.1. A row with a NaN is not looked at.
    std::vector<double> tenths(22, 0.1);
    for (std::size_t i = 1; i < tenths.size(); i += 2) tenths[i] = static_cast<double>(i);
    tenths[0] = 7;
    tenths[1] = NAN;
    const std::string constant = refusal([&] { kith::variances(kith::view(tenths.data(), 11, 2)); });
    EXPECT_NE(std::string::npos, constant.find("column 0 has variance 0;")) << constant;
    options.metric.variances = kith::view(variances.data(), 3, 1);
    EXPECT_NE(std::string::npos, refused().find("variances: 3 x 1; expected 2")) << refused();
    options.metric.variances = kith::view(variances.data(), 1, 2);
    EXPECT_NE(std::string::npos, refused().find("variances: number 1 is 0; expected finite values above 0"))
        << refused();
    const std::vector<float> single(2, 1.0f);
    options.metric.variances = kith::view(single.data(), 1, 2);
    EXPECT_NE(std::string::npos, refused().find("f32; expected f64")) << refused();
}

// An infinite coordinate of the point has a divergence of -infinity whatever the query's is, and comes first by its id.
TEST(KlDivergence, OfInfiniteCoordinates) {
    const double infinity = std::numeric_limits<double>::infinity();
    const auto options = of(kith::MetricId::kl_divergence);
    for (const double q : {1e-300, 3.25, 6e158, 1e308}) {
        EXPECT_EQ(-infinity, distance<double>({q, 2.0}, {infinity, 1.0}, options)) << q;
        for (const double x : {1e-300, 1.0, 1e160, 1e308}) {
            EXPECT_EQ(infinity, distance<double>({infinity, 2.0}, {x, 1.0}, options)) << x;
        }
        if (q > 1e300) continue;  // +infinity from the first coordinate, and -infinity from the second
        const std::vector<double> points{1.0, infinity, infinity, 1.0}, query{q, 6e158};
        const auto found = kith::search(kith::view(points.data(), 2, 2), kith::view(query.data(), 1, 2), 2, options);
        EXPECT_EQ((std::vector<std::int64_t>{0, 1}), found.ids) << q;
    }
}

}  // namespace
