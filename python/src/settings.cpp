// Options from what Python handed over.
#include "settings.h"

#include <fmt/format.h>

namespace kith::python {
namespace {

// No name has a NUL, where a C string, and so a message, would end.
const std::string& without_nul(const std::string& text, const char* name) {
    if (text.find('\0') == std::string::npos) return text;
    throw nanobind::value_error(fmt::format("{}: has a NUL character; expected text without one", name).c_str());
}

}  // namespace

HeldOptions::HeldOptions(const MetricSettings* metric, const Settings& settings) {
    if (metric) {
        if (!metric->formula.empty()) {
            options.metric = MetricId::formula;
            options.metric.formula = without_nul(metric->formula, "formula");
        } else if (metric->metric) {
            options.metric = metric_named(without_nul(*metric->metric, "metric"));
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
    options.device = without_nul(settings.device, "device");
    options.memory = settings.memory;
    options.threads = settings.threads;
    options.path = without_nul(settings.path, "path");
    options.selector = without_nul(settings.selector, "selector");
    options.isa = without_nul(settings.isa, "isa");
    options.stream = reinterpret_cast<void*>(settings.stream);  // NOLINT: a handle that Python keeps as a number
}

}  // namespace kith::python
