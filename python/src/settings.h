// The arguments by name of search, graph, select and Index, as Python hands them over.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string>

#include "kith/types.h"
#include "matrix.h"

namespace kith::python {

// A metric with its parameters; matrices f64 or None.
struct MetricSettings {
    std::optional<std::string> metric;  // none: left alone
    double p;
    nanobind::object inverse_covariance;
    nanobind::object variances;
    bool packed_bits;
    std::string formula;
    double start;
};

// The caller's choice about rows that hold a NaN.
enum class Missing { ignored, counted, refused };

struct Settings {
    bool f64 = false;
    std::string device;
    std::int64_t memory = 0;
    int threads = 0;
    std::string path;
    std::string selector;
    std::string isa;
    std::uintptr_t stream = 0;
    nanobind::object progress;
    Missing missing = Missing::ignored;
};

// Options, and the arrays that they view.
struct HeldOptions {
    HeldOptions(const MetricSettings* metric, const Settings& settings);

    Matrix inverse_covariance;
    Matrix variances;
    Options options;
};

}  // namespace kith::python
