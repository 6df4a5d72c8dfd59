// The filter's state of one query: a threshold that only falls, and the candidates, the points that
// may be among the k nearest.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "cpu/filter/bound.h"
#include "cpu/primitives/kth.h"

namespace kith::cpu {

struct Candidate {
    float low, high;  // the filter's value; the upper value (value plus the point's slack)
    std::int64_t id;
};

class Candidates {
public:
    // full() is true if fewer than `room` more appends fit, or `behind` appends after the last
    // tighten(), or after the list was long enough for a threshold. `kth` finds the k-th smallest
    // upper value.
    Candidates(std::int64_t k, const QueryTerms& terms, std::int64_t room,
               std::int64_t behind = std::numeric_limits<std::int64_t>::max(),
               KthSmallest kth = kth_smallest(Isa::baseline))
        : k_(static_cast<std::size_t>(k)),
          rank_(k_),
          room_(static_cast<std::size_t>(room)),
          behind_(static_cast<std::size_t>(behind)),
          due_(k_),
          terms_(terms),
          kth_(kth) {
        list_.reserve(3 * k_ + 2 * room_);
    }

    float threshold() const { return threshold_; }
    bool full() const {
        return list_.size() + room_ > list_.capacity() ||
               (list_.size() >= due_ && list_.size() - due_ >= behind_);
    }

    // A value of NaN or -inf: the bound does not cover the point, which stays a candidate.
    void append(float value, float slack, std::int64_t id) {
        constexpr float infinity = std::numeric_limits<float>::infinity();
        if (!(value > -infinity)) list_.push_back({-infinity, infinity, id});
        else list_.push_back({value, value + slack, id});
    }

    void lower(float threshold) {
        if (threshold < threshold_) threshold_ = threshold;
    }

    // From here on the threshold is the rank-th smallest upper value. With a rank below k it is a
    // guess, which the caller has to verify against the answer (see guess()).
    void set_rank(std::int64_t rank) {
        rank_ = static_cast<std::size_t>(rank);
        due_ = std::max(rank_, list_.size());
    }
    // The lowest guessed threshold, else +inf. No point with a value up to it was dropped without
    // proof.
    float guess() const { return guess_; }

    // Lowers the threshold to the rank-th smallest upper value, which for rank k bounds the k-th
    // distance key, and drops the candidates above it. Returns false if the list is nearly full
    // nevertheless. `upper`: scratch memory, which many lists may share.
    bool tighten(std::vector<float>& upper) {
        if (list_.size() >= rank_) {
            upper.resize(list_.size());
            for (std::size_t i = 0; i < list_.size(); ++i) upper[i] = list_[i].high;
            const float kth =
                kth_(upper.data(), std::ssize(upper), static_cast<std::int64_t>(rank_));
            lower(terms_.threshold_from_upper(static_cast<double>(kth)));
            if (rank_ < k_) guess_ = threshold_;
        }
        // Compacts without a data-dependent branch.
        const float t = threshold_;
        std::size_t kept = 0;
        for (const Candidate c : list_) {
            list_[kept] = c;
            kept += !(c.low > t);
        }
        list_.erase(list_.begin() + static_cast<std::ptrdiff_t>(kept), list_.end());
        due_ = std::max(rank_, list_.size());
        return list_.size() + room_ + (list_.capacity() - k_) / 4 <= list_.capacity();
    }

    std::vector<Candidate>& list() { return list_; }

private:
    std::size_t k_, rank_, room_, behind_, due_;
    QueryTerms terms_;
    KthSmallest kth_;
    float threshold_ = std::numeric_limits<float>::infinity(), guess_ = threshold_;
    std::vector<Candidate> list_;
};

}  // namespace kith::cpu
