// Options from what Python handed over.
#include "settings.h"

namespace kith::python {

HeldOptions::HeldOptions(const MetricSettings* metric, const Settings& settings) {
    if (metric) {
        if (!metric->formula.empty()) {
            options.metric = MetricId::formula;
            options.metric.formula = metric->formula;
        } else if (metric->metric) {
            options.metric = metric_named(*metric->metric);
        }
        options.metric.p = metric->p;
        options.metric.packed_bits = metric->packed_bits;
        options.metric.start = metric->start;
        if (!metric->inverse_covariance.is_none()) {
            inverse_covariance = Matrix(metric->inverse_covariance, "inverse_covariance");
            options.metric.inverse_covariance = inverse_covariance.view();
        }
        if (!metric->variances.is_none()) {
            variances = Matrix(metric->variances, "variances");
            options.metric.variances = variances.view();
        }
    }
    options.f64 = settings.f64;
    options.device = settings.device;
    options.memory = settings.memory;
    options.threads = settings.threads;
    options.path = settings.path;
    options.selector = settings.selector;
    options.isa = settings.isa;
    options.stream = reinterpret_cast<void*>(settings.stream);  // NOLINT: a handle that Python keeps as a number
}

}  // namespace kith::python
