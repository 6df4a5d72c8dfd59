// Data for the tests of PCA projection filters.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "adversarial.h"
#include "api/check/validate.h"
#include "arrays.h"
#include "kith/kith.h"
#include "metric/metric.h"
#include "metric_variants.h"

namespace spectrum {

// Rows whose coordinates have those standard deviations, turned by reflections so that no axis is a direction.
struct Spectrum {
    std::vector<float> rows;
    std::int64_t n, d;

    Spectrum(std::int64_t count, const std::vector<double>& deviations, std::uint64_t seed, double shift = 0)
        : n(count), d(static_cast<std::int64_t>(deviations.size())) {
        adversarial::Random random(17), own(seed);
        std::vector<std::vector<double>> mirrors(3, std::vector<double>(deviations.size()));
        for (auto& mirror : mirrors) {
            double norm2 = 0;
            for (double& x : mirror) {
                x = random.gaussian();
                norm2 += x * x;
            }
            for (double& x : mirror) x /= std::sqrt(norm2);
        }
        std::vector<double> v(deviations.size());
        for (std::int64_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < v.size(); ++j) v[j] = own.gaussian() * deviations[j];
            for (const auto& mirror : mirrors) {
                double along = 0;
                for (std::size_t j = 0; j < v.size(); ++j) along += mirror[j] * v[j];
                for (std::size_t j = 0; j < v.size(); ++j) v[j] -= 2 * along * mirror[j];
            }
            for (const double x : v) rows.push_back(static_cast<float>(x + shift));
        }
    }
    kith::MatrixView view() const { return kith::view(rows.data(), n, d); }
};

inline std::vector<double> falling(std::int64_t d, double power) {
    std::vector<double> s;
    for (std::int64_t j = 0; j < d; ++j) s.push_back(std::pow(static_cast<double>(j + 1), -power));
    return s;
}

// Columns of very different units, as tables have them: of deviation 10^6, 10^3, 1, 10^-3, 10^-6, and again.
inline Spectrum units(std::int64_t n, std::int64_t d, std::uint64_t seed) {
    Spectrum out(0, std::vector<double>(static_cast<std::size_t>(d)), seed);
    out.n = n;
    adversarial::Random random(seed);
    for (std::int64_t i = 0; i < n * d; ++i)
        out.rows.push_back(
            static_cast<float>(random.gaussian() * std::pow(10.0, 6 - 3 * static_cast<double>(i % d % 5))));
    return out;
}

// Rows of two kinds, whose variance lies along axes that the other kind's has nothing of: those that `seen` says, which
// directions may be made of, and all others, which such directions leave out entirely.
template <class Seen>
Spectrum outside_of_directions(std::int64_t n, std::int64_t d, std::uint64_t seed, Seen seen) {
    const auto half = static_cast<std::size_t>(d / 2);
    std::vector<double> first = falling(d, 0.5), second = first;
    std::fill(first.begin() + static_cast<std::ptrdiff_t>(half), first.end(), 0.0);
    std::fill_n(second.begin(), half, 0.0);
    Spectrum out(n, second, seed);
    const Spectrum of_seen(n, first, seed + 1);
    for (std::int64_t i = 0; i < n; ++i)
        if (seen(i)) std::copy_n(of_seen.rows.begin() + i * d, d, out.rows.begin() + i * d);
    return out;
}

// Attacks on the bounds of PCA projection: n > 700 rows of more than 150 dimensions each.
inline std::vector<std::pair<std::string, Spectrum>> against_directions(std::int64_t n, std::int64_t d) {
    const auto dimensions = static_cast<std::size_t>(d);
    std::vector<double> flat(dimensions, 1.0), cliff(dimensions, 1e-3);
    std::fill_n(cliff.begin(), 150, 1.0);
    Spectrum outlier(n, falling(d, 1.0), 5), huge(n, falling(d, 1.0), 6);
    for (std::int64_t j = 0; j < d; ++j) {
        outlier.rows[static_cast<std::size_t>(700 * d + j)] = j % 2 ? 3e8f : -1e8f;
        for (std::int64_t i = 0; i < n; i += 3) huge.rows[static_cast<std::size_t>(i * d + j)] *= 1e3f;
    }
    return {{"outlier", outlier},
            {"huge", huge},
            {"flat", Spectrum(n, flat, 8)},
            {"cliff", Spectrum(n, cliff, 9)},
            {"offset", Spectrum(n, falling(d, 1.0), 10, 100.0)},
            {"units", units(n, d, 11)},
            {"usual", Spectrum(n, falling(d, 0.7), 12)}};
}

// The metrics that a projection serves.
inline std::vector<std::string> product_metrics() {
    std::vector<std::string> list;
    for (const std::string& metric : metric_names()) {
        const auto form = kith::metric::product_form(kith::api::traits_of(kith::metric_named(metric).id));
        if (form != kith::metric::Gemm::none && form != kith::metric::Gemm::cross_entropy) list.push_back(metric);
    }
    return list;
}

}  // namespace spectrum
