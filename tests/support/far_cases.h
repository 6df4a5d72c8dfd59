// Body of the tests of what lies at the end of an order, for any device: queries with fewer than k points at a finite
// distance, and queries of zeros that all points are as far from. test_far.cpp runs it on the CPU, test_gpu_far.cpp on
// CUDA.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "entropy_attacks.h"
#include "search_cases.h"

namespace far_cases {

using entropy_attacks::Data;

// The oracle's answer, and the most queries that a filter left to the scan.
inline std::int64_t scanned(const std::string& device, const std::string& metric, const Data& data,
                            kith::ElementType type, std::int64_t k, const std::string& label) {
    const search_cases::Case c{label, variants(metric, data.d, type).front(),
                               arrays::make(data.points, data.n, data.d, type),
                               arrays::make(data.queries, data.q, data.d, type), k};
    const Truth truth = c.truth();
    std::int64_t scans = 0;
    for (const char* path : {"gemm-f16", "gemm-bf16", "gemm-f32", ""}) {
        const auto got = search_cases::answer(device, c, {path, "", 0, false}, true);
        if (!got) continue;
        EXPECT_EQ("", truth.difference(*got)) << label << ", path '" << path << "'";
        if (got->report.path != "exact") scans = std::max(scans, got->report.scanned);
    }
    return scans;
}

// For `finite` points in 1,000 no coordinate is 0; of others one is, which queries have.
inline Data divergences(std::int64_t n, std::int64_t q, std::int64_t finite, std::uint64_t seed) {
    constexpr std::int64_t d = 24;
    Data data(n, q, d, seed);
    entropy_attacks::each(data, [](Data& rows, auto, auto) { return 0.01 + entropy_attacks::exponential(rows); });
    for (std::int64_t i = 0; i < n; ++i)
        if (static_cast<std::int64_t>(data.random.below(1000)) >= finite)
            data.points[static_cast<std::size_t>(i * d) + data.random.below(d)] = 0;
    // Some queries have nothing where points have zeros.
    for (std::int64_t i = 0; i < q; i += 5)
        for (std::int64_t j = i % 3; j < d; j += 2) data.queries[static_cast<std::size_t>(i * d + j)] = 0;
    // And one has nothing anywhere.
    for (std::int64_t j = 0; j < d; ++j) data.queries[static_cast<std::size_t>((q - 1) / 2 * d + j)] = 0;
    return data;
}

inline void fewer_than_k_finite(const std::string& device) {
    std::uint64_t seed = 70;
    for (const std::int64_t n : {40, 3000, 9000}) {
        for (const std::int64_t q : {1, 3, 60}) {
            for (const std::int64_t finite : {0, 1, 4, 30, 500}) {
                for (const std::int64_t k : {1, 10, 100}) {
                    const std::string label = "n " + std::to_string(n) + ", q " + std::to_string(q) + ", finite " +
                                              std::to_string(finite) + ", k " + std::to_string(k);
                    const auto type = ++seed % 2 ? kith::ElementType::f32 : kith::ElementType::f64;
                    EXPECT_EQ(0, scanned(device, "kl_divergence", divergences(n, q, finite, seed), type, k, label))
                        << label;
                }
            }
        }
    }
}

// Among them points with a NaN at the beginning, and at the end ones that no filter covers or that are so far without a
// zero that their values are those of infinite keys.
inline void fewer_than_k_finite_among_others(const std::string& device) {
    constexpr std::int64_t n = 2500, q = 40, d = 24;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    std::uint64_t seed = 7;
    for (const double other : {nan, 1e220, 1e-220, 1e-140, 1e140}) {
        for (const std::int64_t every : {1, 7, 1000}) {
            for (const std::int64_t k : {5, 100}) {
                Data data = divergences(n, q, 2, ++seed);
                for (std::int64_t i = 0; i < 300; i += every)
                    for (std::int64_t j = 0; j < (other == other ? d : 1); ++j)
                        data.points[static_cast<std::size_t>((other == other ? n - 1 - i : i) * d + j)] = other;
                scanned(device, "kl_divergence", data, kith::ElementType::f64, k,
                        std::to_string(other) + " in every " + std::to_string(every) + ", k " + std::to_string(k));
            }
        }
    }
}

inline void graph_of_few_finite(const std::string& device) {
    for (const std::int64_t finite : {0, 2, 300}) {
        const Data data = divergences(2000, 1, finite, static_cast<std::uint64_t>(finite) + 3);
        const auto variant = variants("kl_divergence", data.d, kith::ElementType::f32).front();
        const arrays::Array points = arrays::make(data.points, data.n, data.d, kith::ElementType::f32);
        for (const std::int64_t k : {1, 20}) {
            const Truth truth("kl_divergence", variant.params, points.view, points.view, k, true);
            const kith::Options options = search_cases::options_of(device, variant, {}, true);
            EXPECT_EQ("", truth.difference(kith::graph(points.view, k, options))) << "finite " << finite << ", k " << k;
        }
    }
}

// Queries of zeros are at distance 0 of all points of inner products but of those with an infinite coordinate.
inline void queries_of_zeros(const std::string& device) {
    constexpr std::int64_t n = 4000, d = 40;
    const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    std::uint64_t seed = 20;
    for (const double mean : {0.0, 5.0, 1000.0}) {
        for (const double other : {0.0, nan, infinity, 1e200, 1e9}) {
            for (const std::int64_t q : {1, 40}) {
                Data data(n, q, d, ++seed);
                entropy_attacks::each(data, [&](Data& rows, auto, auto) { return mean + rows.random.gaussian(); });
                for (std::int64_t i = 0; i < q; i += 2)
                    for (std::int64_t j = 0; j < d; ++j)
                        data.queries[static_cast<std::size_t>(i * d + j)] = i % 4 ? 1e-200 : j % 2 ? -0.0 : 0.0;
                for (std::int64_t i = 0; i < 2000 && other != 0; i += other == infinity ? 1 : 30)
                    data.points[static_cast<std::size_t>(i * d + i % d)] = other;
                for (const std::int64_t k : {1, 60}) {
                    const std::string label = "mean " + std::to_string(mean) + ", other " + std::to_string(other) +
                                              ", q " + std::to_string(q) + ", k " + std::to_string(k);
                    const std::int64_t scans = scanned(device, "inner_product", data, kith::ElementType::f64, k, label);
                    const bool first_is_zero = q == 1, all_finite = other != infinity && other != 1e200;
                    EXPECT_EQ(0, first_is_zero && all_finite ? scans : 0) << label;
                }
            }
        }
    }
}

// Rows of zeros among points around a mean, which is far more than they differ by: the centre is that of the others,
// and the filter leaves few candidates.
inline void rows_of_zeros_around_a_mean(const std::string& device) {
    constexpr std::int64_t n = 20'000, q = 100, d = 40, k = 10;
    for (const char* metric : {"sqeuclidean", "inner_product"}) {
        for (const std::int64_t step : {50, 20}) {
            Data data(n, q, d, 90);
            entropy_attacks::each(data, [](Data& rows, auto, auto j) {
                return 60 + (entropy_attacks::exponential(rows) - entropy_attacks::exponential(rows)) /
                                std::pow(static_cast<double>(j + 1), 1.5);
            });
            for (std::int64_t i = 0; i < n; i += step)
                std::fill_n(data.points.begin() + static_cast<std::ptrdiff_t>(i * d), d, 0.0);
            const std::string label = std::string(metric) + ", one row in " + std::to_string(step);
            const search_cases::Case c{label, variants(metric, d, kith::ElementType::f32).front(),
                                       arrays::make(data.points, n, d, kith::ElementType::f32),
                                       arrays::make(data.queries, q, d, kith::ElementType::f32), k};
            // On a GPU a scan takes less for so few pairs.
            const char* const filter = device == "cpu" ? "" : "gemm-f16";
            const auto want = search_cases::answer(device, c, {"exact", "", 0, false}, true),
                       got = search_cases::answer(device, c, {filter, "", 0, false}, true);
            ASSERT_TRUE(want && got);
            EXPECT_EQ(want->ids, got->ids) << label;
            EXPECT_EQ(want->distances64, got->distances64) << label;
            EXPECT_LE(got->report.candidates, 20.0 * q * k) << label;
        }
    }
}

}  // namespace far_cases
