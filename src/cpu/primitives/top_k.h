// The k best of a stream of (rank, id), smaller first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace kith::cpu {

struct Neighbor {
    double rank;
    std::int64_t id;
    friend bool operator<(const Neighbor& a, const Neighbor& b) {
        return a.rank < b.rank || (a.rank == b.rank && a.id < b.id);
    }
};

// Appends below a threshold and cuts back to k when its buffer is full: amortised O(1) per accepted
// pair.
class TopK {
public:
    explicit TopK(std::int64_t k) : k_(static_cast<std::size_t>(k)) {}

    // What one takes at most.
    static std::int64_t bytes(std::int64_t k) {
        return (2 * k + 64) * static_cast<std::int64_t>(sizeof(Neighbor));
    }

    void push(double rank, std::int64_t id) {
        if (!enters(rank, id)) return;
        buffer_.push_back({rank, id});
        if (buffer_.size() >= 2 * k_ + 64) compact();
    }
    // Whether that pair is among the k best of what had been pushed before the last settle().
    bool enters(double rank, std::int64_t id) const { return Neighbor{rank, id} < worst_; }
    // In ascending order.
    std::vector<std::int64_t> ids() const {
        std::vector<std::int64_t> out;
        for (const Neighbor& n : buffer_) out.push_back(n.id);
        std::sort(out.begin(), out.end());
        return out;
    }
    // No pair at this rank or above can enter any more.
    double threshold() const { return worst_.rank; }
    // Brings the threshold down to the k-th of what has been pushed.
    void settle() {
        if (buffer_.size() > k_) compact();
        else if (buffer_.size() == k_) worst_ = *std::max_element(buffer_.begin(), buffer_.end());
    }
    void merge(const TopK& other) {
        for (const Neighbor& n : other.buffer_) push(n.rank, n.id);
    }
    // The best of them in order, k at most; nothing is pushed after it.
    const std::vector<Neighbor>& finish() {
        const std::size_t kept = std::min(k_, buffer_.size());
        std::partial_sort(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(kept),
                          buffer_.end());
        buffer_.resize(kept);
        return buffer_;
    }

private:
    void compact() {
        const auto last = buffer_.begin() + static_cast<std::ptrdiff_t>(k_ - 1);
        std::nth_element(buffer_.begin(), last, buffer_.end());
        buffer_.resize(k_);
        worst_ = buffer_.back();
    }

    std::size_t k_;
    std::vector<Neighbor> buffer_;
    Neighbor worst_{std::numeric_limits<double>::infinity(),
                    std::numeric_limits<std::int64_t>::max()};
};

}  // namespace kith::cpu
