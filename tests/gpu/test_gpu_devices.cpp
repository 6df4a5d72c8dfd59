// Searches that GPUs share: the bits of one GPU and of the CPU. Where there is one GPU only, it is taken several times.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <random>

#include "api/device_group.h"
#include "api/validate.h"
#include "gpu/backend.h"
#include "gpu/runtime/check.h"
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

// Points that make lists overflow, thresholds infinite and filters useless, and ordinary ones.
std::vector<float> graph_values(const std::string& kind, std::int64_t n, std::int64_t d) {
    std::mt19937 random(11);
    std::normal_distribution<float> normal;
    std::vector<float> values(static_cast<std::size_t>(n * d));
    for (float& x : values) x = normal(random);
    const auto row = [&](std::int64_t i) { return values.begin() + i * d; };
    const float infinity = std::numeric_limits<float>::infinity();
    for (std::int64_t i = 0; i < n; ++i) {
        if (kind == "copies" && i % 2 == 1) std::copy_n(row(i % 6 == 1 ? i % 100 : i / 2), d, row(i));
        if (kind == "copies" && i % 1009 == 7) *row(i) = infinity;
        if (kind == "copies" && i % 1013 == 8) *row(i) = std::numeric_limits<float>::quiet_NaN();
        if (kind == "equal" && i % 3 != 0) std::copy_n(row(0), d, row(i));
        if (kind == "scales") std::for_each(row(i), row(i) + d, [&](float& x) { x = std::ldexp(x, i % 200 - 100); });
        if (kind == "far") std::for_each(row(i), row(i) + d, [&](float& x) { x += 4096; });
        if (kind == "zeros") std::for_each(row(i), row(i) + d, [&](float& x) { x = i % 2 ? -0.0f : x * 1e-42f; });
    }
    return values;
}

// Each pair of a graph is computed once by one of the devices: the bits of one GPU and of the CPU.
void share_the_pairs(const std::vector<int>& counts, const std::vector<const char*>& kinds) {
    if (gpu::device_info(0).capability != 90) GTEST_SKIP() << "not a device of compute capability 9.0";
    constexpr std::int64_t n = 5000, d = 64, k = 10;
    for (const char* kind : kinds) {
        const std::vector<float> values = graph_values(kind, n, d);
        for (const char* metric : {"sqeuclidean", "cosine"}) {
            Options options;
            options.metric = metric_named(metric);
            options.device = "cpu";
            const MatrixView points = view(values.data(), n, d);
            const Neighbors want = graph(points, k, options);
            options.device = "cuda:0";
            for (const int count : counts) {
                std::vector<std::string> on;
                for (int i = 0; i < count; ++i) on.push_back(devices()[static_cast<std::size_t>(i % 2)]);
                const std::string label = std::string(kind) + ", " + metric + ", " + std::to_string(count);
                const Neighbors got = found(on, points, nullptr, k, options, count == 8, {{}, 0, 0, 1});
                ASSERT_TRUE(same_answer(want, got)) << label;
                for (const Fallback& fallback : got.report.fallbacks)
                    ASSERT_EQ(std::string::npos, fallback.why.find(" failed (")) << label << ": " << fallback.why;
                EXPECT_TRUE(got.report.path == "gemm-f16") << label;
                EXPECT_EQ(n, got.report.certified + got.report.retried + got.report.scanned) << label;
            }
        }
    }
}

const std::vector<const char*> all_kinds = {"gaussian", "copies", "equal", "scales", "far", "zeros"};

TEST(GpuDevicesByName, ShareThePairsOfAGraph) {
    share_the_pairs({2, 3, 4, 5, 6, 7, 8}, all_kinds);
}

// One of them fails, at any of its calls: the others do the graph, in blocks, and the report says so.
TEST(GpuDevicesByName, ShareTheRestOfAGraph) {
    if (gpu::device_info(0).capability != 90) GTEST_SKIP() << "not a device of compute capability 9.0";
    constexpr std::int64_t n = 3000, d = 48, k = 5;
    const std::vector<float> values = graph_values("copies", n, d);
    Options options;
    options.device = "cuda:0";
    const MatrixView points = view(values.data(), n, d);
    const Neighbors want = graph(points, k, options);
    const std::vector<std::string> on = {devices()[0], devices()[1], devices()[0]};
    for (const int failing : {0, 2}) {
        api::GroupProbe probe{{}, 0, 0, 1};
        probe.before = [&](int device, std::int64_t block) {
            if (block >= 0 && device == failing) throw Error(ErrorCode::device, "device: it fell off the bus");
        };
        const Neighbors got = found(on, points, nullptr, k, options, true, probe);
        EXPECT_TRUE(same_answer(want, got));
        ASSERT_FALSE(got.report.fallbacks.empty());
        EXPECT_NE(std::string::npos, got.report.fallbacks.front().why.find("fell off the bus"));
    }
    int happened = 0;
    for (std::int64_t fault = 0; fault < 400; fault += 7) {
        std::atomic<bool> armed{false};
        api::GroupProbe probe{{}, 0, 0, 1};
        probe.before = [&](int, std::int64_t block) {
            if (block >= 0 && !armed.exchange(true)) gpu::InjectedFault::checks_left = fault;
        };
        const Neighbors got = found(on, points, nullptr, k, options, true, probe);
        happened += gpu::InjectedFault::checks_left < 0;
        gpu::InjectedFault::checks_left = gpu::InjectedFault::none;
        ASSERT_TRUE(same_answer(want, got)) << fault;
    }
    EXPECT_GT(happened, 30);
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
