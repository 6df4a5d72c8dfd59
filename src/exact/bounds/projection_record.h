// Success of a projection on actual queries, which may differ from the points that it was fitted
// to.
#pragma once

#include <atomic>
#include <cstdint>

namespace kith::exact {

// Safe for concurrent use.
class ProjectionRecord {
public:
    void note(std::int64_t tried, std::int64_t left) {
        tried_.fetch_add(tried, std::memory_order_relaxed);
        left_.fetch_add(left, std::memory_order_relaxed);
    }
    // True if the projection has answered most queries.
    bool pays() const {
        return pays(tried_.load(std::memory_order_relaxed), left_.load(std::memory_order_relaxed));
    }
    static constexpr bool pays(std::int64_t tried, std::int64_t left) {
        return tried < least_judged || 2 * left < tried;
    }

private:
    static constexpr std::int64_t least_judged = 16;
    std::atomic<std::int64_t> tried_{0}, left_{0};
};

}  // namespace kith::exact
