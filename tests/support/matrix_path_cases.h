// Cases of the composed and the fused paths: every data set by every metric, with all else of a search drawn.
#pragma once

#include <gtest/gtest.h>

#include <iterator>
#include <string>
#include <vector>

#include "same_answer.h"
#include "search_cases.h"

namespace matrix_path_cases {

using kith::ElementType;

// Those of metric_variants.h, and p = 4, a step of its own.
inline std::vector<Variant> variants_of(const std::string& metric, std::int64_t d, ElementType type) {
    std::vector<Variant> all = variants(metric, d, type);
    if (metric == "minkowski") {
        all.push_back(all.front());
        all.back().label = "minkowski p=4";
        all.back().metric.p = all.back().params.p = 4;
    }
    return all;
}

// Every data set by every metric, in f32 and in a type that is drawn, as are path, neighbours, layout and memory;
// small memory cuts queries and points. serves(metric): whether the paths are such as have it.
template <class Serves>
void every_data_set(const std::vector<std::string>& paths, const std::vector<std::int64_t>& ks, Serves serves) {
    adversarial::Random random(17);
    const auto drawn = [&](auto count) {
        return static_cast<std::size_t>(random.below(static_cast<std::int64_t>(count)));
    };
    for (const std::string& data : adversarial::names())
        for (const std::string metric : {"sqeuclidean", "euclidean", "cityblock", "chebyshev", "minkowski"})
            for (const ElementType type : {ElementType::f32, arrays::element_types[drawn(6)]}) {
                const search_cases::Size size{3000, 50, drawn(2) ? 16 : 67, ks[drawn(ks.size())]};
                const auto all = variants_of(metric, size.d, type);
                const Variant& variant = all[drawn(all.size())];
                const arrays::Shape shape = arrays::shapes[drawn(3)];
                const auto c = search_cases::make_case(variant, data, size, type, type, shape, random.bits() % 1000);
                const std::string& path = paths[drawn(paths.size())];
                const bool small_memory = drawn(5) == 0, f64 = drawn(2) == 0;
                const std::string label = c.label + ", path " + path + (small_memory ? ", small memory" : "");
                const auto got = search_cases::answer("cuda", c, {path, "", 0, small_memory}, f64);
                ASSERT_EQ(serves(metric), got.has_value()) << label;
                if (!got) continue;
                ASSERT_EQ("", c.truth().difference(*got)) << label;
                EXPECT_EQ(path, got->report.path) << label;
                EXPECT_EQ(size.q, got->report.certified + got->report.retried + got->report.scanned) << label;
            }
}

// Many more points alike than a list holds: the first by id, whichever the path takes.
inline void ties_beyond_a_list(const std::vector<std::string>& paths) {
    constexpr std::int64_t n = 4000, q = 9, d = 4;
    std::vector<float> points(static_cast<std::size_t>(n * d)), queries(static_cast<std::size_t>(q * d), 0.25f);
    for (std::int64_t i = 0; i < n * d; ++i) points[static_cast<std::size_t>(i)] = i / d % 3 ? 1.0f : 2.0f;
    kith::Options cpu, cuda;
    cpu.device = "cpu";
    cuda.device = "cuda";
    const auto want = kith::search(kith::view(points.data(), n, d), kith::view(queries.data(), q, d), 20, cpu);
    for (const std::string& path : paths) {
        cuda.path = path;
        const auto got = kith::search(kith::view(points.data(), n, d), kith::view(queries.data(), q, d), 20, cuda);
        ASSERT_TRUE(same_answer(want, got)) << path;
    }
}

inline void graph_and_index(const std::vector<std::string>& paths) {
    const auto c =
        search_cases::make_case(variants("euclidean", 21, ElementType::f32).front(), "duplicates", {900, 30, 21, 9},
                                ElementType::f32, ElementType::f32, arrays::Shape::dense, 8);
    const Truth near = c.truth(), among(c.variant.name, c.variant.params, c.points.view, {}, 9, true);
    for (const std::string& path : paths) {
        const kith::Options options = search_cases::options_of("cuda", c.variant, {path, "", 0, false}, true);
        ASSERT_EQ("", among.difference(kith::graph(c.points.view, 9, options))) << path;
        const kith::Index index(c.points.view, options);
        ASSERT_EQ("", near.difference(index.search(c.queries.view, 9, options))) << path;
    }
}

}  // namespace matrix_path_cases
