// Matrices of which some rows hold a NaN, with the number of such rows.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "arrays.h"

namespace nan_cases {

struct NanCase {
    std::string label;
    arrays::Array rows;
    std::int64_t wrong = 0;
};

// Every element type and layout; sizes around those that loops take at a time; a NaN of either sign at the ends of
// rows, several in a row, in all rows or in none.
template <class Use>
void each(const Use& use) {
    const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
    const std::int64_t sizes[][2] = {{1, 1}, {1, 4}, {7, 3}, {33, 16}, {5, 4097}, {4100, 5}, {70000, 2}};
    for (const auto type : arrays::element_types) {
        const bool floating = type != kith::ElementType::i8 && type != kith::ElementType::u8;
        for (const auto shape : arrays::shapes) {
            for (const auto& [n, d] : sizes) {
                for (const std::int64_t every : {std::int64_t{0}, std::int64_t{1}, std::int64_t{3}, n}) {
                    std::vector<double> values(static_cast<std::size_t>(n * d), 1.0);
                    if (floating) values[values.size() / 2] = infinity;
                    NanCase c;
                    for (std::int64_t i = n - 1; floating && every > 0 && i >= 0; i -= every) {
                        values[static_cast<std::size_t>(i * d + (i % 2 == 0 ? 0 : d - 1))] = i % 3 == 0 ? -nan : nan;
                        values[static_cast<std::size_t>(i * d + d / 2)] = nan;
                        ++c.wrong;
                    }
                    c.label = std::string(kith::name(type)) + ", layout " + std::to_string(int(shape)) + ", " +
                              std::to_string(n) + " x " + std::to_string(d) + ", every " + std::to_string(every);
                    c.rows = arrays::make(values, n, d, type, shape);
                    use(c);
                }
            }
        }
    }
}

}  // namespace nan_cases
