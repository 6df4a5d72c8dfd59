// Bodies of the select() tests, for any device: the order is (value, smaller index), -0 equals +0, NaN last. A case's
// answer by definition is made once, and any number of selectors are checked against it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
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
        if (kind == "infinite") return random.below(10) ? infinity : random.gaussian();
        if (kind == "denormal") return std::ldexp(random.gaussian(), -140);
        const double mixed[] = {infinity, -infinity, std::nan(""), -std::nan(""), 0.0, -0.0, 1e30, random.gaussian()};
        return mixed[random.below(8)];
    };
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = one(static_cast<std::int64_t>(i));
    return out;
}

inline const char* const kinds[] = {"gaussian",   "ties", "equal",    "zeros",    "ascending",
                                    "descending", "nan",  "infinite", "denormal", "mixed"};

// The columns of `row` by definition.
inline std::vector<std::int64_t> by_definition(const double* row, std::int64_t cols, std::int64_t k, bool largest) {
    std::vector<std::int64_t> order(cols);
    std::iota(order.begin(), order.end(), 0);
    const auto before = [&](std::int64_t a, std::int64_t b) {
        const double left = row[a], right = row[b];
        if (std::isnan(left) != std::isnan(right)) return std::isnan(right);
        if (std::isnan(left) || left == right) return a < b;
        return largest ? left > right : left < right;
    };
    if (k < cols) std::nth_element(order.begin(), order.begin() + (k - 1), order.end(), before);
    order.resize(k);
    std::sort(order.begin(), order.end(), before);
    return order;
}

// Values as an element type holds them.
inline std::vector<double> held(std::vector<double> all, bool f64) {
    if (!f64) {
        for (double& v : all) v = static_cast<float>(v);
    }
    return all;
}

// A selection and its answer. The matrix lies in host memory.
struct Case {
    std::string label;
    std::int64_t rows, cols, k;
    bool f64, largest, sorted;
    arrays::Array array;
    std::vector<double> values;          // as the matrix holds them, row-major
    std::vector<std::int64_t> expected;  // rows x k, in order

    const kith::MatrixView& matrix() const { return array.view; }
    kith::Options options(kith::Options base) const {
        base.largest = largest;
        base.sorted = sorted;
        return base;
    }
};

inline Case make_case(const std::string& kind, std::int64_t rows, std::int64_t cols, std::int64_t k, bool f64,
                      arrays::Shape shape, bool largest, bool sorted, std::uint64_t seed) {
    const auto type = f64 ? kith::ElementType::f64 : kith::ElementType::f32;
    const std::vector<double> all = values(kind, rows, cols, seed);
    const char* const layouts[] = {"dense", "strided", "column-major"};
    Case c{kind + " " + kith::name(type) + " " + layouts[static_cast<int>(shape)] + ", " + std::to_string(rows) +
               " x " + std::to_string(cols) + ", k " + std::to_string(k) + (largest ? ", largest" : "") +
               (sorted ? "" : ", unsorted"),
           rows,
           cols,
           k,
           f64,
           largest,
           sorted,
           arrays::make(all, rows, cols, type, shape),
           held(all, f64),
           {}};
    c.expected.reserve(rows * k);
    for (std::int64_t row = 0; row < rows; ++row) {
        const auto ids = by_definition(c.values.data() + row * cols, cols, k, largest);
        c.expected.insert(c.expected.end(), ids.begin(), ids.end());
    }
    return c;
}

// Checks one row's answer; `place` says which row, for messages.
template <class Value>
void check_row(const double* in, std::int64_t cols, std::vector<std::int64_t> want, const std::int64_t* found,
               const Value* values, bool sorted, const std::string& label, std::int64_t row) {
    const auto k = static_cast<std::int64_t>(want.size());
    std::vector<std::int64_t> ids(found, found + k);
    for (std::int64_t j = 0; j < k; ++j) {
        ASSERT_TRUE(ids[j] >= 0 && ids[j] < cols) << label << ", row " << row << ", place " << j << ": " << ids[j];
        const double value = values[j], given = in[ids[j]];
        ASSERT_TRUE(value == given || (std::isnan(value) && std::isnan(given)))
            << label << ", row " << row << ", place " << j << ": " << value << " for " << given;
    }
    if (!sorted) {
        std::sort(want.begin(), want.end());
        std::sort(ids.begin(), ids.end());
    }
    if (want == ids) return;
    const auto [right, wrong] = std::mismatch(want.begin(), want.end(), ids.begin());
    FAIL() << label << ", row " << row << ", place " << right - want.begin() << ": " << *wrong << " instead of "
           << *right << ", " << in[*wrong] << " instead of " << in[*right];
}

// True if an answer is the expected one as it stands; what is not may still be right, in another order.
inline bool matches(const Case& c, const kith::Neighbors& got) {
    if (got.ids != c.expected) return false;
    for (std::int64_t row = 0; row < c.rows; ++row) {
        for (std::int64_t i = row * c.k; i < (row + 1) * c.k; ++i) {
            const double given = c.values[row * c.cols + got.ids[i]];
            const double value = c.f64 ? got.distances64[i] : got.distances[i];
            if (value != given && !(std::isnan(value) && std::isnan(given))) return false;
        }
    }
    return true;
}

