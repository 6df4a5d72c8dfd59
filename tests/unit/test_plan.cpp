// The planner on imaginary machines: what it chooses, what it refuses, and that budgets are kept.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "built_selectors.h"
#include "cpu/filter/tile/tile.h"
#include "cpu/tuning.h"
#include "gpu/filter/levels.h"
#include "gpu/filter/tuning.h"
#include "gpu/search/tuning.h"
#include "gpu/select/choice.h"
#include "gpu/select/streaming/tuning.h"
#include "kith/error.h"
#include "kith/plan.h"
#include "kith/schedule.h"
#include "plan/planner.h"

namespace {

using kith::planner::Form;
using kith::planner::Machine;
using kith::planner::Request;

Machine with_gpu(std::int64_t free_bytes) {
    Machine m;
    m.isa = "avx512";
    m.threads = 8;
    m.free_bytes = std::int64_t{64} << 30;
    m.devices = {{"imaginary", 90, free_bytes, 132}};
    return m;
}

Request of(kith::Shape shape, kith::metric::Gemm gemm) {
    Request r;
    r.shape = shape;
    r.metric.traits.gemm = gemm;
    return r;
}

constexpr kith::Shape large{1 << 20, 8192, 128, 100, kith::ElementType::f32, false};

TEST(Plan, PrefersTheGpuAndItsFilter) {
    const kith::Plan p = kith::planner::make(of(large, kith::metric::Gemm::l2), with_gpu(std::int64_t{70} << 30));
    EXPECT_EQ(0, p.device);
    EXPECT_EQ(kith::Path::gemm_f16, p.path);
    EXPECT_EQ(large.n, p.chunk_points);
    EXPECT_NE(std::string::npos, kith::explain(p).find("gemm-f16"));
}

TEST(Plan, FallsBackToTheCpu) {
    Machine m = with_gpu(0);
    m.devices.clear();
    m.no_device = "no driver";
    Request r = of(large, kith::metric::Gemm::l2);
    EXPECT_EQ(kith::Path::projected, kith::planner::make(r, m).path);
    EXPECT_EQ(kith::host_memory, kith::planner::make(r, m).device);
    r.device = "cuda";
    try {
        kith::planner::make(r, m);
        FAIL();
    } catch (const kith::Error& e) {
        EXPECT_EQ(kith::ErrorCode::device, e.code());
        EXPECT_NE(std::string::npos, std::string(e.what()).find("no driver"));
    }
}

Machine with_gpus(int count, std::int64_t free_bytes) {
    Machine m = with_gpu(free_bytes);
    while (static_cast<int>(m.devices.size()) < count) m.devices.push_back(m.devices.front());
    return m;
}

TEST(Plan, NamesSeveralDevices) {
    const Machine m = with_gpus(3, std::int64_t{70} << 30);
    const auto named = [&](const char* device) { return kith::planner::choose_devices(device, kith::host_memory, m); };
    EXPECT_EQ((std::vector<int>{0, 1, 2}), named("cuda:all"));
    EXPECT_EQ((std::vector<int>{2, 0}), named("cuda:2,0"));
    EXPECT_EQ((std::vector<int>{1}), named("cuda:1"));
    EXPECT_EQ((std::vector<int>{0}), named("cuda"));
    EXPECT_EQ((std::vector<int>{kith::host_memory}), named("cpu"));
    EXPECT_EQ("cuda:2,0", kith::planner::spelled({2, 0}));
    EXPECT_EQ("cpu", kith::planner::spelled({kith::host_memory}));
    const auto refusal = [&](const char* device) -> std::string {
        try {
            named(device);
        } catch (const kith::Error& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_NE(std::string::npos, refusal("cuda:0,0").find("expected each GPU once, and 0 is there twice"));
    EXPECT_NE(std::string::npos, refusal("cuda:0,3").find("3 GPU(s)"));
    EXPECT_NE(std::string::npos, refusal("cuda:0;1").find("cuda:N,M,... or cuda:all"));
    EXPECT_THROW(kith::planner::choose_device("cuda:0,1", kith::host_memory, m), kith::Error);  // a selection's
    EXPECT_THROW(kith::planner::choose_devices("cuda:all", kith::host_memory, Machine{}), kith::Error);
}

TEST(Plan, DividesQueriesOfPointsThatFitAndPointsThatDoNot) {
    Request r = of({1 << 22, 32768, 128, 10, kith::ElementType::f32, false}, kith::metric::Gemm::l2);
    r.device = "cuda:all";
    const kith::Plan fits = kith::planner::make(r, with_gpus(2, std::int64_t{70} << 30));
    EXPECT_EQ((std::vector<int>{0, 1}), fits.devices);
    EXPECT_EQ(16384, fits.device_queries);
    EXPECT_EQ(1 << 22, fits.device_points);
    EXPECT_NE(std::string::npos, kith::explain(fits).find("cuda:0,1"));
    const kith::Plan shards = kith::planner::make(r, with_gpus(2, std::int64_t{5} << 30));
    EXPECT_EQ(1 << 21, shards.device_points);
    EXPECT_EQ(1 << 21, shards.chunk_points);  // a shard fits
    Machine unequal = with_gpus(2, std::int64_t{70} << 30);
    unequal.devices[1].name = "slower";
    EXPECT_EQ(4096, kith::planner::make(r, unequal).device_queries);
    r.shape.q = 300;
    EXPECT_EQ(256, kith::planner::make(r, with_gpus(2, std::int64_t{70} << 30)).device_queries);
    r.shape.q = 10;
    EXPECT_EQ(10, kith::planner::make(r, with_gpus(2, std::int64_t{70} << 30)).device_queries);
    r.shape.graph = true;
    r.shape.q = r.shape.n = 1 << 20;
    EXPECT_FALSE(kith::planner::make(r, with_gpus(2, std::int64_t{70} << 30)).symmetric);
    const kith::Plan single = kith::planner::make(r, with_gpus(1, std::int64_t{70} << 30));
    EXPECT_TRUE(single.devices.empty());
    EXPECT_TRUE(single.symmetric);
}

// A plan is of the metric that is computed.
TEST(Plan, MinkowskiOfAnInfiniteExponentIsChebyshev) {
    const kith::Shape shape{1 << 20, 1024, 64, 10, kith::ElementType::f32, false};
    kith::Options options;
    options.metric = kith::MetricId::minkowski;
    options.metric.p = std::numeric_limits<double>::infinity();
    const kith::Plan plan = kith::plan_on("h100", shape, options);
    EXPECT_EQ("direct-f32", kith::path_name(plan));
    options.metric.p = 0.5;
    EXPECT_THROW(kith::plan_on("h100", shape, options), kith::Error);
    options.metric = kith::MetricId::chebyshev;
    EXPECT_EQ(kith::plan_on("h100", shape, options).why, plan.why);
}

// What kith plan prints of a graph on GPUs: each pair of points is somebody's, and everybody has as much.
TEST(Plan, SchedulesOfAGraph) {
    const kith::Shape shape{1 << 20, 1 << 20, 128, 10, kith::ElementType::f32, true};
    kith::Options options;
    const std::vector<kith::GraphSchedule> blocks = kith::graph_schedules(shape, options, "h100");
    ASSERT_EQ(8U, blocks.size());
    EXPECT_EQ("symmetric", blocks[0].how);
    EXPECT_GT(blocks[0].pairs, 0.5);
    EXPECT_LT(blocks[0].pairs, 0.6);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        EXPECT_EQ(static_cast<int>(i) + 1, blocks[i].devices);
        EXPECT_GE(blocks[i].balance, 1);
        EXPECT_LT(blocks[i].balance, 1.1);
        EXPECT_EQ(512.0 * (1 << 20), blocks[i].received_bytes);
        EXPECT_EQ(120.0 * (1 << 20) / blocks[i].devices, blocks[i].sent_bytes);
        if (i == 0) continue;
        EXPECT_EQ("blocks", blocks[i].how);
        EXPECT_EQ(1, blocks[i].pairs);
    }
    // Points that are more than fit are cut into shards, each of which meets all queries.
    const std::vector<kith::GraphSchedule> shards = kith::graph_schedules(
        {std::int64_t{1} << 28, std::int64_t{1} << 28, 128, 10, kith::ElementType::f32, true}, {}, "h100");
    ASSERT_FALSE(shards.empty());
    EXPECT_EQ("shards", shards.back().how);
    EXPECT_EQ(120.0 * (1 << 28), shards.back().sent_bytes);
    EXPECT_EQ(512.0 * ((1 << 28) + (1 << 25)), shards.back().received_bytes);
    // With less memory than points, they come once for every pass.
    options = {};
    options.memory = std::int64_t{1} << 28;
    const std::vector<kith::GraphSchedule> streamed = kith::graph_schedules(shape, options, "h100");
    ASSERT_FALSE(streamed.empty());
    EXPECT_GT(streamed.front().received_bytes, 512.0 * (2 << 20));
    EXPECT_THROW(kith::graph_schedules({10, 10, 2, 1, kith::ElementType::f32, false}, {}, "h100"), kith::Error);
    EXPECT_TRUE(kith::graph_schedules({10, 10, 2, 1, kith::ElementType::f32, true}, {}, "zen5").empty());
}

TEST(Plan, NeighboursBeyondThePointsTakeNothingOnAGpu) {
    kith::Shape shape{1000, 100, 16, 1000, kith::ElementType::f32, false};
    const auto planned = [&] {
        return kith::planner::make(of(shape, kith::metric::Gemm::l2), with_gpu(std::int64_t{1} << 30));
    };
    const kith::Plan all = planned();
    shape.k = 1 << 30;
    const kith::Plan more = planned();
    EXPECT_EQ(kith::Path::exact, more.path);
    EXPECT_EQ(all.workspace_bytes, more.workspace_bytes);
    EXPECT_EQ(all.query_tile, more.query_tile);
}

TEST(Plan, AShareOfAGpusMemoryIsABudget) {
    Request r = of(large, kith::metric::Gemm::l2);
    const Machine m = with_gpu(std::int64_t{2} << 30);
    for (const double share : {1.0, 0.5, 0.25}) {
        r.share = share;
        r.memory = 0;
        const kith::Plan of_share = kith::planner::make(r, m);
        r.memory = static_cast<std::int64_t>(0.85 * share * static_cast<double>(m.devices[0].free_bytes));
        const kith::Plan of_memory = kith::planner::make(r, m);
        EXPECT_EQ(of_memory.chunk_points, of_share.chunk_points);
        EXPECT_EQ(of_memory.query_tile, of_share.query_tile);
        EXPECT_GE(r.memory, of_share.workspace_bytes);
    }
    r.memory = 0;
    try {
        kith::planner::make(r, with_gpu(1 << 10));
        FAIL();
    } catch (const kith::Error& e) {
        EXPECT_EQ(kith::ErrorCode::out_of_memory, e.code());
        EXPECT_EQ(0u, std::string(e.what()).find("memory: 218 bytes, 21 % of what is free; ")) << e.what();
    }
}

// A CPU looks for directions where there are many queries of many dimensions: the sample costs less than it may save.
TEST(Plan, ProjectsManyQueriesOfManyDimensions) {
    Machine m = with_gpu(0);
    m.devices.clear();
    const auto path = [&](kith::Shape shape, bool prepared = false, bool radius = false) {
        Request r = of(shape, kith::metric::Gemm::l2);
        r.points.prepared = r.ahead = prepared;
        r.all_points = radius;
        return kith::planner::make(r, m).path;
    };
    EXPECT_EQ(kith::Path::projected, path({1 << 17, 8192, 256, 10}));
    EXPECT_EQ(kith::Path::projected, path({1 << 17, 1, 256, 1}, true));
    for (const kith::Shape& other :
         {kith::Shape{1 << 17, 10, 256, 10}, kith::Shape{1 << 17, 8192, 16, 10}, kith::Shape{1 << 17, 8192, 4097, 10},
          kith::Shape{255, 8192, 256, 10}, kith::Shape{1 << 14, 8192, 256, (1 << 14) / 10 + 1}})
        EXPECT_NE(kith::Path::projected, path(other)) << other.n << " " << other.q << " " << other.d << " " << other.k;
    EXPECT_EQ(kith::Path::gemm_f32, path({1 << 17, 8192, 256, 10}, false, true));
    m.free_bytes = 128 << 20;
    EXPECT_EQ(kith::Path::gemm_f32, path({1 << 17, 8192, 256, 10}));
    Request r = of({1 << 14, 10, 64, 5}, kith::metric::Gemm::cross_entropy);
    r.path = "projected";
    EXPECT_THROW(kith::planner::make(r, m), kith::Error);
    r.metric.traits.gemm = kith::metric::Gemm::dot;
    EXPECT_TRUE(kith::planner::make(r, m).forced);
    EXPECT_EQ(kith::Path::projected, kith::planner::make(r, m).path);
}

TEST(Plan, TakesBf16WhereTheMachineHasIt) {
    Machine m = with_gpu(0);
    m.devices.clear();
    Request r = of(large, kith::metric::Gemm::l2);
    r.shape.q = 1000;
    r.leaves_out = false;
    m.bf16 = true;
    EXPECT_EQ(kith::Path::gemm_bf16, kith::planner::make(r, m).path);
    r.isa = "avx512";
    EXPECT_EQ(kith::Path::gemm_bf16, kith::planner::make(r, m).path);
    r.isa = "avx2";
    EXPECT_EQ(kith::Path::gemm_f32, kith::planner::make(r, m).path);
    const auto refusal = [&] {
        try {
            kith::planner::make(r, m);
        } catch (const kith::Error& e) {
            EXPECT_EQ(kith::ErrorCode::invalid_argument, e.code());
            return std::string(e.what());
        }
        return std::string("none");
    };
    r.path = "gemm-bf16";
    EXPECT_NE(std::string::npos, refusal().find("avx512"));
    r.isa = "";
    m.bf16 = false;
    EXPECT_NE(std::string::npos, refusal().find("AVX512_BF16"));
    r.path = "";
    EXPECT_EQ(kith::Path::gemm_f32, kith::planner::make(r, m).path);
    m.bf16 = true;
    r.shape.d = 8;
    EXPECT_EQ(kith::Path::gemm_f32, kith::planner::make(r, m).path);
}

TEST(Plan, ScansWhereNothingIsFiltered) {
    Request r = of(large, kith::metric::Gemm::l2);
    r.shape.k = large.n / 2;
    EXPECT_EQ(kith::Path::exact, kith::planner::make(r, with_gpu(std::int64_t{70} << 30)).path);
    EXPECT_EQ(kith::Path::exact,
              kith::planner::make(of(large, kith::metric::Gemm::none), with_gpu(std::int64_t{70} << 30)).path);
}

// An Index of many points of few enough coordinates asks a sample for clusters, and once it has none is planned as
// before: symmetric graphs, every value of few queries.
TEST(Plan, ClustersOfAnIndex) {
    const auto plan = [](const kith::Shape& shape, bool prepared, bool none = false, int capability = 90) {
        Machine machine = with_gpu(std::int64_t{70} << 30);
        machine.devices[0].capability = capability;
        Request r = of(shape, kith::metric::Gemm::l2);
        r.points.prepared = prepared;
        r.points.forms.clusters = r.points.forms.pca = none ? Form::absent : Form::unknown;
        return kith::planner::make(r, machine);
    };
    const kith::Shape shape{1 << 20, 8192, 128, 10};
    EXPECT_EQ(kith::Path::clustered, plan(shape, true).path);
    EXPECT_EQ("sm_90a", plan(shape, true).isa);
    EXPECT_EQ(kith::Path::gemm_f16, plan(shape, false).path);
    EXPECT_EQ(kith::Path::gemm_f16, plan(shape, true, true).path);
    EXPECT_EQ(kith::Path::gemm_f16, plan(shape, true, false, 80).path);
    EXPECT_EQ(1, plan({1 << 20, 1, 128, 10}, true, true).matrix_queries);
    EXPECT_EQ(0, plan({1 << 20, 1, 128, 10}, true).matrix_queries);
    for (const kith::Shape& other :
         {kith::Shape{1 << 17, 8192, 128, 10}, kith::Shape{1 << 20, 8192, 200, 10}, kith::Shape{1 << 20, 8192, 12, 10}})
        EXPECT_EQ(other.d < 64 ? kith::Path::gemm_f16 : kith::Path::projected, plan(other, true).path)
            << other.n << " x " << other.d;
    kith::Shape graph{1 << 19, 1 << 19, 96, 10};
    graph.graph = true;
    EXPECT_FALSE(plan(graph, true).symmetric);
    EXPECT_TRUE(plan(graph, true, true).symmetric);
}

// A radius takes a filter of points in clusters in their own order, where half of the workspace has room for it.
TEST(Plan, RadiiOfPointsInClusters) {
    const kith::Shape shape{1 << 20, 8192, 128, 1};
    const double spread = kith::gpu::tuning::spread_bytes(shape.n, shape.d);
    const auto plan = [&](bool in_clusters, std::int64_t memory) {
        Request r = of(shape, kith::metric::Gemm::l2);
        r.points.prepared = r.all_points = true;
        r.points.forms.clusters = in_clusters ? Form::ready : Form::unknown;
        r.memory = memory;
        r.points.chunk = shape.n;
        return kith::planner::make(r, with_gpu(std::int64_t{70} << 30));
    };
    constexpr std::int64_t mib = 1 << 20;
    int with = 0, without = 0;
    for (std::int64_t memory = 700 * mib; memory <= 2000 * mib; memory += 20 * mib) {
        const kith::Plan plain = plan(false, memory), own = plan(true, memory);
        EXPECT_EQ(kith::Path::gemm_f16, own.path);
        const bool room = spread <= static_cast<double>(own.workspace_bytes) / 2;
        EXPECT_EQ(room, own.why.find("own order beside") != std::string::npos) << own.why;
        EXPECT_NE(room, own.why.find("has no room") != std::string::npos) << own.why;
        EXPECT_EQ(std::string::npos, plain.why.find("own order")) << plain.why;
        if (room) EXPECT_LE(own.query_tile, plain.query_tile);
        else EXPECT_EQ(plain.workspace_bytes, own.workspace_bytes);
        const double points = kith::gpu::tuning::point_bytes(shape.d, 4, own.path, true) * static_cast<double>(shape.n),
                     budget = static_cast<double>(memory);
        EXPECT_LE(static_cast<double>(own.workspace_bytes), std::max(budget - points, budget / 2)) << memory;
        ++(room ? with : without);
    }
    EXPECT_GT(with, 5);
    EXPECT_GT(without, 5);
}

// On a GPU from more coordinates and points on, where everything stays on the device.
TEST(Plan, LooksForDirectionsOnGpus) {
    Machine m = with_gpu(std::int64_t{70} << 30);
    const auto plan = [&](const kith::Shape& shape, bool prepared, std::int64_t memory = 0) {
        Request r = of(shape, kith::metric::Gemm::l2);
        r.points.prepared = prepared;
        r.memory = memory;
        return kith::planner::make(r, m);
    };
    const kith::Plan index = plan({1 << 17, 64, 256, 10}, true), once = plan({1 << 17, 1 << 15, 256, 10}, false);
    EXPECT_EQ(kith::Path::projected, index.path);
    EXPECT_EQ(kith::Path::projected, once.path);
    EXPECT_EQ("sm_90a", once.isa);
    EXPECT_EQ(std::int64_t{1} << 17, once.chunk_points);
    for (const kith::Shape& other :
         {kith::Shape{(1 << 17) - 1, 1 << 16, 256, 10}, kith::Shape{1 << 17, 1 << 16, 63, 10},
          kith::Shape{1 << 17, (1 << 15) - 1, 256, 10}, kith::Shape{1 << 17, 1 << 16, 256, (1 << 11) + 1}})
        EXPECT_EQ(kith::Path::gemm_f16, plan(other, false).path) << other.n << " " << other.q << " " << other.d;
    // Numbers of 8 bits pay from fewer coordinates on, where matrix units multiply them; not of a graph whose tiles
    // serve both sides.
    EXPECT_EQ(kith::Path::projected, plan({1 << 17, 1 << 16, 64, 10}, false).path);
    EXPECT_EQ(kith::Path::gemm_f16, plan({1 << 19, 1 << 19, 128, 10, kith::ElementType::f32, true}, false).path);
    m.devices[0].capability = 80;
    EXPECT_EQ(kith::Path::gemm_f16, plan({1 << 17, 1 << 16, 255, 10}, false).path);
    EXPECT_EQ(kith::Path::projected, plan({1 << 17, 1 << 16, 256, 10}, false).path);
    m.devices[0].capability = 90;
    // Vectors of all coordinates and of the directions are on the device.
    EXPECT_LT(plan({1 << 17, (1 << 15) - 1, 256, 10}, false).workspace_bytes, once.workspace_bytes);
    EXPECT_EQ(kith::Path::gemm_f16, plan({1 << 22, 1 << 15, 768, 10}, true, std::int64_t{8} << 30).path);
    Request has = of({1 << 22, 1, 768, 10}, kith::metric::Gemm::l2);
    has.points.forms.pca = Form::ready;
    has.points.prepared = true;
    has.points.chunk = 1 << 22;
    has.data_device = 0;
    EXPECT_EQ(kith::Path::projected, kith::planner::make(has, with_gpu(std::int64_t{14} << 30)).path);
    has.points.forms.pca = Form::unknown;
    EXPECT_EQ(kith::Path::gemm_f16, kith::planner::make(has, with_gpu(std::int64_t{14} << 30)).path);
    Request r = of({1 << 17, 10, 64, 5}, kith::metric::Gemm::cross_entropy);
    r.path = "projected";
    EXPECT_THROW(kith::planner::make(r, m), kith::Error);
    r.shape.graph = true;
    r.shape.n = r.shape.q = 1 << 18;
    r.shape.d = 96;
    r.metric.traits.gemm = kith::metric::Gemm::l2;
    EXPECT_TRUE(kith::planner::make(r, m).forced);
    EXPECT_FALSE(kith::planner::make(r, m).symmetric);
}

// The product of a query with logarithms serves both devices, of up to as many dimensions as any other.
TEST(Plan, FiltersCrossEntropies) {
    Request r = of(large, kith::metric::Gemm::cross_entropy);
    Machine m = with_gpu(std::int64_t{70} << 30);
    r.shape.d = 65536;
    EXPECT_EQ(kith::Path::gemm_f16, kith::planner::make(r, m).path);
    r.shape.d = 3;
    EXPECT_EQ(kith::Path::gemm_f16, kith::planner::make(r, m).path);
    r.device = "cpu";
    m.bf16 = false;
    EXPECT_EQ(kith::Path::gemm_f32, kith::planner::make(r, m).path);
}

// On a GPU, of elements that f32 holds; what is not says why.
TEST(Plan, FiltersFormulasThatHaveABound) {
    Request r = of(large, kith::metric::Gemm::none);
    r.metric.id = kith::MetricId::formula;
    r.metric.user = true;
    r.metric.unbounded = "";
    const Machine m = with_gpu(std::int64_t{70} << 30);
    const auto scanned_as = [&](const std::string& why) {
        const kith::Plan plan = kith::planner::make(r, m);
        EXPECT_EQ(kith::Path::exact, plan.path) << why;
        EXPECT_NE(std::string::npos, plan.why.find(why)) << plan.why;
    };
    EXPECT_EQ(kith::Path::direct_f32, kith::planner::make(r, m).path);
    r.metric.unbounded = "it may divide by 0";
    scanned_as("every pair in binary64, as the formula is not filtered: it may divide by 0. ");
    r.path = "direct-f32";
    EXPECT_THROW(kith::planner::make(r, m), kith::Error);
    r.path = r.metric.unbounded = "";
    r.shape.type = kith::ElementType::f64;
    scanned_as("f32 may not hold elements of f64");
    r.shape.type = kith::ElementType::f16;
    r.shape.n = 10000;
    r.shape.q = 100;
    scanned_as("the pairs are too few for a filter");
    r.device = "cpu";
    scanned_as("every pair in binary64. ");
}

// Of so few queries every value, where groups are enough for the neighbours and there is room.
TEST(Plan, ComputesEveryValueOfVeryFewQueries) {
    const auto plan = [](std::int64_t n, std::int64_t q, std::int64_t d, std::int64_t k, auto change) {
        // Of prepared points: for one call a scan takes less.
        Request r = of({n, q, d, k, kith::ElementType::f32, false}, kith::metric::Gemm::l2);
        r.points.prepared = true;
        r.points.forms.clusters = r.points.forms.pca = Form::absent;
        change(r);
        return kith::planner::make(r, with_gpu(std::int64_t{70} << 30));
    };
    const auto as_it_is = [](Request&) {};
    const kith::Plan one = plan(1 << 20, 1, 128, 100, as_it_is);
    EXPECT_EQ(1, one.matrix_queries);
    EXPECT_NE(std::string::npos, one.why.find("every value of so few queries")) << one.why;
    EXPECT_GE(one.workspace_bytes, std::int64_t{4} << 20);
    EXPECT_EQ(4, plan(1 << 20, 4, 768, 10, as_it_is).matrix_queries);
    EXPECT_EQ(0, plan(1 << 20, 5, 128, 10, as_it_is).matrix_queries);
    EXPECT_EQ(0, plan(1 << 20, 4, 8192, 10, as_it_is).matrix_queries);  // more than shared memory holds
    EXPECT_EQ(1, plan(1 << 20, 1, 8192, 10, as_it_is).matrix_queries);
    // 132 x 16 groups, or n / 32.
    EXPECT_EQ(1, plan(1 << 20, 1, 128, 1056, as_it_is).matrix_queries);
    EXPECT_EQ(0, plan(1 << 20, 1, 128, 1057, as_it_is).matrix_queries);
    const auto by_products = [](Request& r) { r.path = "gemm-f16"; };  // for so few points a scan takes less
    EXPECT_EQ(1, plan(1000, 1, 128, 16, by_products).matrix_queries);
    EXPECT_EQ(0, plan(1000, 1, 128, 17, by_products).matrix_queries);
    // A forced instruction set is one of matrix units. A projection has values, too; clusters would hold the neighbours
    // of a query in one group.
    EXPECT_EQ(0, plan(1 << 20, 1, 128, 10, [](Request& r) { r.isa = "sm_90a"; }).matrix_queries);
    EXPECT_EQ(1, plan(1 << 20, 1, 128, 10, [](Request& r) { r.path = "gemm-f16"; }).matrix_queries);
    for (const char* const path : {"projected", "gemm-i8"})
        EXPECT_EQ(1, plan(1 << 20, 1, 512, 10, [&](Request& r) { r.path = path; }).matrix_queries) << path;
    EXPECT_EQ(0, plan(1 << 20, 1, 128, 10, [](Request& r) { r.path = "clustered"; }).matrix_queries);
    const auto projected = [](Request& r) {
        r.points.forms.pca = Form::ready;
        r.points.prepared = true;
    };
    EXPECT_EQ(1, plan(1 << 20, 1, 1024, 10, projected).matrix_queries);
    EXPECT_EQ(1, plan(1 << 20, 1, 1536, 10, projected).matrix_queries);
    EXPECT_EQ(0, plan(1 << 20, 1, 128, 10, [](Request& r) { r.path = "exact"; }).matrix_queries);
}

// Monotone metrics of few dimensions: where there are points and queries enough to repay a tree.
TEST(Plan, TakesATreeOfFewDimensions) {
    Request r = of({100000, 100000, 3, 10, kith::ElementType::f64, true}, kith::metric::Gemm::l2);
    const Machine m = with_gpu(std::int64_t{70} << 30);
    const auto path = [&] { return kith::planner::make(r, m).path; };
    r.device = "cpu";
    EXPECT_NE(kith::Path::tree, path());
    r.metric.traits.monotone = true;
    EXPECT_EQ(kith::Path::tree, path());
    r.shape.d = 9;
    EXPECT_NE(kith::Path::tree, path());
    r.shape.d = 8;
    r.shape.q = 100;
    EXPECT_NE(kith::Path::tree, path());
    r.points.prepared = true;
    EXPECT_EQ(kith::Path::tree, path());
    r.path = "tree";
    EXPECT_EQ(kith::Path::tree, path());
    r.path = "";
    EXPECT_EQ(kith::Path::tree, path());
    r.path = "tree";
    r.device = "cuda";
    EXPECT_EQ(kith::Path::tree, path());
    r.shape.k = 200;
    EXPECT_THROW(path(), kith::Error);
}

// On a GPU it takes more points, and more pairs to repay it; what filters the rest is planned beside it.
TEST(Plan, TakesATreeOnAGpu) {
    Request r = of({1000000, 1000000, 3, 10, kith::ElementType::f32, true}, kith::metric::Gemm::l2);
    r.metric.traits.monotone = true;
    const std::int64_t all = std::int64_t{70} << 30;
    const auto plan = [&](std::int64_t free) { return kith::planner::make(r, with_gpu(free)); };
    const auto path = [&] { return plan(all).path; };
    const kith::Plan found = plan(all);
    EXPECT_EQ(kith::Path::tree, found.path);
    EXPECT_EQ(1000000, found.chunk_points);
    EXPECT_GE(found.workspace_bytes, 1000000 * (24 * 10 + 64));
    EXPECT_NE(kith::Path::tree, plan(200 << 20).path);
    r.memory = 1 << 28;
    EXPECT_NE(kith::Path::tree, path());
    r.memory = 0;
    // Of the paths that filter, that which would be taken without a tree.
    for (const auto direct : {kith::metric::Direct::none, kith::metric::Direct::squares}) {
        r.metric.traits.direct = direct;
        r.path = "tree";
        const kith::Path behind = kith::gpu::tuning::behind_tree(plan(all));
        r.path = kith::name(behind);
        EXPECT_EQ(direct == kith::metric::Direct::none ? kith::Path::gemm_f16 : kith::Path::direct_f32, path());
        r.path = "";
    }
    r.shape.q = 1000;
    EXPECT_NE(kith::Path::tree, path());
    r.points.prepared = true;
    EXPECT_EQ(kith::Path::tree, path());
    r.shape.k = 129;
    EXPECT_NE(kith::Path::tree, path());
    r.shape.k = 128;
    EXPECT_EQ(kith::Path::tree, path());
    r.shape.d = 9;
    EXPECT_NE(kith::Path::tree, path());
    r.shape.d = 8;
    EXPECT_EQ(kith::Path::tree, path());
    r.shape.n = 100000;
    // The direct form is slower than products: a tree pays earlier.
    EXPECT_EQ(kith::Path::tree, path());
    r.metric.traits.direct = kith::metric::Direct::none;
    EXPECT_NE(kith::Path::tree, path());
    r.shape.d = 2;
    EXPECT_EQ(kith::Path::tree, path());
    // Points that stream have none, of whatever path was asked.
    r.points.chunk = 50000;
    EXPECT_NE(kith::Path::tree, path());
    r.path = "tree";
    EXPECT_THROW(path(), kith::Error);
}

// One that has been made serves all searches that it leaves out enough for, whatever memory is left.
TEST(Plan, KeepsATreeThatHasBeenMade) {
    Request r = of({100000, 1, 3, 10, kith::ElementType::f32, false}, kith::metric::Gemm::l2);
    r.metric.traits.monotone = true;
    r.device = "cpu";
    r.points.prepared = true;
    for (const std::int64_t free : {std::int64_t{1} << 40, std::int64_t{1} << 20}) {
        Machine m = with_gpu(std::int64_t{70} << 30);
        m.free_bytes = free;
        const auto path = [&] { return kith::planner::make(r, m).path; };
        for (const std::int64_t memory : {0, 1 << 20}) {
            r.memory = memory;
            r.points.forms.tree = Form::unknown;
            EXPECT_EQ(memory == 0 && free > 1 << 20, path() == kith::Path::tree);
            r.points.forms.tree = Form::ready;
            EXPECT_EQ(kith::Path::tree, path());
        }
    }
}

// On a GPU squared differences of few dimensions are filtered as they are; elements that f32 does not hold, where the
// form takes them rounded.
TEST(Plan, TakesTheDirectFormOfFewDimensions) {
    Request r = of(large, kith::metric::Gemm::l2);
    r.metric.traits.direct = kith::metric::Direct::squares;
    r.device = "cuda";
    for (const std::int64_t d : {1, 8, 9}) {
        for (const kith::ElementType type : {kith::ElementType::f32, kith::ElementType::f64}) {
            r.shape.d = d;
            for (const bool rounds : {false, true}) {
                r.shape.type = type;
                r.metric.rounds = rounds;
                const bool direct =
                    kith::planner::make(r, with_gpu(std::int64_t{70} << 30)).path == kith::Path::direct_f32;
                EXPECT_EQ(d <= 8 && (type == kith::ElementType::f32 || rounds), direct) << d;
            }
        }
    }
}

// A form after a factor serves both devices, on a GPU not too many dimensions.
TEST(Plan, FiltersAfterAFactor) {
    Request r = of(large, kith::metric::Gemm::none);
    r.metric.traits.factored = r.metric.traits.whole_vector = true;
    Machine m = with_gpu(std::int64_t{70} << 30);
    EXPECT_EQ(kith::Path::gemm_f16, kith::planner::make(r, m).path);
    r.device = "cpu";
    m.bf16 = false;
    EXPECT_EQ(kith::Path::projected, kith::planner::make(r, m).path);
    r.device = "";
    r.shape.d = 4097;
    EXPECT_EQ(kith::Path::exact, kith::planner::make(r, m).path);
    r.path = "gemm-f16";
    EXPECT_THROW(kith::planner::make(r, m), kith::Error);
    r.shape.d = 4096;
    EXPECT_EQ(kith::Path::gemm_f16, kith::planner::make(r, m).path);
}

TEST(Plan, KeepsEveryBudget) {
    for (const auto gemm : {kith::metric::Gemm::l2, kith::metric::Gemm::none}) {
        for (const std::int64_t k : {1, 100, 3000}) {
            std::int64_t smallest = 0;
            for (std::int64_t memory = 1 << 16; memory <= std::int64_t{1} << 34; memory *= 2) {
                Request r = of(large, gemm);
                r.shape.k = k;
                r.memory = memory;
                try {
                    const kith::Plan p = kith::planner::make(r, with_gpu(std::int64_t{70} << 30));
                    EXPECT_LE(p.workspace_bytes, memory);
                    if (!smallest) smallest = memory;
                } catch (const kith::Error& e) {
                    EXPECT_EQ(kith::ErrorCode::out_of_memory, e.code());
                    EXPECT_EQ(0, smallest) << "refused " << memory << " after taking " << smallest;
                }
            }
            EXPECT_GT(smallest, 0);
            EXPECT_LE(smallest, 1 << 24);
        }
    }
}

// One call rounds its points to 8 bits for many queries, where they have too few dimensions for directions.
TEST(Plan, RoundsToBytesForSomeQueries) {
    Machine m = with_gpu(0);
    m.devices.clear();
    m.isa = "avx512";
    m.bf16 = m.vnni = true;
    m.free_bytes = std::int64_t{8} << 30;
    const auto path = [&](kith::Shape shape, auto... change) {
        Request r = of(shape, kith::metric::Gemm::l2);
        r.leaves_out = true;
        (change(r), ...);
        return kith::planner::make(r, m).path;
    };
    EXPECT_EQ(kith::Path::gemm_i8, path({1 << 20, 8192, 32, 10}));
    EXPECT_EQ(kith::Path::gemm_bf16, path({1 << 20, 100, 32, 10}));
    EXPECT_EQ(kith::Path::gemm_bf16, path({1 << 20, 8192, 32, 10}, [](Request& r) { r.leaves_out = false; }));
    EXPECT_EQ(kith::Path::gemm_f32, path({1 << 20, 8192, 32, 10}, [](Request& r) { r.isa = "avx2"; }));
    m.vnni = false;
    EXPECT_EQ(kith::Path::gemm_bf16, path({1 << 20, 8192, 32, 10}));
}

// What a path's queries take in tiles of matrix registers, as these have them.
TEST(Plan, ReckonsWhatRegistersRoundUp) {
    Machine m = with_gpu(0);
    m.devices.clear();
    m.isa = "amx";
    m.bf16 = m.vnni = true;
    const kith::cpu::PairKernels* const pairs = kith::cpu::pair_kernels(kith::cpu::Isa::amx);
    const kith::cpu::ByteKernels* const bytes = kith::cpu::byte_kernels(kith::cpu::Isa::amx);
    if (!pairs || !bytes) GTEST_SKIP() << "no AVX512_BF16";
    for (const kith::cpu::Tiles* const tiles : {&pairs->tiles, &bytes->tiles}) {
        EXPECT_EQ(kith::cpu::register_queries, tiles->rows);
        EXPECT_EQ(kith::cpu::register_run, tiles->run);
        EXPECT_GE(kith::cpu::register_run, tiles->header);
    }
    for (const char* path : {"gemm-bf16", "gemm-i8", "projected"}) {
        // What the path may become beside.
        std::vector<std::pair<const kith::cpu::Tiles*, std::int64_t>> of_words{{&pairs->tiles, 2}};
        if (path != std::string("gemm-bf16")) of_words.emplace_back(&bytes->tiles, 4);
        for (const std::int64_t d : {1, 2, 33, 130, 4096}) {
            std::int64_t plans = 0;
            for (std::int64_t memory = 1 << 16; memory <= std::int64_t{1} << 28; memory *= 2) {
                Request r = of({1 << 18, 8192, d, 10}, kith::metric::Gemm::l2);
                r.path = path;
                r.memory = memory;
                r.threads = 3;
                kith::Plan p;
                try {
                    p = kith::planner::make(r, m);
                } catch (const kith::Error&) {
                    continue;
                }
                ++plans;
                for (const auto& [tiles, per_word] : of_words) {
                    const std::int64_t words = tiles->header + tiles->padded((d + per_word - 1) / per_word),
                                       in_tiles = 4 * words * tiles->room(p.query_tile),
                                       beside = (8 * d + 24 * p.candidate_capacity) * p.query_tile;
                    EXPECT_GE(p.workspace_bytes, p.threads * (in_tiles + beside))
                        << path << ", d " << d << ", " << memory;
                }
            }
            EXPECT_GT(plans, 5) << path << ", d " << d;
        }
    }
}

// A thread has a query at least: of a budget that is too small for all threads fewer take part.
TEST(Plan, KeepsTheBudgetOfFewQueries) {
    Machine m = with_gpu(0);
    m.devices.clear();
    m.isa = "avx512";
    m.bf16 = m.vnni = true;
    Request r = of({1 << 18, 8192, 4096, 10}, kith::metric::Gemm::l2);
    std::int64_t refused = 0;
    int last = 0;
    for (const char* path : {"gemm-bf16", "gemm-i8", "gemm-f32"}) {
        r.path = path;
        r.threads = 3;
        last = 0;
        for (r.memory = 1 << 12; r.memory <= std::int64_t{1} << 26; r.memory += r.memory / 4) {
            kith::Plan p;
            try {
                p = kith::planner::make(r, m);
            } catch (const kith::Error& e) {
                EXPECT_EQ(kith::ErrorCode::out_of_memory, e.code());
                EXPECT_EQ(0, last) << path << ", " << r.memory;
                ++refused;
                continue;
            }
            EXPECT_LE(p.workspace_bytes, r.memory) << path;
            EXPECT_GE(p.threads, std::max(last, 1)) << path;
            last = p.threads;
        }
        EXPECT_EQ(3, last) << path;
    }
    EXPECT_GT(refused, 0);
}

TEST(Plan, PreparesWhatRegistersRoundUp) {
    Machine m = with_gpu(0);
    m.devices.clear();
    m.bf16 = m.vnni = true;
    const auto bytes = [&](const char* path, const char* isa) {
        Request r = of({1000, 10, 130, 10}, kith::metric::Gemm::l2);
        r.path = path;
        r.isa = isa;
        return kith::prepared_bytes(r.shape, kith::planner::make(r, m));
    };
    // Two words more of each point's panel, three of its row.
    EXPECT_EQ(1000 * 4 * (2 + 65), bytes("gemm-bf16", "avx512"));
    EXPECT_EQ(1000 * 4 * (2 + 80), bytes("gemm-bf16", "amx"));
    EXPECT_EQ(1000 * 4 * (2 + 33 + 3 + 130), bytes("gemm-i8", "avx512"));
    EXPECT_EQ(1000 * 4 * (2 + 48 + 3 + 130), bytes("gemm-i8", "amx"));
    EXPECT_EQ(1000 * 4 * (2 + 130), bytes("gemm-f32", "avx512"));
}

TEST(Plan, LargeGraphsUseBothSidesOfATile) {
    const auto plan_of = [](kith::Shape shape, kith::metric::Gemm gemm, const char* isa) {
        Request r = of(shape, gemm);
        r.isa = isa;
        return kith::planner::make(r, with_gpu(std::int64_t{70} << 30));
    };
    using kith::metric::Gemm;
    const kith::Shape graph{300'000, 300'000, 64, 10, kith::ElementType::f32, true};
    const kith::Plan p = plan_of(graph, Gemm::l2, "");
    EXPECT_TRUE(p.symmetric);
    EXPECT_EQ(graph.n, p.query_tile);
    EXPECT_EQ("sm_90a", p.isa);
    EXPECT_TRUE(plan_of(graph, Gemm::cosine, "").symmetric);
    EXPECT_FALSE(plan_of(graph, Gemm::dot, "").symmetric) << "queries are made unit, points are not";
    EXPECT_FALSE(plan_of(graph, Gemm::cross_entropy, "").symmetric)
        << "the divergence of q from x is not that of x from q";
    EXPECT_FALSE(plan_of(graph, Gemm::l2, "sm_80").symmetric);
    for (const kith::Shape& shape : {kith::Shape{100'000, 100'000, 64, 10, kith::ElementType::f32, true},
                                     kith::Shape{300'000, 300'000, 16, 10, kith::ElementType::f32, true},
                                     kith::Shape{300'000, 300'000, 192, 10, kith::ElementType::f32, true},
                                     kith::Shape{300'000, 300'000, 64, 10, kith::ElementType::f32, false}})
        EXPECT_FALSE(plan_of(shape, Gemm::l2, "").symmetric);
}

// An Index that was prepared to stream does so whatever a later call allows.
TEST(Plan, KeepsThePreparedChunks) {
    Request r = of({300'000, 300'000, 64, 10, kith::ElementType::f32, true}, kith::metric::Gemm::l2);
    r.points.chunk = 50'000;
    const kith::Plan p = kith::planner::make(r, with_gpu(std::int64_t{70} << 30));
    EXPECT_EQ(50'000, p.chunk_points);
    EXPECT_FALSE(p.symmetric);
}

TEST(Plan, InstructionSetsOfTheOtherDeviceAreRefused) {
    Request r = of(large, kith::metric::Gemm::l2);
    r.isa = "sm_90a";
    kith::planner::Machine older = with_gpu(std::int64_t{70} << 30);
    older.devices[0].capability = 86;
    EXPECT_THROW(kith::planner::make(r, older), kith::Error);
    r.isa = "";
    EXPECT_EQ("sm_80", kith::planner::make(r, older).isa);
    r.isa = "sm_80";
    r.device = "cpu";
    EXPECT_THROW(kith::planner::make(r, older), kith::Error);
}

TEST(Plan, PointsThatDoNotFitStream) {
    Request r = of(large, kith::metric::Gemm::l2);
    r.shape.n = 1'000'000'000;
    const kith::Plan p = kith::planner::make(r, with_gpu(std::int64_t{70} << 30));
    EXPECT_LT(p.chunk_points, r.shape.n);
    EXPECT_NE(std::string::npos, p.why.find("stream"));
}

TEST(Plan, AMillionByAMillionTakesAFewGibibytes) {
    Request r = of({1'000'000, 1'000'000, 128, 100, kith::ElementType::f32, true}, kith::metric::Gemm::l2);
    r.memory = std::int64_t{4} << 30;
    const kith::Plan p = kith::planner::make(r, with_gpu(std::int64_t{70} << 30));
    EXPECT_LE(p.workspace_bytes, r.memory);
    EXPECT_GE(p.query_tile, 1024);
}

TEST(Plan, IsAFunctionOfItsArguments) {
    const Request r = of(large, kith::metric::Gemm::cosine);
    EXPECT_EQ(kith::planner::make(r, with_gpu(1 << 30)), kith::planner::make(r, with_gpu(1 << 30)));
}

// ---- selections

Request selecting(std::int64_t rows, std::int64_t cols, std::int64_t k) {
    Request r;
    r.shape = {cols, rows, 1, k, kith::ElementType::f32, false};
    return r;
}

std::string refusal_of_selection(const Request& r, const Machine& m) {
    try {
        kith::planner::selection(r, m);
    } catch (const kith::Error& e) {
        EXPECT_EQ(kith::ErrorCode::invalid_argument, e.code());
        return e.what();
    }
    return "accepted";
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

const Machine with_large_gpu = with_gpu(std::int64_t{70} << 30);

TEST(PlanSelection, EverySelectorOfAGpuByName) {
    for (const kith::gpu::Selector& s : built_selectors()) {
        Request r = selecting(100, std::min<std::int64_t>(1 << 20, kith::gpu::longest_row(s, true)),
                              std::max<std::int64_t>(s.min_k, 1));
        r.selector = s.name;
        const kith::Plan p = kith::planner::selection(r, with_large_gpu);
        EXPECT_EQ(0, p.device);
        EXPECT_EQ(s.name, p.selector);
        EXPECT_TRUE(has(p.why, "forced")) << p.why;
        EXPECT_TRUE(has(kith::explain(p), s.name));
        if (s.max_k) {
            r.shape.k = s.max_k + 1;
            const std::string range = std::to_string(s.min_k) + " to " + std::to_string(s.max_k);
            EXPECT_TRUE(has(refusal_of_selection(r, with_large_gpu), range)) << s.name;
            r.shape.k = s.max_k;
        }
        r.shape.type = kith::ElementType::f64;
        const bool any = s.types == kith::gpu::SelectTypes::any;
        EXPECT_EQ(!any, has(refusal_of_selection(r, with_large_gpu), "f64")) << s.name;
    }
}

// Rows of at most so many values, of fewer on a device without clusters; and nothing that makes the host wait.
TEST(PlanSelection, WhatASelectorCannotDoIsRefused) {
    Request r = selecting(100, 524289, 10);
    r.selector = "cluster-select";
    EXPECT_TRUE(has(refusal_of_selection(r, with_large_gpu), "at most 524288 values"));
    r.shape.n = 524288;
    EXPECT_EQ("accepted", refusal_of_selection(r, with_large_gpu));
    Machine older = with_large_gpu;
    older.devices[0].capability = 80;
    EXPECT_TRUE(has(refusal_of_selection(r, older), "at most 32768 values"));
    r.selector = "sampled-buckets";
    r.selected.enqueue = true;
    EXPECT_TRUE(has(refusal_of_selection(r, with_large_gpu), "only enqueued"));
}

TEST(PlanSelection, ChoosesOneThatServes) {
    for (const std::int64_t cols : {1, 100, 1 << 15, 1 << 20, 1 << 27}) {
        for (const std::int64_t rows : {1, 100, 70000}) {
            for (std::int64_t k = 1; k <= cols; k = k * 3 + 1) {
                for (const char* order : {"", "ascending", "descending"}) {
                    Request r = selecting(rows, cols, k);
                    r.selected.order = order;
                    r.selected.largest = k % 2;
                    r.selected.sorted = k % 5 != 0;
                    r.selected.enqueue = k % 7 == 0;
                    r.shape.type = k % 3 ? kith::ElementType::f32 : kith::ElementType::f64;
                    const kith::Plan p = kith::planner::selection(r, with_large_gpu);
                    const kith::gpu::Selector* const s = kith::gpu::find_selector(p.selector);
                    ASSERT_NE(nullptr, s);
                    EXPECT_TRUE(kith::gpu::serves(
                        *s, {.n = cols, .rows = rows, .k = k, .f64 = k % 3 == 0, .enqueue = r.selected.enqueue}))
                        << p.selector;
                    EXPECT_TRUE(has(p.why, "selector " + p.selector + ": ")) << p.why;
                    EXPECT_LE(p.workspace_bytes, std::int64_t{35} << 30);
                    EXPECT_GE(p.query_tile, 1);
                }
            }
        }
    }
}

TEST(PlanSelection, TheOrderHintMeansWhatLargestMakesOfIt) {
    using kith::gpu::Ask;
    const kith::gpu::SelectChoice yes{.selector = "", .improving = Ask::yes, .reason = ""};
    const kith::gpu::SelectChoice no{.selector = "", .max_k = 10, .improving = Ask::no, .reason = ""};
    EXPECT_TRUE(yes.fits({.n = 100, .rows = 1, .k = 11, .improving = true}));
    EXPECT_FALSE(yes.fits({.n = 100, .rows = 1, .k = 11, .improving = false}));
    EXPECT_TRUE(no.fits({.n = 100, .rows = 1, .k = 10}));
    EXPECT_FALSE(no.fits({.n = 100, .rows = 1, .k = 11}));
    Request down = selecting(10, 1 << 20, 10), up = down;
    down.selected.order = "descending";
    up.selected.order = "ascending";
    up.selected.largest = true;
    const kith::Plan p = kith::planner::selection(down, with_large_gpu);
    EXPECT_EQ(p, kith::planner::selection(up, with_large_gpu));
    EXPECT_EQ(p.selector, kith::gpu::choose_selector({.n = 1 << 20, .rows = 10, .k = 10, .improving = true}).selector);
}

TEST(PlanSelection, NamesBelongToADevice) {
    Request r = selecting(10, 1000, 10);
    r.selector = "sieve";
    EXPECT_TRUE(has(refusal_of_selection(r, with_large_gpu), "threshold"));
    r.device = "cpu";
    EXPECT_TRUE(has(refusal_of_selection(r, with_large_gpu), "insertion"));
    r.selector = "threshold";
    EXPECT_TRUE(has(refusal_of_selection(r, with_large_gpu), "runs on a GPU only"));
    r.selector = "heap";
    EXPECT_EQ("heap", kith::planner::selection(r, with_large_gpu).selector);
    r.device = "cuda";
    EXPECT_TRUE(has(refusal_of_selection(r, with_large_gpu), "runs on the CPU only"));
    // Nothing was said of the device, and the data lie on the host.
    r.device = "auto";
    EXPECT_EQ(kith::host_memory, kith::planner::selection(r, with_large_gpu).device);
    r.data_device = 0;
    EXPECT_TRUE(has(refusal_of_selection(r, with_large_gpu), "runs on the CPU only"));
}

TEST(PlanSelection, OnTheCpu) {
    Request r = selecting(10, 1000, 10);
    r.device = "cpu";
    r.isa = "avx2";
    const kith::Plan p = kith::planner::selection(r, with_large_gpu);
    EXPECT_EQ("vector", p.selector);
    EXPECT_EQ("avx2", p.isa);
    r.shape.k = 900;
    EXPECT_EQ("nth-element", kith::planner::selection(r, with_large_gpu).selector);
    r.shape.k = 5;
    EXPECT_EQ("insertion", kith::planner::selection(r, with_large_gpu).selector);
    r = selecting(1, std::int64_t{1} << 33, 10);
    EXPECT_EQ(kith::host_memory, kith::planner::selection(r, with_large_gpu).device);
    r.device = "cuda";
    EXPECT_TRUE(has(refusal_of_selection(r, with_large_gpu), "8589934592 columns"));
}

TEST(PlanSelection, KeepsTheBudget) {
    Request r = selecting(1 << 20, 1 << 20, 100);
    for (std::int64_t memory = 1 << 26; memory <= std::int64_t{1} << 36; memory *= 4) {
        r.memory = memory;
        EXPECT_LE(kith::planner::selection(r, with_large_gpu).workspace_bytes, memory);
    }
    r.memory = 1 << 20;
    EXPECT_THROW(kith::planner::selection(r, with_large_gpu), kith::Error);
}

// A selection is cancelled between its tiles, and the values of one come from the host in a fraction of a second.
TEST(PlanSelection, TilesFromTheHostAreShort) {
    Request r = selecting(1 << 16, 1 << 20, 100);
    r.device = "cuda";
    const auto tile = [&] { return kith::planner::selection(r, with_large_gpu).query_tile; };
    EXPECT_EQ(1 << 10, tile());
    r.data_device = 0;
    EXPECT_LT(1 << 11, tile());
    r.data_device = kith::host_memory;
    r.memory = 1 << 30;
    EXPECT_GT(1 << 8, tile());
}

// ---- the levels of samples of the GPU's filter

// What every step of the filter relies on.
void check_levels(std::int64_t n, std::int64_t q, std::int64_t k) {
    const kith::gpu::FilterLevels levels = kith::gpu::filter_levels(n, q, k);
    const std::string label = "n " + std::to_string(n) + ", q " + std::to_string(q) + ", k " + std::to_string(k);
    ASSERT_GE(levels.count, 1) << label;
    ASSERT_LE(levels.count, 2) << label;
    // The first sample is ranked in a block's registers, as lists are.
    ASSERT_LE(levels.sample[0], kith::gpu::max_candidates) << label;
    ASSERT_LE(levels.capacity, kith::gpu::max_candidates) << label;
    ASSERT_EQ(0, levels.capacity % 64) << label;
    ASSERT_GE(levels.capacity, std::min(k, kith::gpu::max_candidates)) << label;
    for (int i = 0; i < levels.count; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const bool last = i + 1 == levels.count;
        const std::int64_t sample = levels.sample[at], order = levels.order[at],
                           next = last ? n : levels.sample[at + 1];
        ASSERT_GE(sample, 1) << label;
        ASSERT_LE(sample, n) << label;
        ASSERT_TRUE(last ? sample <= next : sample < next) << label;
        // Passes end with whole tiles, or with the points.
        ASSERT_TRUE(sample == n || sample % kith::gpu::filter_tile_points == 0) << label;
        ASSERT_GE(order, 1) << label;
        ASSERT_LE(order, std::min(sample, k)) << label;
        // Of all k nearest, about k sample / next are in the sample.
        const double wanted = last ? static_cast<double>(k) : static_cast<double>(levels.order[at + 1]);
        const double share = wanted * static_cast<double>(sample) / static_cast<double>(next);
        ASSERT_GE(static_cast<double>(order), share * (1 - 1e-12)) << label;
        const double ratio = static_cast<double>(next) / static_cast<double>(sample);
        if (levels.capacity < kith::gpu::max_candidates) {
            ASSERT_GE(static_cast<double>(levels.capacity), static_cast<double>(order) * ratio) << label;
        }
        ASSERT_GE(static_cast<double>(kith::gpu::needed_capacity(order, sample, next)),
                  static_cast<double>(order) * ratio)
            << label;
    }
}

TEST(PlanFilter, LevelsServeEverySize) {
    std::vector<std::int64_t> sizes;
    for (std::int64_t n = 1; n <= std::int64_t{1} << 31; n = n * 5 / 4 + 1) sizes.push_back(n);
    for (int power = 0; power <= 31; ++power)
        for (const std::int64_t n : {-1, 0, 1}) sizes.push_back((std::int64_t{1} << power) + n);
    for (const std::int64_t n : {16 * 4096, 64 * 4096, 16 * 16384, 0x7fffffff}) sizes.push_back(n);
    for (const std::int64_t n : sizes) {
        if (n < 1) continue;
        for (const std::int64_t q : {1, 256, 257, 16384}) {
            for (std::int64_t k = 1; k <= n; k = k * 3 / 2 + 1) check_levels(n, q, k);
            check_levels(n, q, n);
            if (HasFatalFailure()) return;
        }
    }
}

TEST(PlanFilter, TheBoundGrowsWithTheWidth) {
    double before = 0;
    for (std::int64_t d = 1; d <= kith::gpu::tuning::filter_max_dimensions; d = d * 3 / 2 + 1) {
        for (const int terms : {1, 2}) {
            const std::int64_t width = kith::gpu::filter_width(d, terms);
            EXPECT_EQ(0, width % 16);
            EXPECT_GE(width, terms == 1 ? d : 3 * d);
            // The matrix units' own roundings in steps of four products, and those of what they start from.
            EXPECT_GE(kith::gpu::filter_gamma(width), (1.5 * static_cast<double>(width) + 1) * 0x1p-23) << d;
        }
        const double gamma = kith::gpu::filter_gamma(kith::gpu::filter_width(d, 1));
        EXPECT_GE(gamma, before);
        // Small enough for what the proof leaves to the second order.
        EXPECT_LT(gamma, 1.0 / 64);
        before = gamma;
    }
}

// Few dimensions from fewer points on than a sample is asked for where there are many.
TEST(MeasuredMachines, TakeATreeOfFewDimensions) {
    kith::Options options;
    EXPECT_EQ(kith::Path::tree, kith::plan_on("h100", {.n = 20000, .q = 100000, .d = 3, .k = 10}, options).path);
    EXPECT_EQ(kith::Path::tree,
              kith::plan_on("h100", {.n = 10000, .q = 10, .d = 1, .k = 10, .prepared = true}, options).path);
    EXPECT_FALSE(kith::plan_on("h100", {.n = 60000, .q = 10, .d = 20, .k = 10, .prepared = true}, options).tries_tree);
    EXPECT_TRUE(kith::plan_on("h100", {.n = 70000, .q = 10, .d = 20, .k = 10, .prepared = true}, options).tries_tree);
}

// Of ordinary searches the measured machines can say how long they take.
TEST(MeasuredMachines, KnowOrdinarySearches) {
    for (const kith::MeasuredMachine& machine : kith::measured_machines()) {
        for (const std::int64_t n : {10000, 100000, 1000000}) {
            for (const std::int64_t q : {100, 10000}) {
                for (const std::int64_t d : {16, 64, 128, 256, 768}) {
                    for (const std::int64_t k : {10, 100}) {
                        const kith::Shape shape{n, q, d, k, kith::ElementType::f32, false};
                        const kith::Plan plan = kith::plan_on(machine.name, shape, {});
                        const kith::MeasuredTime time = kith::measured_time(machine.name, shape, {}, plan);
                        EXPECT_GT(time.seconds, 0) << machine.name << ", n " << n << ", q " << q << ", d " << d
                                                   << ", k " << k << ": " << time.source;
                    }
                }
            }
        }
    }
}

// Bytes of a row, of the points, of a result beyond 64 bits wrap, to 0 for one; none of them is planned.
TEST(Plan, RefusesSizesThatNoMemoryHolds) {
    constexpr std::int64_t few = 10, most = INT64_MAX, bit = 1;
    const auto refused = [](const char* name, std::int64_t n, std::int64_t q, std::int64_t d, std::int64_t k) {
        for (const kith::ElementType type : {kith::ElementType::f32, kith::ElementType::f64, kith::ElementType::u8}) {
            kith::Options cpu;
            cpu.device = "cpu";
            const kith::Shape shape{n, q, d, k, type, false};
            for (const auto& make : {std::function<void()>([&] { kith::plan(shape, cpu); }),
                                     std::function<void()>([&] { kith::plan_on("h100", shape, {}); }),
                                     std::function<void()>([&] { kith::measured_time("h100", shape, {}, {}); })}) {
                try {
                    make();
                    ADD_FAILURE() << name << ": planned";
                } catch (const kith::Error& error) {
                    EXPECT_EQ(kith::ErrorCode::invalid_argument, error.code());
                    EXPECT_TRUE(std::string(error.what()).starts_with(name)) << error.what();
                }
            }
        }
    };
    for (const std::int64_t d : {bit << 60, bit << 61, bit << 62, most, (bit << 48) + 1})
        refused("d: ", few, few, d, 1);
    for (const std::int64_t n : {bit << 61, most, (bit << 53) + 1}) refused("n: ", n, few, 8, 1);
    for (const std::int64_t q : {bit << 61, most, (bit << 53) + 1}) refused("q: ", few, q, 8, 1);
    for (const std::int64_t k : {bit << 61, most, bit << 56}) refused("k: ", few, few, 8, k);
    EXPECT_THROW(kith::plan_select(bit << 40, bit << 40, 1), kith::Error);
    kith::Options cpu;
    cpu.device = "cpu";
    for (const std::int64_t d : {bit << 48, bit << 44}) {
        try {
            kith::plan({bit, bit, d, 1, kith::ElementType::f32, false}, cpu);
        } catch (const kith::Error& error) {
            EXPECT_EQ(kith::ErrorCode::out_of_memory, error.code()) << error.what();
        }
    }
}

TEST(Plan, RefusesElementsThatCannotBeSearched) {
    EXPECT_THROW(kith::plan({1000, 10, 8, 5, kith::ElementType::i32, false}, {}), kith::Error);
    EXPECT_THROW(kith::plan_on("h100", {1000, 10, 8, 5, kith::ElementType::i64, false}, {}), kith::Error);
}

}  // namespace

// One row of 2^24 values: as many slices as fill the device, and a plan that counts them.
TEST(Plan, AFullScanFillsTheMultiprocessorsThatThereAre) {
    std::int64_t before = 0;
    for (const int multiprocessors : {1, 2, 8, 16}) {
        EXPECT_EQ(8 * multiprocessors, kith::gpu::tuning::select_slices(1, 100, 1 << 24, multiprocessors));
        Request r = of({1 << 20, 1, 8, 512, kith::ElementType::f32, false}, kith::metric::Gemm::none);
        Machine m = with_gpu(std::int64_t{70} << 30);
        m.devices[0].multiprocessors = multiprocessors;
        const kith::Plan p = kith::planner::make(r, m);
        EXPECT_GE(p.workspace_bytes, before);
        before = p.workspace_bytes;
    }
    EXPECT_EQ(4, kith::gpu::tuning::select_slices(264, 100, 1 << 24, 132));
}
