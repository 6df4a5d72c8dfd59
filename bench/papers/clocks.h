// Seconds of a call by the clock, and of processor time: on a machine with other work the latter are those of one core.
#pragma once

#include <time.h>

#include "timing.h"

namespace kith::bench::papers {

struct Clocks {
    double wall, processor;
};

template <class F>
Clocks clocked(F run) {
    const auto processor = [] {
        timespec t{};
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
    };
    const double before = processor();
    const double wall = timed(run);
    return {wall, processor() - before};
}

}  // namespace kith::bench::papers
