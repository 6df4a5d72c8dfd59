// Matrices of distances on a device, next to a search for all points, which reports each pair's distance.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "kith/distances.h"
#include "search_cases.h"

namespace distance_cases {

inline std::vector<float> waves(std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i * i % 9973));
    return values;
}

template <class T>
::testing::AssertionResult same_values(const std::vector<T>& want, const std::vector<T>& got) {
    if (want.size() != got.size()) return ::testing::AssertionFailure() << got.size() << " values";
    for (std::size_t i = 0; i < want.size(); ++i) {
        if (std::isnan(want[i]) ? !std::isnan(got[i]) : std::memcmp(&want[i], &got[i], sizeof(T)) != 0)
            return ::testing::AssertionFailure() << "value " << i << ": " << got[i] << " instead of " << want[i];
    }
    return ::testing::AssertionSuccess();
}

// The result of a search on the CPU for as many neighbours as there are points, for each pair; NaN where it finds none.
template <class T>
std::vector<T> of_search(const search_cases::Case& c, const kith::Options& options) {
    kith::Options all = options;
    all.device = "cpu";
    all.path = "exact";
    all.memory = 0;
    all.progress = nullptr;
    const std::int64_t n = c.points.view.rows;
    const kith::Neighbors found = kith::search(c.points.view, c.queries.view, n, all);
    std::vector<T> out(static_cast<std::size_t>(c.queries.view.rows * n), static_cast<T>(NAN));
    for (std::size_t i = 0; i < found.ids.size(); ++i) {
        if (found.ids[i] < 0) continue;
        const std::size_t at =
            i / static_cast<std::size_t>(n) * static_cast<std::size_t>(n) + static_cast<std::size_t>(found.ids[i]);
        if constexpr (sizeof(T) == 8) out[at] = found.distances64[i];
        else out[at] = found.distances[i];
    }
    return out;
}

// Every kind of data of a metric, element types, layouts, precisions and executions taking turns.
inline void same_as_search(const std::string& device, const std::string& metric) {
    const search_cases::Size sizes[] = {{1, 1, 3, 1}, {300, 40, 33, 1}, {70, 5, 130, 1}, {5, 90, 1, 1}};
    const search_cases::Execution executions[] = {{"", "", 0, false}, {"exact", "", 1, false}, {"", "", 2, false}};
    std::uint64_t turn = metric.size();
    for (const std::string& data : adversarial::names()) {
        for (search_cases::Size size : sizes) {
            if (const int fixed = oracle::definition(metric).dimensions) size.d = fixed;
            const auto type = arrays::element_types[turn % 6], query_type = arrays::element_types[turn / 5 % 6];
            const auto all = variants(metric, size.d, type);
            if (all.empty()) continue;
            const Variant& variant = all[turn % all.size()];
            const auto c =
                search_cases::make_case(variant, data, size, type, variant.metric.packed_bits ? type : query_type,
                                        arrays::shapes[turn % 3], turn);
            const kith::Options options = search_cases::options_of(device, variant, executions[turn % 3], turn % 2);
            const kith::Distances got = kith::distances(c.points.view, c.queries.view, options);
            ASSERT_EQ(c.points.view.rows, got.points);
            ASSERT_EQ(c.queries.view.rows, got.queries);
            ASSERT_EQ("exact", got.report.path);
            if (options.f64) ASSERT_TRUE(same_values(of_search<double>(c, options), got.values64)) << c.label;
            else ASSERT_TRUE(same_values(of_search<float>(c, options), got.values)) << c.label;
            ++turn;
        }
    }
}

}  // namespace distance_cases
