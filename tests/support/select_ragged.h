// Bodies of the tests of select() on 16-bit floats and on rows of different lengths, for any device.
#pragma once

#include <cstring>

#include "exact/element.h"
#include "select_cases.h"

namespace select_cases {

// A selection among rows of different lengths, and its answer to the bit.
struct Ragged {
    std::string label;
    std::int64_t k;
    bool largest;
    arrays::Array array;
    std::vector<std::int64_t> lengths;   // of the rows; empty: all columns
    std::vector<std::int64_t> expected;  // ids
    std::vector<std::byte> values;       // elements of the matrix' own type

    kith::Options options(kith::Options base) const {
        base.largest = largest;
        if (!lengths.empty()) base.lengths = kith::view(lengths.data(), static_cast<std::int64_t>(lengths.size()), 1);
        return base;
    }
};

inline Ragged make_ragged(const std::string& kind, std::int64_t rows, std::int64_t cols, std::int64_t k,
                          kith::ElementType type, arrays::Shape shape, bool largest, bool whole, std::uint64_t seed) {
    Ragged r{kind + " " + kith::name(type) + ", " + std::to_string(rows) + " x " + std::to_string(cols) + ", k " +
                 std::to_string(k) + (largest ? ", largest" : "") + (whole ? "" : ", ragged") + ", layout " +
                 std::to_string(static_cast<int>(shape)),
             k,
             largest,
             arrays::make(values(kind, rows, cols, seed), rows, cols, type, shape),
             {},
             {},
             {}};
    adversarial::Random random(seed + 1);
    // None, fewer than k, k, and more of them.
    for (std::int64_t i = 0; i < rows && !whole; ++i) {
        const std::int64_t some[] = {0, std::min(k, cols) / 2, k, cols,
                                     static_cast<std::int64_t>(random.below(cols + 1))};
        r.lengths.push_back(some[random.below(5)]);
    }
    const std::size_t size = kith::size_of(type);
    const double infinity = std::numeric_limits<double>::infinity();
    std::vector<std::byte> missing(size);
    arrays::encode(largest ? -infinity : infinity, type, false, missing.data());
    for (std::int64_t row = 0; row < rows; ++row) {
        std::vector<double> held;
        const std::int64_t length = whole ? cols : r.lengths[row];
        for (std::int64_t column = 0; column < length; ++column)
            held.push_back(kith::exact::load(r.array.view.data, type, kith::exact::offset(r.array.view, row, column)));
        const std::int64_t found = std::min(k, length);
        std::vector<std::int64_t> ids;
        if (found > 0) ids = by_definition(held.data(), length, found, largest);
        for (std::int64_t j = 0; j < k; ++j) {
            r.expected.push_back(j < found ? ids[j] : -1);
            const std::byte* from = missing.data();
            if (j < found)
                from = static_cast<const std::byte*>(r.array.view.data) +
                       kith::exact::offset(r.array.view, row, ids[j]) * static_cast<std::int64_t>(size);
            r.values.insert(r.values.end(), from, from + size);
        }
    }
    return r;
}

// Calls f(const Ragged&) for every type, kind of values and layout; stops at a fatal failure.
template <class F>
void for_every_ragged(F f) {
    struct Size {
        std::int64_t rows, cols, k;
    };
    const Size sizes[] = {{1, 1, 1},       {9, 100, 10},   {40, 33, 33},  {5, 3000, 300},
                          {3, 8195, 2048}, {2, 40000, 64}, {7, 16385, 17}};
    std::uint64_t turn = 0;
    for (const auto type :
         {kith::ElementType::f32, kith::ElementType::f64, kith::ElementType::f16, kith::ElementType::bf16}) {
        for (const char* kind : kinds) {
            for (const Size& size : sizes) {
                ++turn;
                const bool narrow = type == kith::ElementType::f16 || type == kith::ElementType::bf16;
                f(make_ragged(kind, size.rows, size.cols, size.k, type, arrays::shapes[turn % 3], turn / 3 % 2 != 0,
                              narrow && turn % 2 == 0, turn));
                if (testing::Test::HasFatalFailure()) return;
            }
        }
    }
}

inline void check(const Ragged& r, const std::vector<std::int64_t>& ids, const std::vector<std::byte>& values,
                  const char* where) {
    ASSERT_EQ(r.expected, ids) << r.label << " " << where;
    ASSERT_EQ(r.values.size(), values.size());
    ASSERT_EQ(0, std::memcmp(r.values.data(), values.data(), values.size())) << r.label << " " << where;
}

// From host memory into host memory.
inline void check_on_host(const Ragged& r, const kith::Options& base) {
    std::vector<std::int64_t> ids(r.expected.size());
    std::vector<std::byte> values(r.values.size());
    kith::select_into(r.array.view, r.k, r.options(base), {ids.data(), values.data(), kith::host_memory});
    check(r, ids, values, base.selector.c_str());
}

}  // namespace select_cases
