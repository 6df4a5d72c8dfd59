// The smallest and the largest of some numbers, by magnitude.
#pragma once

#include "metric/ops.h"

namespace kith {

struct Magnitudes {
    // The least nonzero number; infinity: there are none.
    double least = bits_to_double(0x7ff0000000000000ULL);
    double most = 0;  // of the finite numbers

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
