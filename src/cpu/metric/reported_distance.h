// Converts distance keys to reported distances.
#pragma once

#include "cpu/metric/kernels.h"
#include "exact/metric_spec.h"
#include "exact/wide_key.h"

namespace kith::cpu {

// The distance that a metric reports for a rank (distance key, MetricSpec::wide).
class ReportedDistance {
public:
    ReportedDistance() = default;  // reports the rank itself
    explicit ReportedDistance(const MetricSpec& metric) {
        if (is_user_metric(metric.id)) return;
        const MetricKernels& kernels = metric_kernels(metric.id, Isa::baseline);
        report_ = kernels.report;
        wide_ = metric.wide && has_root(kernels, metric.params);
        params_ = metric.params;
    }
    double operator()(double rank) const {
        if (!report_) return rank;
        if (!wide_) return report_(rank, params_);
        return exact::wide_distance(rank, [this](double key) { return report_(key, params_); });
    }

private:
    decltype(MetricKernels::report) report_ = nullptr;
    bool wide_ = false;
    metric::Params params_;
};

}  // namespace kith::cpu
