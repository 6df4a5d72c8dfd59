// Coordinates that a metric admits, made from any.
#pragma once

#include <cmath>
#include <vector>

#include "kith/types.h"
#include "oracle.h"

namespace admissible {

// Folds `values`, row by row, which will be of these element types, into what the metric asks of coordinates.
inline void make(std::vector<double>& values, const oracle::Definition& metric, kith::ElementType type,
                 kith::ElementType other) {
    using kith::ElementType;
    const bool u8 = type == ElementType::u8 || other == ElementType::u8;
    const bool integers = u8 || type == ElementType::i8 || other == ElementType::i8;
    // Integer types see the numbers at twenty times their size, u8 around 100 where some are negative (arrays.h).
    const std::size_t limits = metric.largest.size();
    for (std::size_t i = 0; i < values.size(); ++i) {
        double& v = values[i];
        if (limits > 0) {
            const double largest = metric.largest[i % limits], most = integers ? std::floor(largest) / 20 : largest;
            v = std::isinf(v) ? std::copysign(most, v) : std::fmod(v, most);
        }
        if (metric.non_negative || (u8 && limits > 0)) v = std::fabs(v);
    }
}

}  // namespace admissible
