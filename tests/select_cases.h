// Bodies of the select() tests, for any device: the order is (value, smaller index), -0 equals +0, NaN last.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "adversarial.h"
#include "arrays.h"
#include "kith/kith.h"

namespace select_cases {

// Values with every kind of trouble.
inline std::vector<double> values(const std::string& kind, std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    adversarial::Random random(seed);
    std::vector<double> out(rows * cols);
    const auto one = [&](std::int64_t i) -> double {
        if (kind == "gaussian") return random.gaussian();
        if (kind == "ties") return double(random.below(3) - 1);
        if (kind == "equal") return 2.5;
        if (kind == "zeros") return random.below(2) ? 0.0 : -0.0;
        if (kind == "ascending") return double(i);
        if (kind == "descending") return -double(i);
        if (kind == "nan") return std::nan("");
        if (kind == "denormal") return std::ldexp(random.gaussian(), -140);
        const double mixed[] = {infinity, -infinity, std::nan(""), -std::nan(""), 0.0, -0.0, 1e30, random.gaussian()};
        return mixed[random.below(8)];
    };
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = one(static_cast<std::int64_t>(i));
    return out;
}

inline const char* const kinds[] = {"gaussian",   "ties", "equal",    "zeros", "ascending",
                                    "descending", "nan",  "denormal", "mixed"};

// The columns of `row` by definition.
inline std::vector<std::int64_t> by_definition(const std::vector<double>& row, std::int64_t k, bool largest) {
    std::vector<std::int64_t> order(row.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        const double left = row[a], right = row[b];
        if (std::isnan(left) || std::isnan(right)) return !std::isnan(left) && std::isnan(right);
        return largest ? left > right : left < right;
    });
    order.resize(k);
    return order;
}

// Checks one answer against the values that it was made from (already of the matrix' type).
inline void check(const std::vector<double>& all, std::int64_t cols, const kith::Neighbors& got, bool f64,
                  const kith::Options& options, const std::string& label) {
    const std::int64_t k = got.k;
    ASSERT_EQ(f64 ? 0u : got.ids.size(), got.distances.size()) << label;
    ASSERT_EQ(f64 ? got.ids.size() : 0u, got.distances64.size()) << label;
    for (std::int64_t row = 0; row < got.queries; ++row) {
        const std::vector<double> in(all.begin() + row * cols, all.begin() + (row + 1) * cols);
        std::vector<std::int64_t> want = by_definition(in, k, options.largest);
        std::vector<std::int64_t> ids(got.ids.begin() + row * k, got.ids.begin() + (row + 1) * k);
        for (std::int64_t j = 0; j < k; ++j) {
            ASSERT_TRUE(ids[j] >= 0 && ids[j] < cols) << label << ", row " << row;
            const double value = f64 ? got.distances64[row * k + j] : got.distances[row * k + j];
            const double given = in[ids[j]];
            ASSERT_TRUE(value == given || (std::isnan(value) && std::isnan(given)))
                << label << ", row " << row << ": " << value << " for " << given;
        }
        if (!options.sorted) {
            std::sort(want.begin(), want.end());
            std::sort(ids.begin(), ids.end());
        }
        ASSERT_EQ(want, ids) << label << ", row " << row;
    }
}

inline void every_kind(kith::Options options) {
    struct Size {
        std::int64_t rows, cols, k;
    };
    const Size sizes[] = {{1, 1, 1},       {3, 2, 1},       {5, 7, 7},        {4, 64, 10},
                          {40, 100, 1},    {7, 100, 99},    {2, 1000, 32},    {3, 1025, 500},
                          {2, 3000, 3000}, {1, 40000, 100}, {1, 40000, 9000}, {300, 33, 5}};
    int turn = 0;
    for (const char* kind : kinds) {
        for (const Size& size : sizes) {
            for (const auto type : {kith::ElementType::f32, kith::ElementType::f64}) {
                ++turn;
                const auto all = values(kind, size.rows, size.cols, turn);
                const auto matrix = arrays::make(all, size.rows, size.cols, type, arrays::shapes[turn % 3]);
                const bool f64 = type == kith::ElementType::f64;
                std::vector<double> exact = all;
                if (!f64) {
                    for (double& v : exact) v = static_cast<float>(v);
                }
                options.largest = turn / 3 % 2;
                options.sorted = turn % 5 != 0;
                const std::string label = std::string(kind) + " " + kith::name(type) + ", " +
                                          std::to_string(size.rows) + " x " + std::to_string(size.cols) + ", k " +
                                          std::to_string(size.k) + (options.largest ? ", largest" : "");
                check(exact, size.cols, kith::select(matrix.view, size.k, options), f64, options, label);
                if (testing::Test::HasFatalFailure()) return;
            }
        }
    }
}

inline void every_k(const kith::Options& options) {
    for (const char* kind : {"ties", "mixed"}) {
        const auto all = values(kind, 2, 130, 9);
        const auto matrix = arrays::make(all, 2, 130, kith::ElementType::f64);
        for (std::int64_t k = 1; k <= 130; ++k) {
            check(all, 130, kith::select(matrix.view, k, options), true, options, kind + (" k " + std::to_string(k)));
            if (testing::Test::HasFatalFailure()) return;
        }
    }
}

}  // namespace select_cases
