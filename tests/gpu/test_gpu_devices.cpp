// Searches that GPUs share: the bits of one GPU and of the CPU. Where there is one GPU only, it is taken several times.
#include <gtest/gtest.h>

#include "api/check/validate.h"
#include "api/group/device_group.h"
#include "gpu/backend.h"
#include "gpu_arrays.h"
#include "same_answer.h"
#include "search_cases.h"

namespace {

using namespace kith;

// Two GPUs, or the one that there is twice, and the CPU.
std::vector<std::string> devices() {
    return {"cuda:0", gpu::device_count() > 1 ? "cuda:1" : "cuda:0", "cpu"};
}

Neighbors found(const std::vector<std::string>& on, const MatrixView& points, const MatrixView* queries, std::int64_t k,
                const Options& options, bool keep, const api::GroupProbe& probe) {
    const std::int64_t q = queries ? queries->rows : points.rows;
    ProgressMeter progress(options.progress, 0);
    const MetricSpec metric = api::validate_metric(options.metric, points, 1, progress);
    const Shape shape{points.rows, q, points.cols, k, points.type, queries == nullptr};
    const api::DeviceGroup group(points, metric, on, shape, options, keep, progress, probe);
    return api::collect(q, k, options.f64,
                        [&](const NeighborsView& out) { return group.run(queries, k, options, progress, out); });
}

class GpuDevices : public testing::TestWithParam<std::string> {};

TEST_P(GpuDevices, GiveTheBitsOfOne) {
    std::uint64_t turn = GetParam().size();
    for (const char* data : {"duplicates", "gaussian", "nan_rows", "clusters"}) {
        const auto type = arrays::element_types[turn % 6];
        const auto all = variants(GetParam(), 24, type);
        const auto c = search_cases::make_case(all[turn % all.size()], data, {700, 600, 24, turn % 2 ? 10 : 400}, type,
                                               type, arrays::shapes[turn % 3], turn);
        Options options = search_cases::options_of("cuda:0", c.variant, {}, turn % 2 == 0);
        const Neighbors one = search(c.points.view, c.queries.view, c.k, options);
        const Neighbors among = graph(c.points.view, c.k, options);
        EXPECT_EQ("", c.truth().difference(one)) << c.label;
        const auto points = gpu_arrays::on_device(c.points), queries = gpu_arrays::on_device(c.queries);
        for (const std::int64_t shard : {0, 300}) {
            for (const bool keep : {false, true}) {
                for (const bool resident : {false, true}) {
                    const MatrixView& p = resident ? points.view : c.points.view;
                    const MatrixView& q = resident ? queries.view : c.queries.view;
                    const api::GroupProbe probe{{}, shard, 100};
                    const std::string label = c.label + ", shard " + std::to_string(shard) + (keep ? ", index" : "");
                    const Neighbors got = found(devices(), p, &q, c.k, options, keep, probe);
                    ASSERT_TRUE(same_answer(one, got)) << label;
                    ASSERT_TRUE(same_answer(among, found(devices(), p, nullptr, c.k, options, keep, probe))) << label;
                }
            }
        }
        ++turn;
    }
}

INSTANTIATE_TEST_SUITE_P(Metric, GpuDevices, testing::ValuesIn(metric_names()),
                         [](const auto& info) { return info.param; });

// By the public interface: all GPUs, and an Index on them, which refuses another device.
TEST(GpuDevicesByName, ServeSearchGraphAndIndex) {
    const Variant variant = variants("euclidean", 64, ElementType::f32).front();
    const auto c = search_cases::make_case(variant, "gaussian", {20000, 3000, 64, 10}, ElementType::f32,
                                           ElementType::f32, arrays::Shape::dense, 5);
    Options options = search_cases::options_of("cuda:0", variant, {}, false);
    const Neighbors one = search(c.points.view, c.queries.view, c.k, options);
    const Neighbors among = graph(c.points.view, c.k, options);
    options.device = "cuda:all";
    EXPECT_TRUE(same_answer(one, search(c.points.view, c.queries.view, c.k, options)));
    EXPECT_TRUE(same_answer(among, graph(c.points.view, c.k, options)));
    const Index index(c.points.view, options);
    const Neighbors got = index.search(c.queries.view, c.k);
    EXPECT_TRUE(same_answer(one, got));
    EXPECT_TRUE(same_answer(among, index.graph(c.k)));
    EXPECT_EQ(3000, got.report.certified + got.report.retried + got.report.scanned);
    for (int i = 0; i < gpu::device_count(); ++i)
        EXPECT_NE(std::string::npos, got.report.device.find("cuda:" + std::to_string(i))) << got.report.device;
    Options call;
    call.device = "cpu";
    EXPECT_THROW(index.search(c.queries.view, c.k, call), Error);
    // Results in device memory.
    const gpu_arrays::Buffer<std::int64_t> ids(3000 * 10);
    const gpu_arrays::Buffer<float> distances(3000 * 10);
    index.search_into(c.queries.view, c.k, {}, {ids.data(), distances.data(), 0});
    EXPECT_EQ(one.ids, ids.host());
    EXPECT_EQ(one.distances, distances.host());
}

// A budget that the points do not fit into: shards that stream.
TEST(GpuDevicesByName, HoldShardsOfPointsThatAreTooMany) {
    const Variant variant = variants("sqeuclidean", 32, ElementType::f32).front();
    const auto c = search_cases::make_case(variant, "duplicates", {60000, 300, 32, 20}, ElementType::f32,
                                           ElementType::f32, arrays::Shape::dense, 6);
    Options options = search_cases::options_of("cuda:0", variant, {}, true);
    const Neighbors one = search(c.points.view, c.queries.view, c.k, options);
    for (options.memory = 8 << 20;; options.memory *= 2) {
        try {
            EXPECT_TRUE(same_answer(
                one, found({devices()[0], devices()[1]}, c.points.view, &c.queries.view, c.k, options, false, {})));
            break;
        } catch (const Error& error) {
            if (error.code() != ErrorCode::out_of_memory || options.memory > 256 << 20) throw;
        }
    }
}

// A GPU that fails at its second block, and both: the other one, and the CPU.
TEST(GpuDevicesByName, TakeOverFromOneThatFails) {
    const Variant variant = variants("cosine", 48, ElementType::f32).front();
    const auto c = search_cases::make_case(variant, "clusters", {3000, 900, 48, 10}, ElementType::f32, ElementType::f32,
                                           arrays::Shape::dense, 7);
    Options options = search_cases::options_of("cuda:0", variant, {}, false);
    const Neighbors one = search(c.points.view, c.queries.view, c.k, options);
    for (const std::int64_t shard : {0, 1500}) {
        for (const int failing : {1, 2}) {
            for (const bool keep : {false, true}) {
                api::GroupProbe probe{{}, shard, 100};
                probe.before = [&](int device, std::int64_t block) {
                    if (block >= 1 && (failing == 2 || device == 1))
                        throw Error(ErrorCode::device, "device: it fell off the bus");
                };
                EXPECT_TRUE(same_answer(one, found({devices()[0], devices()[1]}, c.points.view, &c.queries.view, c.k,
                                                   options, keep, probe)))
                    << shard << ", " << failing;
            }
        }
    }
}

}  // namespace