inline void check(const Case& c, const kith::Neighbors& got) {
    ASSERT_EQ(c.expected.size(), got.ids.size()) << c.label;
    ASSERT_EQ(c.f64 ? 0u : got.ids.size(), got.distances.size()) << c.label;
    ASSERT_EQ(c.f64 ? got.ids.size() : 0u, got.distances64.size()) << c.label;
    if (matches(c, got)) return;
    for (std::int64_t row = 0; row < c.rows; ++row) {
        const std::int64_t first = row * c.k;
        const std::vector<std::int64_t> want(c.expected.begin() + first, c.expected.begin() + first + c.k);
        const double* in = c.values.data() + row * c.cols;
        const std::int64_t* ids = got.ids.data() + first;
        if (c.f64) check_row(in, c.cols, want, ids, got.distances64.data() + first, c.sorted, c.label, row);
        else check_row(in, c.cols, want, ids, got.distances.data() + first, c.sorted, c.label, row);
        if (testing::Test::HasFatalFailure()) return;
    }
}

// Checks one answer against the values that it was made from (already of the matrix' type).
inline void check(const std::vector<double>& all, std::int64_t cols, const kith::Neighbors& got, bool f64,
                  const kith::Options& options, const std::string& label) {
    Case c{label, got.queries, cols, got.k, f64, options.largest, options.sorted, {}, all, {}};
    for (std::int64_t row = 0; row < c.rows; ++row) {
        const auto ids = by_definition(all.data() + row * cols, cols, c.k, c.largest);
        c.expected.insert(c.expected.end(), ids.begin(), ids.end());
    }
    check(c, got);
}

// Calls f(const Case&) for every kind of values at short and middling rows; stops at a fatal failure.
template <class F>
void for_every_case(F f) {
    struct Size {
        std::int64_t rows, cols, k;
    };
    const Size sizes[] = {{1, 1, 1},        {3, 2, 1},        {5, 7, 7},        {4, 64, 10},     {40, 100, 1},
                          {7, 100, 99},     {2, 1000, 32},    {3, 1025, 500},   {2, 3000, 3000}, {1, 40000, 100},
                          {1, 40000, 9000}, {300, 33, 5},     {65, 257, 17},    {31, 513, 130},  {2, 4097, 1024},
                          {3, 20001, 2048}, {1, 131071, 257}, {2, 32769, 2049}, {3, 5000, 2}};
    std::uint64_t turn = 0;
    for (const char* kind : kinds) {
        for (const Size& size : sizes) {
            for (const bool f64 : {false, true}) {
                ++turn;
                f(make_case(kind, size.rows, size.cols, size.k, f64, arrays::shapes[turn % 3], turn / 3 % 2 != 0,
                            turn % 5 != 0, turn));
                if (testing::Test::HasFatalFailure()) return;
            }
        }
    }
}

// Every k of a row of 130 values.
template <class F>
void for_every_k(F f) {
    for (const char* kind : {"ties", "mixed"}) {
        for (const bool f64 : {false, true}) {
            for (std::int64_t k = 1; k <= 130; ++k) {
                f(make_case(kind, 2, 130, k, f64, arrays::Shape::dense, k % 7 == 3, true, 9));
                if (testing::Test::HasFatalFailure()) return;
            }
        }
    }
}

// Long rows, and very many short ones: what a case is, to be made when its turn comes.
struct LargeCase {
    std::int64_t rows, cols, k;
    std::uint64_t turn;

    Case make() const {
        const char* const troubles[] = {"gaussian", "ties", "descending", "infinite", "mixed", "gaussian", "ascending"};
        return make_case(troubles[turn % 7], rows, cols, k, turn % 4 == 0, arrays::shapes[turn % 3], turn % 5 == 1,
                         turn % 6 != 2, turn);
    }
};
inline std::vector<LargeCase> large_cases() {
    std::vector<LargeCase> out;
    const auto next = [&](std::int64_t rows, std::int64_t cols, std::int64_t k) {
        out.push_back({rows, cols, k, out.size() + 1});
    };
    for (const std::int64_t cols : {std::int64_t{1} << 21, (std::int64_t{1} << 21) - 1}) {
        std::int64_t rows = 0;
        for (const std::int64_t k : {1, 31, 100, 129, 1000, 2048, 2049, 20000, 0})
            next(rows++ % 3 + 1, cols, k ? k : cols / 3);
    }
    for (const std::int64_t cols : {33, 65})
        for (const std::int64_t k : {std::int64_t{1}, std::int64_t{7}, cols}) next(70000, cols, k);
    return out;
}
template <class F>
void for_every_large_case(F f) {
    for (const LargeCase& large : large_cases()) {
        f(large.make());
        if (testing::Test::HasFatalFailure()) return;
    }
}

// Likewise, with one set of options; largest and sorted are the cases' own.
inline auto with(const kith::Options& options) {
    return [options](const Case& c) { check(c, kith::select(c.matrix(), c.k, c.options(options))); };
}
inline void every_kind(const kith::Options& options) {
    for_every_case(with(options));
}
inline void every_k(const kith::Options& options) {
    for_every_k(with(options));
}
inline void every_large_case(const kith::Options& options) {
    for_every_large_case(with(options));
}

}  // namespace select_cases
