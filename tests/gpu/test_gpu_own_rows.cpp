// Graphs with Options::include_self on a GPU: rows made there have the bits of rows made by a CPU, in device memory and
// in host memory, of every metric and of formulas; rows that are made on the host after a search on the GPU as well.
#include <gtest/gtest.h>

#include "gpu_arrays.h"
#include "same_answer.h"
#include "search_cases.h"

namespace {

using kith::ElementType;
using kith::Neighbors;

// The graph into device memory.
Neighbors on_device(const kith::MatrixView& points, std::int64_t k, const kith::Options& options) {
    const auto cells = static_cast<std::size_t>(points.rows * k);
    const gpu_arrays::Buffer<std::int64_t> ids(cells);
    const gpu_arrays::Buffer<double> distances64(cells);
    const gpu_arrays::Buffer<float> distances(cells);
    void* const to = options.f64 ? static_cast<void*>(distances64.data()) : distances.data();
    Neighbors found;
    found.report = kith::graph_into(points, k, options, {ids.data(), to, points.device});
    found.queries = points.rows;
    found.k = k;
    found.ids = ids.host();
    if (options.f64) found.distances64 = distances64.host();
    else found.distances = distances.host();
    return found;
}

void compare(const search_cases::Case& c, std::int64_t k, const kith::Options& asked) {
    kith::Options on_cpu = asked, on_gpu = asked;
    on_cpu.device = "cpu";
    on_gpu.device = "cuda:0";
    const Neighbors want = kith::graph(c.points.view, k, on_cpu);
    EXPECT_TRUE(same_answer(want, kith::graph(c.points.view, k, on_gpu))) << c.label << ", k " << k;
    const auto points = gpu_arrays::on_device(c.points);
    EXPECT_TRUE(same_answer(want, on_device(points.view, k, on_gpu))) << c.label << ", k " << k << ", device";
    EXPECT_TRUE(same_answer(want, kith::Index(points.view, on_gpu).graph(k, on_gpu)))
        << c.label << ", k " << k << ", index";
    on_gpu.memory = 64 << 20;  // rows are made on the host
    EXPECT_TRUE(same_answer(want, kith::graph(c.points.view, k, on_gpu))) << c.label << ", k " << k << ", budget";
}

TEST(GpuOwnRows, OfEveryMetric) {
    std::uint64_t turn = 0;
    for (const std::string& metric : metric_names()) {
        for (const char* data : {"nan_rows", "duplicates", "infinities"}) {
            const ElementType type = arrays::element_types[turn % 2];
            const std::int64_t n = 700, d = 9, k = turn % 3 == 0 ? 1 : turn % 3 == 1 ? 2 : 12;
            const Variant variant = variants(metric, d, type).front();
            const auto c =
                search_cases::make_case(variant, data, {n, 1, d, k}, type, type, arrays::shapes[turn % 3], turn);
            ++turn;
            kith::Options options = search_cases::options_of("auto", variant, {}, turn % 2 == 0);
            options.include_self = true;
            compare(c, k, options);
        }
    }
}

TEST(GpuOwnRows, OfAFormula) {
    const Variant variant = variants("cityblock", 6, ElementType::f32).front();
    const auto c = search_cases::make_case(variant, "nan_rows", {900, 1, 6, 5}, ElementType::f32, ElementType::f32,
                                           arrays::Shape::dense, 3);
    kith::Options options;
    options.metric.id = kith::MetricId::formula;
    options.metric.formula = "a + fabs(q - x) + 0.5";
    options.include_self = true;
    compare(c, 5, options);
}

}  // namespace
