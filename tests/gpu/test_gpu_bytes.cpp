// Cityblock and squared distances by sums of bytes, and chebyshev by whole numbers in fp16, on a GPU: whatever rounding
// takes, cuts off or cannot tell apart, the answers are the scan's; where it takes nothing, they are certified at once.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "arrays.h"
#include "held_searches.h"
#include "kith/kith.h"

namespace {

using namespace kith;
using held_searches::Coordinate;
using held_searches::Random;
using held_searches::rows_of;
using held_searches::Seen;

constexpr std::int64_t n = 30000, q = 300, k = 10;
constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

constexpr MetricId metrics[] = {MetricId::cityblock, MetricId::chebyshev, MetricId::sqeuclidean};

Seen hold(MetricId metric, const std::vector<double>& points, const std::vector<double>& queries, std::int64_t d,
          ElementType type, ElementType query_type, const std::string& what) {
    return held_searches::hold(metric, points, queries, d, k, type, query_type, what);
}

const std::map<std::string, Coordinate>& kinds() {
    static const auto outlier = [](double of, std::int64_t one_in) {
        return [of, one_in](Random& r, auto, auto) { return r.below(one_in) ? r.gaussian() : of * r.gaussian(); };
    };
    static const std::map<std::string, Coordinate> all = {
        {"gaussian", [](Random& r, auto, auto) { return r.gaussian(); }},
        {"coordinates that are cut off", outlier(30, 100)},
        {"rows that are cut off",
         [](Random& r, std::int64_t row, auto) { return r.gaussian() * (row % 7 == 3 ? 40 : 1); }},
        {"huge coordinates", outlier(1e30, 5000)},
        {"infinite and NaN coordinates",
         [](Random& r, auto, auto) {
             const auto any = r.below(20000);
             return any == 0 ? infinity : any == 1 ? -infinity : any == 2 ? nan : r.gaussian();
         }},
        {"tight clusters",
         [](Random& r, std::int64_t row, std::int64_t column) {
             return std::sin(static_cast<double>(row % 150 * 131 + column * 17)) + 1e-4 * r.gaussian();
         }},
        {"far from 0", [](Random& r, auto, auto) { return 65536 + r.gaussian(); }},
        {"tiny", [](Random& r, auto, auto) { return 1e-36 * r.gaussian(); }},
        {"columns of many sizes",
         [](Random& r, auto, std::int64_t column) { return std::exp2(column % 30) * r.gaussian(); }},
        {"equal columns", [](Random& r, auto, std::int64_t column) { return column % 2 ? 0.3 : r.gaussian(); }},
        {"whole numbers, nearly all",
         [](Random& r, auto, auto) { return static_cast<double>(r.below(200)) + (r.below(9999) ? 0 : 0.4); }},
        {"whole numbers, and some beyond a byte",
         [](Random& r, auto, auto) { return static_cast<double>(r.below(9999) ? r.below(200) : 1000); }},
        {"few values", [](Random& r, auto, auto) { return static_cast<double>(r.below(3)); }},
    };
    return all;
}

TEST(GpuBytes, WhatRoundingTakesIsPaid) {
    unsigned seed = 1;
    for (const auto& [what, kind] : kinds()) {
        for (const std::int64_t d : {33, 130}) {
            const ElementType type = seed % 3 == 0 && what != "huge coordinates" ? ElementType::f64 : ElementType::f32;
            const std::vector<double> points = rows_of(n, d, seed, kind), queries = rows_of(q, d, seed + 1000, kind);
            for (const MetricId metric : metrics)
                hold(metric, points, queries, d, type, type, what + ", d " + std::to_string(d));
            ++seed;
        }
    }
}

// A sample that says nothing of what bytes lose: its rows are whole numbers, and all others the same ones but for less
// than a byte tells apart. Bytes are given up for words of f32, at once and for the searches that follow.
TEST(GpuBytes, ASampleMisleads) {
    for (const std::int64_t d : {40, 129}) {
        const Coordinate alike = [](Random& r, std::int64_t row, std::int64_t column) {
            const bool sampled = (row * 64 + 63) % n < 64;
            return sampled ? static_cast<double>(r.below(200)) : static_cast<double>(column) + 0.01 * r.gaussian();
        };
        const Coordinate near = [](Random& r, auto, std::int64_t column) {
            return static_cast<double>(column) + 0.01 * r.gaussian();
        };
        for (const MetricId metric : metrics) {
            const Seen seen = hold(metric, rows_of(n, d, 7, alike), rows_of(q, d, 8, near), d, ElementType::f32,
                                   ElementType::f32, "a sample misleads, d " + std::to_string(d));
            EXPECT_EQ(0, seen.scanned) << name(metric);
            EXPECT_EQ(q, seen.last_certified) << name(metric) << ": the coarse form is tried again";
        }
    }
}

// A whole number cannot tell how far a coordinate lies beyond the range's end. Here one of the queries' and of a few
// rows' does, which no sample has: these rows are the nearest, and look farther than others.
TEST(GpuBytes, WhatIsCutOffIsPaid) {
    constexpr double beyond = 40;
    for (const std::int64_t d : {33, 130}) {
        const std::int64_t far = d == 33 ? 0 : 70;
        const Coordinate some = [far](Random& r, std::int64_t row, std::int64_t column) {
            const bool sampled = (row * 64 + 63) % n < 64;
            return r.gaussian() + (column == far && row % 500 < 4 && !sampled ? beyond : 0);
        };
        const Coordinate all = [far](Random& r, auto, std::int64_t column) {
            return r.gaussian() + (column == far ? beyond : 0);
        };
        for (const MetricId metric : metrics)
            hold(metric, rows_of(n, d, 13, some), rows_of(q, d, 1013, all), d, ElementType::f32, ElementType::f32,
                 "coordinates are cut off, d " + std::to_string(d));
    }
}

// Clusters that a sample has few pairs of.
TEST(GpuBytes, ManyCandidatesOfClusters) {
    const Coordinate clusters = [](Random& r, std::int64_t row, std::int64_t column) {
        return std::sin(static_cast<double>(row % 16 * 131 + column * 17)) + 1e-4 * r.gaussian();
    };
    for (const MetricId metric : metrics)
        EXPECT_EQ(q, hold(metric, rows_of(n, 33, 9, clusters), rows_of(q, 33, 10, clusters), 33, ElementType::f32,
                          ElementType::f32, "clusters")
                         .last_certified)
            << name(metric);
}

// Keys that overflow are told apart by their ids alone, and not by bytes.
TEST(GpuBytes, KeysThatOverflow) {
    const Coordinate huge = [](Random& r, auto, auto) { return 3.85e306 * static_cast<double>(r.below(1000)) / 1000; };
    const Coordinate largest = [](Random& r, auto, auto) {
        return 3.85e306 * (0.99 + static_cast<double>(r.below(1000)) / 100000);
    };
    for (const MetricId metric : metrics)
        hold(metric, rows_of(n, 128, 11, huge), rows_of(q, 128, 12, largest), 128, ElementType::f64, ElementType::f64,
             "overflow");
}

TEST(GpuBytes, BytesLoseNothing) {
    const auto bytes = [](Random& r, auto, auto) { return static_cast<double>(r.below(256)); };
    const auto halves = [](Random& r, auto, auto) { return static_cast<double>(r.below(512)) / 2; };
    for (const std::int64_t d : {1, 3, 30, 130}) {
        const std::string what = "d " + std::to_string(d);
        const std::vector<double> points = rows_of(n, d, 1, bytes), queries = rows_of(q, d, 2, bytes);
        std::vector<double> below = points, some = queries;
        for (double& x : below) x -= 128;
        for (double& x : some) x -= 128;
        for (const MetricId metric : metrics) {
            hold(metric, points, rows_of(q, d, 3, halves), d, ElementType::u8, ElementType::f32,
                 "fractions among u8, " + what);
            // Of one dimension there are 256 rows, and of three, or of maxima, so many ties that lists may be longer
            // than they can be.
            const std::int64_t least = metric != MetricId::chebyshev && d >= 30 ? q : 0;
            const auto certified = [&](const std::vector<double>& p, const std::vector<double>& with,
                                       ElementType type) {
                return hold(metric, p, with, d, type, type, "nothing is lost, " + what).certified;
            };
            EXPECT_LE(least, certified(points, queries, ElementType::u8)) << what;
            EXPECT_LE(least, certified(points, queries, ElementType::f32)) << what;
            EXPECT_LE(least, certified(below, some, ElementType::i8)) << what;
        }
    }
}

// What rounding to fp16 takes of Gaussian coordinates is next to nothing.
TEST(GpuBytes, MaximaAreCertified) {
    const Coordinate gaussian = kinds().at("gaussian");
    for (const std::int64_t d : {8, 33, 130}) {
        const Seen seen = hold(MetricId::chebyshev, rows_of(n, d, 17, gaussian), rows_of(q, d, 18, gaussian), d,
                               ElementType::f32, ElementType::f32, "gaussian, d " + std::to_string(d));
        EXPECT_EQ(q, seen.certified) << d;
        EXPECT_LT(seen.candidates, 2.0 * q * k) << d;
    }
}

TEST(GpuBytes, Graphs) {
    const std::int64_t d = 40;
    for (const char* what : {"gaussian", "coordinates that are cut off", "few values"}) {
        const auto p = arrays::make(rows_of(4000, d, 5, kinds().at(what)), 4000, d, ElementType::f32);
        for (const MetricId metric : metrics) {
            Options options;
            options.device = "cuda";
            options.metric = metric;
            const Index index(p.view, options);
            const Neighbors found = index.graph(k, options);
            options.path = "exact";
            const Neighbors truth = index.graph(k, options);
            EXPECT_EQ(truth.ids, found.ids) << name(metric) << ", " << what;
            EXPECT_EQ(truth.distances, found.distances) << name(metric) << ", " << what;
        }
    }
}

}  // namespace
