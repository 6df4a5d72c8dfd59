// Coordinates that a metric admits, made from any.
#pragma once

#include <cmath>
#include <vector>

#include "kith/types.h"
#include "oracle.h"

namespace admissible {

// Folds `values`, which will be of these element types, into what the metric asks of coordinates.
inline void make(std::vector<double>& values, const oracle::Definition& metric, kith::ElementType type,
                 kith::ElementType other) {
    using kith::ElementType;
    const bool u8 = type == ElementType::u8 || other == ElementType::u8;
    const bool integers = u8 || type == ElementType::i8 || other == ElementType::i8;
    // Integer types see the numbers at twenty times their size, u8 around 100 where some are negative (arrays.h).
    const double largest = integers ? metric.largest / 20 : metric.largest;
    for (double& v : values) {
        if (std::isfinite(largest)) v = std::isinf(v) ? std::copysign(largest, v) : std::fmod(v, largest);
        if (metric.non_negative || (u8 && std::isfinite(largest))) v = std::fabs(v);
    }
}

}  // namespace admissible
