// Points in clusters, and what tests of the path "clustered" ask of the device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "adversarial.h"
#include "arrays.h"
#include "filter_values.h"
#include "kith/kith.h"

namespace clustered {

using namespace kith;

// Rows near one of `centres` points, all of them offset.
struct Clustered {
    std::vector<float> rows;
    std::int64_t n, d;

    Clustered(std::int64_t count, std::int64_t dimensions, std::int64_t centres, double spread, std::uint64_t seed,
              double offset = 0, std::uint64_t of = 1)
        : n(count), d(dimensions) {
        adversarial::Random where(of), own(seed);
        std::vector<double> middle;
        for (std::int64_t i = 0; i < centres * d; ++i) middle.push_back(where.gaussian() + offset);
        for (std::int64_t i = 0; i < n; ++i) {
            const std::int64_t c = i * 7919 % centres;
            for (std::int64_t j = 0; j < d; ++j)
                rows.push_back(
                    static_cast<float>(middle[static_cast<std::size_t>(c * d + j)] + spread * own.gaussian()));
        }
    }
    float& at(std::int64_t row, std::int64_t col) { return rows[static_cast<std::size_t>(row * d + col)]; }
    MatrixView view() const { return kith::view(rows.data(), n, d); }
};

inline bool serves_here() {
    return filter_values::instruction_sets().back() == gpu::FilterIsa::sm_90a;
}

inline Options options_of(const std::string& metric, const std::string& path) {
    Options options;
    options.metric = metric_named(metric);
    options.device = "cuda";
    options.path = path;
    return options;
}

}  // namespace clustered
