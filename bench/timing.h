// Seconds of repeated calls, and the last one's report.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "kith/types.h"

namespace kith::bench {

struct Timing {
    std::vector<double> seconds;  // of every run, sorted
    Report report;                // of the last run
    double median() const { return seconds[seconds.size() / 2]; }
    double mean() const {
        double sum = 0;
        for (const double each : seconds) sum += each;
        return sum / static_cast<double>(seconds.size());
    }
    // Standard; NaN of one run.
    double deviation() const {
        const double middle = mean();
        double squares = 0;
        for (const double each : seconds) squares += (each - middle) * (each - middle);
        return std::sqrt(squares / (static_cast<double>(seconds.size()) - 1));
    }
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

// Ten calls to warm up, then ten timed ones, whose mean is what counts (Hanak 2023, 5.1).
template <class F>
Timing repeated_for_mean(F call) {
    constexpr int dropped = 10, counted = 10;
    for (int i = 1; i < dropped; ++i) call();
    return repeated(counted, call);  // which makes one more to warm up
}

}  // namespace kith::bench
