// Results of pilots, the first queries of a tile, with a filter of fewer dimensions, by the number
// of neighbours. More neighbours mean more candidates.
#pragma once

#include <cstdint>
#include <limits>

namespace kith::gpu {

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
    // Adds what is known after a call beyond what was known before it.
    void add(const Pilots& before, const Pilots& after) {
        asked_ += after.asked_ - before.asked_;
        if (after.served_ == before.served_ && after.refused_ == before.refused_) return;
        served_ = after.served_;
        refused_ = after.refused_;
    }

private:
    static constexpr std::int64_t tried_again = 16, none = std::numeric_limits<std::int64_t>::max();
    std::int64_t served_ = 0, refused_ = none, asked_ = 0;
};

}  // namespace kith::gpu
