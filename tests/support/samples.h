// Samples for the tests of estimators, and the options of a search on the CPU.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "kith/kith.h"

namespace samples {

using namespace kith;

// n x d, row-major.
struct Table {
    std::int64_t n, d;
    std::vector<double> values;
    MatrixView view() const { return kith::view(values.data(), n, d); }
    double at(std::int64_t r, std::int64_t c) const { return values[static_cast<std::size_t>(r * d + c)]; }
};

inline Table gaussian(std::int64_t n, std::int64_t d, unsigned seed, double mean = 0, double deviation = 1) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal(mean, deviation);
    Table out{n, d, std::vector<double>(static_cast<std::size_t>(n * d))};
    for (double& v : out.values) v = normal(random);
    return out;
}

// To a grid of `step`: many equal values.
inline Table rounded(Table table, double step) {
    for (double& v : table.values) v = std::round(v / step) * step;
    return table;
}

inline Options on_cpu(MetricId metric) {
    Options options;
    options.device = "cpu";
    options.metric = metric;
    return options;
}
inline Options on_cpu() {
    Options options;
    options.device = "cpu";
    return options;
}

inline Table beside(const Table& a, const Table& b) {
    Table out{a.n, a.d + b.d, {}};
    for (std::int64_t r = 0; r < a.n; ++r) {
        for (std::int64_t c = 0; c < a.d; ++c) out.values.push_back(a.at(r, c));
        for (std::int64_t c = 0; c < b.d; ++c) out.values.push_back(b.at(r, c));
    }
    return out;
}

}  // namespace samples
