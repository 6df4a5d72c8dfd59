// Every metric of include/kith/metrics.def with the parameters that tests run it with.
#pragma once

#include <cmath>
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
    std::shared_ptr<std::vector<double>> matrix;  // what metric.inverse_covariance or .variances shows
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

// H diag(10^-5 ... 10^5) H with a reflection H: symmetric, positive definite, as ill-conditioned as that.
inline std::vector<double> ill_conditioned(std::int64_t d, std::uint64_t seed) {
    adversarial::Random random(seed);
    std::vector<double> axis(d), h(d * d), out(d * d);
    double square = 0;
    for (double& v : axis) {
        v = random.gaussian() + 3;
        square += v * v;
    }
    for (std::int64_t i = 0; i < d; ++i)
        for (std::int64_t j = 0; j < d; ++j) h[i * d + j] = (i == j) - 2 * axis[i] * axis[j] / square;
    for (std::int64_t i = 0; i < d; ++i) {
        for (std::int64_t j = 0; j <= i; ++j) {
            double sum = 0;
            for (std::int64_t l = 0; l < d; ++l)
                sum += h[i * d + l] * std::pow(10.0, 10.0 * double(l) / double(d) - 5) * h[j * d + l];
            out[i * d + j] = out[j * d + i] = sum;
        }
    }
    return out;
}

// Positive definite of coordinates in units from 2^-40 to 2^40, symmetric to nine digits only.
inline std::vector<double> of_many_scales(std::int64_t d, std::uint64_t seed) {
    adversarial::Random random(seed);
    std::vector<double> out = positive_definite(d, seed);
    std::vector<int> exponent(d);
    for (int& e : exponent) e = int(random.below(81)) - 40;
    for (std::int64_t i = 0; i < d; ++i)
        for (std::int64_t j = 0; j < d; ++j)
            out[i * d + j] = std::ldexp(out[i * d + j] * (i < j ? 1 + 1e-10 : 1), exponent[i] + exponent[j]);
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
        const auto add = [&](const char* label, std::vector<double> matrix) {
            out.push_back(plain);
            Variant& v = out.back();
            v.label += label;
            v.params.inverse_covariance = std::move(matrix);
            v.matrix = std::make_shared<std::vector<double>>(v.params.inverse_covariance);
            v.metric.inverse_covariance = kith::view(v.matrix->data(), d, d);
        };
        std::vector<double> tiny = positive_definite(d, 7), huge = tiny;
        for (double& v : tiny) v *= 0x1p-500;
        for (double& v : huge) v *= 0x1p500;
        add("", positive_definite(d, 7));
        add(" ill-conditioned", ill_conditioned(d, 7));
        add(" of many scales", of_many_scales(d, 7));
        add(" tiny", std::move(tiny));
        add(" huge", std::move(huge));
    } else if (name == "seuclidean") {
        // For one scale, and of units from 2^-40 to 2^40.
        for (const int exponents : {0, 80}) {
            adversarial::Random random(7);
            out.push_back(plain);
            Variant& v = out.back();
            v.label += " of variances over 2^" + std::to_string(exponents);
            for (std::int64_t i = 0; i < d; ++i) {
                const int exponent = int(random.below(exponents + 1)) - exponents / 2;
                v.params.variances.push_back(std::ldexp(1 + random.uniform(), exponent));
            }
            v.matrix = std::make_shared<std::vector<double>>(v.params.variances);
            v.metric.variances = kith::view(v.matrix->data(), d, 1);
        }
    } else {
        out.push_back(plain);
        if (oracle::definition(name).packed_bits && type == kith::ElementType::u8) {
            out.push_back(plain);
            out.back().label += " packed";
            out.back().metric.packed_bits = out.back().params.packed_bits = true;
        }
    }
    return out;
}
