// Body of the tests of points that boxes leave out for what they are, not for their number of dimensions: tables of
// which a column is far wider than the others. test_boxes.cpp runs it on the CPU, test_gpu_boxes.cpp on CUDA.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "adversarial.h"
#include "same_answer.h"
#include "search_cases.h"

namespace box_cases {

inline std::vector<double> table(std::int64_t rows, std::int64_t d, double width, std::uint64_t seed) {
    adversarial::Random random(seed);
    std::vector<double> out;
    for (std::int64_t i = 0; i < rows * d; ++i) out.push_back(random.gaussian() * (i % d == 3 ? width : 1));
    return out;
}

// An Index of `n` points; queries like them are answered by a tree, others perhaps not, and all as the scan does.
inline void wide_columns(const std::string& device, std::int64_t n) {
    constexpr std::int64_t d = 24, k = 10;
    for (const char* metric : {"sqeuclidean", "euclidean", "cityblock", "chebyshev"}) {
        for (const kith::ElementType type : {kith::ElementType::f32, kith::ElementType::f64}) {
            const auto variant = variants(metric, d, type).front();
            kith::Options options = search_cases::options_of(device, variant, {}, true);
            for (const double width : {1.0, 1e5}) {
                const arrays::Array points = arrays::make(table(n, d, width, 3), n, d, type);
                const kith::Index index(points.view, options);
                for (const std::int64_t q : {1, 5, 300}) {
                    for (const double of_queries : {width, 1.0, 1e7}) {
                        const arrays::Array queries = arrays::make(table(q, d, of_queries, 4), q, d, type);
                        const std::string label = std::string(metric) + ", width " + std::to_string(width) + ", q " +
                                                  std::to_string(q) + " of width " + std::to_string(of_queries);
                        const kith::Neighbors found = index.search(queries.view, k, options);
                        kith::Options scan = search_cases::options_of("cpu", variant, {"exact", "", 0, false}, true);
                        ASSERT_TRUE(same_answer(kith::search(points.view, queries.view, k, scan), found)) << label;
                        const kith::Report& r = found.report;
                        EXPECT_EQ(q, r.certified + r.retried + r.scanned) << label;
                        if (of_queries != width) continue;
                        EXPECT_EQ(width > 1, r.path == "tree") << label << ", path " << r.path;
                        EXPECT_EQ(q, r.path == "exact" ? r.scanned : r.certified) << label;
                    }
                }
            }
        }
    }
}

}  // namespace box_cases
