// The k best of a stream of (rank, id), smaller first, with a threshold that is always that of all
// seen so far.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "cpu/primitives/top_k.h"

namespace kith::cpu {

// Sorted where k is small, a heap (the worst on top) where it is not.
class Nearest {
public:
    explicit Nearest(std::int64_t k) : k_(static_cast<std::size_t>(k)) { best_.reserve(k_); }

    void clear() {
        best_.clear();
        worst_ = none;
    }
    double threshold() const { return worst_.rank; }
    // Whether one of that rank and id would enter.
    bool admits(double rank, std::int64_t id) const { return Neighbor{rank, id} < worst_; }
    void push(double rank, std::int64_t id) {
        const Neighbor candidate{rank, id};
        if (!(candidate < worst_)) return;
        if (k_ > most_sorted) return push_heap(candidate);
        if (best_.size() < k_) best_.push_back(candidate);
        std::size_t i = best_.size() - 1;
        for (; i > 0 && candidate < best_[i - 1]; --i) best_[i] = best_[i - 1];
        best_[i] = candidate;
        if (best_.size() == k_) worst_ = best_.back();
    }
    // In order; clear() comes next.
    const std::vector<Neighbor>& finish() {
        if (k_ > most_sorted) std::sort(best_.begin(), best_.end());
        return best_;
    }

private:
    static constexpr Neighbor none{std::numeric_limits<double>::infinity(),
                                   std::numeric_limits<std::int64_t>::max()};
    static constexpr std::size_t most_sorted = 48;

    void push_heap(const Neighbor& candidate) {
        if (best_.size() == k_) {
            std::pop_heap(best_.begin(), best_.end());
            best_.back() = candidate;
        } else {
            best_.push_back(candidate);
        }
        std::push_heap(best_.begin(), best_.end());
        if (best_.size() == k_) worst_ = best_.front();
    }

    std::size_t k_;
    std::vector<Neighbor> best_;
    Neighbor worst_ = none;
};

}  // namespace kith::cpu
