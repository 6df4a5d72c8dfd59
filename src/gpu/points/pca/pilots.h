// Results of pilots, the first queries of a tile, with a filter of fewer dimensions, by the number
// of neighbours. More neighbours mean more candidates.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

namespace kith::gpu {

// Thread-safe; several threads may run pilots at once.
class Pilots {
public:
    enum class Answer { serves, refused, unknown };

    // One search in tried_again runs pilots again, because queries may differ.
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
