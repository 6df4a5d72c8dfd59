// What the first queries of a tile have said of a filter of fewer coordinates, by how many
// neighbours were wanted: the more, the more points pass.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

namespace kith::gpu {

// For several threads at once, which may each try.
class Pilots {
public:
    enum class Answer { serves, refused, unknown };

    // Other queries may come: one search in so many tries again.
    Answer known(std::int64_t k) {
        if (++asked_ % tried_again == 0) return Answer::unknown;
        return k <= served_ ? Answer::serves : k >= refused_ ? Answer::refused : Answer::unknown;
    }
    void note(std::int64_t k, bool serves) {
        if (serves) {
            if (served_ < k) served_ = k;
            if (refused_ <= k) refused_ = none;
        } else {
            if (refused_ > k) refused_ = k;
            if (served_ >= k) served_ = 0;
        }
    }

private:
    static constexpr std::int64_t tried_again = 16, none = std::numeric_limits<std::int64_t>::max();
    std::atomic<std::int64_t> served_{0}, refused_{none}, asked_{0};
};

}  // namespace kith::gpu
