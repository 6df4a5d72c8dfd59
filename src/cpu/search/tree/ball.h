// Decides which distance keys are within a radius of reported distances (docs/proofs/radius.md,
// lemma 1).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "cpu/filter/bound.h"
#include "cpu/metric/reported_distance.h"
#include "exact/metric_spec.h"
#include "exact/order.h"

namespace kith::cpu {

class Ball {
public:
    Ball(const MetricSpec& metric, double r, bool open) : r_(r), open_(open), reported_(metric) {
        const bool user = is_user_metric(metric.id);
        if (!user) {
            const MetricKernels& kernels = metric_kernels(metric.id, Isa::baseline);
            similarity_ = kernels.traits.similarity;
            // Keys of all other metrics are at least 0.
            signed_ = similarity_ || kernels.traits.gemm == metric::Gemm::cross_entropy;
            // The keys of an angle are at most 1.
            if (metric.id == MetricId::haversine) largest_ = 1;
            if (metric.id == MetricId::haversine) power_ = 2;
            if (metric.id == MetricId::minkowski) power_ = metric.params.p;
        } else {
            signed_ = true;
        }
        find_bounds();
    }

    // True if the reported distance of the key is within the radius.
    bool within(double rank) const {
        if (rank <= inner_) return true;
        return rank <= outer_ && decide(rank);
    }
    bool empty() const { return outer_ != outer_; }
    // All keys up to inner() are within (NaN: none is known to be), and no key beyond outer() is
    // (NaN: no key at all).
    double inner() const { return inner_; }
    double outer() const { return outer_; }

    // No pair within the radius has a filter value above this.
    float threshold(const QueryTerms& terms) const {
        constexpr float infinity = std::numeric_limits<float>::infinity();
        const float t = terms.threshold_from_rank(outer_);
        return outer_ < std::numeric_limits<double>::infinity() && t == t ? t : infinity;
    }
    // All pairs with an upper value up to this are within. The distance key is (w - offset) /
    // scale.
    float accepted(const QueryTerms& terms) const {
        constexpr double infinity = std::numeric_limits<double>::infinity();
        if (inner_ == infinity) return std::numeric_limits<float>::infinity();
        if (!(terms.scale > 0)) return -std::numeric_limits<float>::infinity();
        const double w = inner_ * terms.scale, size = std::abs(w) + std::abs(terms.offset);
        const double upper = (w + terms.offset - size * 0x1p-48) / terms.growth - terms.error;
        const double value = upper - std::abs(upper) * 0x1p-21;
        return value < infinity ? exact::round_down(value)
                                : -std::numeric_limits<float>::infinity();
    }

private:
    bool decide(double rank) const {
        const double distance = reported_(rank);
        if (similarity_) return open_ ? distance > r_ : distance >= r_;
        return open_ ? distance < r_ : distance <= r_;
    }

    // Finds the largest key that is within, by bisection over binary64. If the reported distance is
    // not monotone in the key, it deviates by less than 2^-34 of the key for each power of the
    // root.
    void find_bounds() {
        constexpr double infinity = std::numeric_limits<double>::infinity();
        using Order = exact::Order<double>;
        Order::Key low = Order::key(signed_ ? -infinity : 0.0), high = Order::key(largest_);
        inner_ = outer_ = std::numeric_limits<double>::quiet_NaN();
        if (!decide(Order::value(low))) return;
        if (decide(largest_)) {
            inner_ = outer_ = infinity;
            return;
        }
        while (high - low > 1) {
            const Order::Key middle = low + (high - low) / 2;
            (decide(Order::value(middle)) ? low : high) = middle;
        }
        inner_ = outer_ = Order::value(low);
        if (std::isinf(inner_) || power_ == 0) return;
        constexpr double most = 0x1p30;
        if (power_ > most) {
            inner_ = std::numeric_limits<double>::quiet_NaN();
            outer_ = infinity;
            return;
        }
        const double slack = 0x1p-34 * (1 + power_);
        inner_ -= std::abs(inner_) * slack;
        outer_ += std::abs(outer_) * slack;
    }

    double r_;
    bool open_, similarity_ = false, signed_ = false;
    double largest_ = std::numeric_limits<double>::infinity();
    double power_ = 0;  // the power of the root in a report that is not monotone in the key; 0: it
                        // is monotone
    ReportedDistance reported_;
    double inner_ = 0, outer_ = 0;
};

}  // namespace kith::cpu
