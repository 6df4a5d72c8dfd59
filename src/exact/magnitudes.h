// The smallest and the largest of some numbers, by magnitude.
#pragma once

#include "metric/ops.h"

namespace kith {

struct Magnitudes {
    double least =
        bits_to_double(0x7ff0000000000000ULL);  // of those that are not 0; infinity: there are none
    double most = 0;                            // of those that are finite

    KITH_HD void add(double x) {
        constexpr double largest = 0x1.fffffffffffffp+1023;
        const double size = x < 0 ? -x : x;
        least = size > 0 && size < least ? size : least;
        most = size > most && size <= largest ? size : most;
    }
    KITH_HD void join(const Magnitudes& other) {
        least = other.least < least ? other.least : least;
        most = other.most > most ? other.most : most;
    }
};

}  // namespace kith
