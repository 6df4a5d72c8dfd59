// Searches of a GPU whose filter may change its form, held against the scan.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "arrays.h"
#include "kith/kith.h"

namespace held_searches {

struct Random : std::mt19937_64 {
    using std::mt19937_64::mt19937_64;
    double gaussian() { return normal(*this); }
    double share() { return exponential(*this); }
    std::int64_t below(std::int64_t m) { return static_cast<std::int64_t>((*this)() % static_cast<std::uint64_t>(m)); }
    std::normal_distribution<double> normal;
    std::exponential_distribution<double> exponential;
};
using Coordinate = std::function<double(Random&, std::int64_t row, std::int64_t column)>;

// rows x d.
inline std::vector<double> rows_of(std::int64_t rows, std::int64_t d, unsigned seed, const Coordinate& coordinate) {
    Random random(seed);
    std::vector<double> out(static_cast<std::size_t>(rows * d));
    for (std::int64_t i = 0; i < rows * d; ++i) out[static_cast<std::size_t>(i)] = coordinate(random, i / d, i % d);
    return out;
}

// Over a metric's searches: the fewest queries certified and the most scanned, and what the last one did.
struct Seen {
    std::int64_t certified = 0, scanned = 0, last_certified = 0;
    double candidates = 0;
};

// A search and an Index three times (whose own filter may change), by the direct filter, against the scan.
inline Seen hold(kith::MetricId metric, const std::vector<double>& points, const std::vector<double>& queries,
                 std::int64_t d, std::int64_t k, kith::ElementType type, kith::ElementType query_type,
                 const std::string& of) {
    const std::string what = std::string(name(metric)) + ", " + of;
    const std::int64_t q = std::ssize(queries) / d;
    const auto p = arrays::make(points, std::ssize(points) / d, d, type),
               some = arrays::make(queries, q, d, query_type);
    kith::Options options;
    options.device = "cuda";
    options.metric = metric;
    options.f64 = true;
    options.path = "exact";
    const kith::Neighbors truth = search(p.view, some.view, k, options);
    options.path = "direct-f32";
    const kith::Index index(p.view, options);
    Seen seen{q, 0, 0, 0};
    for (int turn = 0; turn < 4; ++turn) {
        const kith::Neighbors found =
            turn == 0 ? search(p.view, some.view, k, options) : index.search(some.view, k, options);
        EXPECT_EQ("direct-f32", found.report.path) << what;
        EXPECT_EQ(truth.ids, found.ids) << what << ", turn " << turn;
        EXPECT_EQ(0, std::memcmp(truth.distances64.data(), found.distances64.data(),
                                 truth.distances64.size() * sizeof(double)))
            << what << ", turn " << turn;
        seen.certified = std::min(seen.certified, found.report.certified);
        seen.scanned = std::max(seen.scanned, found.report.scanned);
        seen.last_certified = found.report.certified;
        seen.candidates = found.report.candidates;
    }
    return seen;
}

}  // namespace held_searches
