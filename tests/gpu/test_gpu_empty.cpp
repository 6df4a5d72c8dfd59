// What needs no device, of arrays on one: empty inputs, radii of an Index without a metric, verification, lengths of 32
// bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "adversarial.h"
#include "arrays.h"
#include "gpu_arrays.h"
#include "kith/kith.h"
#include "kith/match.h"
#include "kith/verify.h"
#include "radius_cases.h"

namespace {

using namespace kith;
using gpu_arrays::Buffer;

Options on(const std::string& device, MetricId metric) {
    Options options;
    options.device = device;
    options.metric = metric;
    return options;
}

arrays::Array values_of(std::int64_t rows, std::int64_t d, std::uint64_t seed) {
    const auto set = adversarial::make("nan_rows", rows, 1, d, seed);
    return arrays::make(set.points, rows, d, ElementType::f32, arrays::Shape::dense);
}

TEST(GpuEmpty, MissingNeighboursOnTheDevice) {
    const auto some = gpu_arrays::on_device(values_of(40, 3, 1));
    MatrixView none = some.view;
    none.rows = 0;
    none.data = nullptr;
    for (const MetricId metric : {MetricId::euclidean, MetricId::inner_product}) {
        const float missing = metric == MetricId::inner_product ? -std::numeric_limits<float>::infinity()
                                                                : std::numeric_limits<float>::infinity();
        const Buffer<std::int64_t> ids(40 * 3);
        const Buffer<float> distances(40 * 3);
        const NeighborsView out{ids.data(), distances.data(), some.view.device};
        search_into(none, some.view, 3, on("auto", metric), out);
        EXPECT_EQ(std::vector<std::int64_t>(120, -1), ids.host());
        EXPECT_EQ(std::vector<float>(120, missing), distances.host());
        EXPECT_EQ(0, search(some.view, none, 3, on("auto", metric)).queries);
        EXPECT_EQ(0, Index(none, on("cuda", metric)).size());
    }
    EXPECT_EQ(std::vector<std::int64_t>(40), radius_counts(none, some.view, 1.0).counts);
    EXPECT_TRUE(match(some.view, none).first.empty());
}

TEST(GpuEmpty, RadiiOfAnIndexWithoutAMetric) {
    const auto points = values_of(3000, 3, 2), queries = values_of(70, 3, 3);
    const auto x = gpu_arrays::on_device(points), y = gpu_arrays::on_device(queries);
    Options alone;
    alone.device = "cuda";
    const Index index(x.view, alone);
    for (const bool open : {false, true}) {
        for (const double r : {0.0, 0.7, 2.0, std::numeric_limits<double>::infinity()}) {
            Radius radius(r);
            radius.open = open;
            const RadiusNeighbors want =
                kith::radius(points.view, queries.view, radius, on("cpu", MetricId::euclidean));
            EXPECT_EQ("", radius_cases::difference(want, index.radius(y.view, radius)));
            EXPECT_EQ("", radius_cases::difference(want, kith::radius(x.view, y.view, radius, alone)));
            EXPECT_EQ(radius_cases::counts_of(want), index.radius_counts(y.view, radius).counts);
        }
    }
}

TEST(GpuEmpty, VerifiesWhatLiesThere) {
    const auto points = values_of(900, 8, 4), queries = values_of(30, 8, 5);
    const auto x = gpu_arrays::on_device(points), y = gpu_arrays::on_device(queries);
    VerifyOptions how;
    how.search = on("auto", MetricId::cosine);
    Neighbors found = search(points.view, queries.view, 7, on("cpu", MetricId::cosine));
    EXPECT_TRUE(verify(x.view, y.view, found, how).is_exact());
    std::swap(found.ids[8], found.ids[9]);
    const Verification v = verify(x.view, y.view, found, how);
    EXPECT_EQ(verify(points.view, queries.view, found, how).wrong_rows, v.wrong_rows);
    Options graph_of = how.search;
    graph_of.include_self = true;
    EXPECT_TRUE(verify_graph(x.view, graph(x.view, 5, graph_of), how).is_exact());
    how.sample = 10;
    EXPECT_TRUE(verify_graph(x.view, graph(x.view, 5, graph_of), how).is_exact());
}

TEST(GpuEmpty, LengthsOf32Bits) {
    const auto values = gpu_arrays::on_device(values_of(50, 64, 6));
    std::vector<std::int32_t> narrow(50);
    std::iota(narrow.begin(), narrow.end(), -3);  // those below 0 and beyond the columns are cut
    narrow[49] = 1000;
    std::vector<std::int64_t> wide(narrow.begin(), narrow.end());
    for (std::int64_t& length : wide) length = std::clamp<std::int64_t>(length, 0, 64);
    const Buffer<std::int32_t> there(50);
    gpu_arrays::check(cudaMemcpy(there.data(), narrow.data(), 50 * sizeof(std::int32_t), cudaMemcpyHostToDevice));
    Options options;
    options.lengths = view(wide.data(), 50, 1);
    const Neighbors want = select(values.view, 4, options);
    options.lengths = view(there.data(), 50, 1, 0, values.view.device);
    EXPECT_EQ(want.ids, select(values.view, 4, options).ids);
}

}  // namespace
