// Every metric of include/kith/metrics.def with the parameters that tests run it with.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "adversarial.h"
#include "kith/kith.h"
#include "oracle.h"

struct Variant {
    std::string name;   // "minkowski"
    std::string label;  // "minkowski p=1.5"
    kith::Metric metric;
    oracle::Parameters params;
    std::shared_ptr<std::vector<double>> matrix;  // what metric.inverse_covariance shows
};

inline std::vector<std::string> metric_names() {
    return {
#define KITH_METRIC(name, type, aliases, what) #name,
#include "kith/metrics.def"
#undef KITH_METRIC
    };
}

// A symmetric positive definite matrix: I + A A' / d.
inline std::vector<double> positive_definite(std::int64_t d, std::uint64_t seed) {
    adversarial::Random random(seed);
    std::vector<double> a(d * d), out(d * d);
    for (double& v : a) v = random.gaussian();
    for (std::int64_t i = 0; i < d; ++i) {
        for (std::int64_t j = 0; j <= i; ++j) {
            double sum = i == j;
            for (std::int64_t l = 0; l < d; ++l) sum += a[i * d + l] * a[j * d + l] / double(d);
            out[i * d + j] = out[j * d + i] = sum;
        }
    }
    return out;
}

inline std::vector<Variant> variants(const std::string& name, std::int64_t d, kith::ElementType type) {
    Variant plain{name, name, kith::metric_named(name), {}, nullptr};
    std::vector<Variant> out;
    if (name == "minkowski") {
        for (double p : {1.0, 2.0, 3.0, 1.5, std::numeric_limits<double>::infinity()}) {
            out.push_back(plain);
            out.back().label += " p=" + std::to_string(p);
            out.back().metric.p = out.back().params.p = p;
        }
    } else if (name == "mahalanobis") {
        plain.params.inverse_covariance = positive_definite(d, 7);
        plain.matrix = std::make_shared<std::vector<double>>(plain.params.inverse_covariance);
        plain.metric.inverse_covariance = kith::view(plain.matrix->data(), d, d);
        out.push_back(plain);
    } else {
        out.push_back(plain);
        if (name == "hamming" && type == kith::ElementType::u8) {
            out.push_back(plain);
            out.back().label += " packed";
            out.back().metric.packed_bits = out.back().params.packed_bits = true;
        }
    }
    return out;
}
