// Body of the tests of ordinary data, for any device: the sets of `kith-bench search --ordinary`, smaller, by every
// path against the oracle. test_ordinary.cpp runs it on the CPU, test_gpu_ordinary.cpp on CUDA.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "search/ordinary_data.h"
#include "search_cases.h"

namespace ordinary_cases {

using kith::bench::OrdinarySet;

inline std::vector<std::string> names() {
    std::vector<std::string> out;
    for (const OrdinarySet& set : kith::bench::ordinary_sets()) out.push_back(set.name);
    return out;
}

// As gtest wants it.
inline std::string test_name(std::string name) {
    std::ranges::replace(name, '-', '_');
    return name;
}

inline arrays::Array rows_of(const OrdinarySet& set, bool queries, std::int64_t rows, std::int64_t points) {
    arrays::Array out;
    out.bytes.resize(static_cast<std::size_t>(rows * set.d) * kith::size_of(set.type));
    kith::bench::fill(set, queries, rows, points, out.bytes.data());
    out.view = {out.bytes.data(), rows, set.d, set.d, set.type, kith::Layout::row_major, kith::host_memory};
    return out;
}

inline void every_path(const std::string& device, const std::string& name) {
    constexpr std::int64_t n = 3000, q = 40, k = 10;
    const OrdinarySet& set = *std::ranges::find(kith::bench::ordinary_sets(), name, &OrdinarySet::name);
    const std::string metric = kith::name(set.metric);
    Variant variant{metric, metric, kith::metric_named(metric), {}, nullptr};
    variant.metric.packed_bits = variant.params.packed_bits = set.packed_bits;
    const search_cases::Case c{name, variant, rows_of(set, false, n, n), rows_of(set, true, q, n), k};
    const Truth truth(metric, variant.params, c.points.view, c.queries.view, k, set.graph);
    if (set.graph) {
        for (const char* path : {"", "exact"}) {
            const kith::Options options = search_cases::options_of(device, variant, {path, "", 0, false}, false);
            ASSERT_EQ("", truth.difference(kith::graph(c.points.view, k, options)))
                << name << ", path '" << path << "'";
        }
        return;
    }
    for (const char* path : {"", "gemm-bf16", "gemm-f32", "gemm-f16", "direct-f32", "tree", "projected", "exact"}) {
        for (const bool f64 : {false, true}) {
            const search_cases::Execution execution{path, "", 0, false};
            const auto got = search_cases::answer(device, c, execution, f64);
            if (!got) break;
            ASSERT_EQ("", truth.difference(*got)) << name << ", " << execution.label();
            const kith::Report& r = got->report;
            EXPECT_EQ(q, r.certified + r.retried + r.scanned) << name << ", " << execution.label();
        }
    }
}

}  // namespace ordinary_cases
