// How the queries that a projection has been tried with fared: they may be unlike the points that
// it was made for.
#pragma once

#include <atomic>
#include <cstdint>

namespace kith::exact {

// For several threads at once.
class ProjectionRecord {
public:
    void note(std::int64_t tried, std::int64_t left) {
        tried_.fetch_add(tried, std::memory_order_relaxed);
        left_.fetch_add(left, std::memory_order_relaxed);
    }
    // Whether it has answered most of them.
    bool pays() const {
        const std::int64_t tried = tried_.load(std::memory_order_relaxed);
        return tried < least_judged || 2 * left_.load(std::memory_order_relaxed) < tried;
    }

private:
    static constexpr std::int64_t least_judged = 16;
    std::atomic<std::int64_t> tried_{0}, left_{0};
};

}  // namespace kith::exact
