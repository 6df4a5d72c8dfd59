// Seconds of repeated calls, and the last one's report.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

#include "kith/types.h"

namespace kith::bench {

struct Timing {
    std::vector<double> seconds;  // of every run, sorted
    Report report;                // of the last run
    double median() const { return seconds[seconds.size() / 2]; }
};

template <class F>
double timed(F run) {
    const auto start = std::chrono::steady_clock::now();
    run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// One call to warm up, then `repeat` timed ones; short calls get more, up to `most`, until all took `enough` seconds.
template <class F>
Timing repeated(int repeat, F call, double enough = 0) {
    constexpr std::size_t most = 201;
    Timing timing;
    timing.report = call();
    double total = 0;
    const auto least = static_cast<std::size_t>(repeat);
    while (timing.seconds.size() < least || (total < enough && timing.seconds.size() < most)) {
        timing.seconds.push_back(timed([&] { timing.report = call(); }));
        total += timing.seconds.back();
    }
    std::sort(timing.seconds.begin(), timing.seconds.end());
    return timing;
}

}  // namespace kith::bench
