// Which distance keys are within a radius of reported distances (docs/exactness.md, section 9).
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
            // No other keys are below zero.
            signed_ = similarity_ || kernels.traits.gemm == metric::Gemm::cross_entropy;
            // An angle's keys end at 1.
            if (metric.id == MetricId::haversine) largest_ = 1;
            if (metric.id == MetricId::haversine) power_ = 2;
            if (metric.id == MetricId::minkowski) power_ = metric.params.p;
        } else {
            signed_ = true;
        }
        find_bounds();
    }

    // The reported distance decides.
    bool within(double rank) const {
        if (rank <= inner_) return true;
        return rank <= outer_ && decide(rank);
    }
    bool empty() const { return outer_ != outer_; }
    // All keys up to the one are within, none beyond the other; NaN: none is.
    double inner() const { return inner_; }
    double outer() const { return outer_; }

    // A filter's values: none above this is of a pair within.
    float threshold(const QueryTerms& terms) const {
        constexpr float infinity = std::numeric_limits<float>::infinity();
        const float t = terms.threshold_from_rank(outer_);
        return outer_ < std::numeric_limits<double>::infinity() && t == t ? t : infinity;
    }
    // All upper values up to this are of pairs within. (w - offset) / scale is the distance key.
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

    // The largest key that is within, by bisection over binary64. What a report that may fall
    // deviates by is less than 2^-34 of the key for each power that a root takes.
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
    double power_ = 0;  // whose root a report that may fall takes; 0: it never falls
    ReportedDistance reported_;
    double inner_ = 0, outer_ = 0;
};

}  // namespace kith::cpu
