// The time from which on no more cells are measured.
#pragma once

#include <chrono>
#include <exception>

namespace kith::bench {

// A study ends before its last cell; what it has measured is written.
class TimeIsUp : public std::exception {
public:
    const char* what() const noexcept override { return "the time is up; --resume goes on"; }
};

class Deadline {
public:
    Deadline() = default;  // never
    explicit Deadline(double seconds_from_now)
        : end_(std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                      std::chrono::duration<double>(seconds_from_now))) {}

    // Asked by every cell before it is measured. Throws TimeIsUp.
    void check() const {
        if (std::chrono::steady_clock::now() >= end_) throw TimeIsUp();
    }

private:
    std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::time_point::max();
};

}  // namespace kith::bench
