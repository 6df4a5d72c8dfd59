// Elapsed seconds of a monotonic clock. Public because kith::io and the command line, which sees public headers alone,
// share it (docs/adr/0007).
#pragma once

#include <chrono>

namespace kith {

// Starts at construction.
class Stopwatch {
public:
    double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point start_ = Clock::now();
};

}  // namespace kith
