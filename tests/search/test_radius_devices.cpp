// Radii that several devices share: the rows and counts of one device, whatever the number of devices, the blocks, the
// shards, the memory and the failures. The devices here are the CPU several times; test_gpu_radius.cpp has GPUs.
#include <array>
#include <atomic>
#include <new>
#include <stdexcept>
#include <thread>

#include "kith/functor.h"
#include "radius_devices.h"

namespace {

using namespace kith;
using radius_cases::counts_of;
using radius_cases::difference;
using radius_devices::counted;
using radius_devices::Group;
using radius_devices::listed;

Group cpus(std::size_t count) {
    return {std::vector<std::string>(count, "cpu"), {}};
}

class RadiusOfDevices : public testing::TestWithParam<std::string> {};

TEST_P(RadiusOfDevices, IsThatOfOne) {
    const search_cases::Size sizes[] = {{1, 2, 3, 1}, {60, 29, 33, 1}, {150, 40, 4, 1}, {400, 17, 7, 1}};
    const bool similarity = oracle::definition(GetParam()).similarity;
    std::uint64_t turn = GetParam().size();
    for (const char* data : {"duplicates", "all_equal", "gaussian", "nan_rows", "infinities", "lattice"}) {
        for (const search_cases::Size& size : sizes) {
            const auto type = arrays::element_types[turn % 6];
            const auto all = variants(GetParam(), GetParam() == "haversine" ? 2 : size.d, type);
            const auto c =
                search_cases::make_case(all[turn % all.size()], data, size, type, type, arrays::shapes[turn % 3], turn);
            Options options =
                search_cases::options_of("cpu", c.variant, {turn % 4 ? "" : "exact", "", 1, false}, turn % 2);
            const std::vector<double> radii = radius_cases::radii_on(radius_cases::all_of(c), similarity, turn);
            const Radius r = radius_cases::radius_of(radii, turn % 3 == 0), among_r(radii.front());
            const RadiusNeighbors want = radius(c.points.view, c.queries.view, r, options);
            const RadiusNeighbors among = radius_graph(c.points.view, among_r, options);
            ASSERT_EQ("", radius_cases::against_oracle(c, radii, turn % 3 == 0, want)) << c.label;
            const std::int64_t n = c.points.view.rows, count = 1 + static_cast<std::int64_t>(turn % 8);
            for (const bool shards : {false, true}) {
                Group group = cpus(static_cast<std::size_t>(count));
                group.keep = turn % 3 == 0;
                group.probe.block_queries = turn % 5;
                if (shards) group.probe.shard_points = (n + count - 1) / count;
                const std::string label =
                    c.label + (shards ? ", shards on " : ", ") + std::to_string(count) + " devices";
                const RadiusNeighbors got = listed(group, c.points.view, &c.queries.view, r, options);
                ASSERT_EQ("", difference(want, got)) << label;
                ASSERT_EQ("", difference(among, listed(group, c.points.view, nullptr, among_r, options))) << label;
                const RadiusCounts counts = counted(group, c.points.view, &c.queries.view, r, options);
                ASSERT_EQ(counts_of(want), counts.counts) << label;
                ASSERT_EQ(counts_of(among), counted(group, c.points.view, nullptr, among_r, options).counts) << label;
                for (const Report& report : {got.report, counts.report}) {
                    EXPECT_EQ(c.queries.view.rows, report.certified + report.retried + report.scanned) << label;
                    EXPECT_EQ(static_cast<double>(n * c.queries.view.rows), report.pairs) << label;
                    EXPECT_NE("", report.path) << label;
                    EXPECT_NE(std::string::npos, report.device.find("cpu")) << label;
                }
            }
            ++turn;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Metric, RadiusOfDevices, testing::ValuesIn(metric_names()),
                         [](const auto& info) { return info.param; });

class RadiusGroup : public testing::Test {
protected:
    void SetUp() override {
        c = search_cases::make_case(variants("euclidean", 3, ElementType::f32).front(), "lattice", {900, 160, 3, 1},
                                    ElementType::f32, ElementType::f32, arrays::Shape::dense, 3);
        options = search_cases::options_of("cpu", c.variant, {"", "", 1, false}, false);
        want = radius(c.points.view, c.queries.view, r, options);
        among = radius_graph(c.points.view, r, options);
        ASSERT_GT(want.ids.size(), std::size_t{160});
    }
    void TearDown() override { ProgressMeter::milliseconds_between = 100; }

    RadiusNeighbors on(const Group& group) const { return listed(group, c.points.view, &c.queries.view, r, options); }
    // Everything that a group answers.
    void expect_same(const Group& group, const std::string& label) const {
        EXPECT_EQ("", difference(want, on(group))) << label;
        EXPECT_EQ("", difference(among, listed(group, c.points.view, nullptr, r, options))) << label;
        EXPECT_EQ(counts_of(want), counted(group, c.points.view, &c.queries.view, r, options).counts) << label;
        EXPECT_EQ(counts_of(among), counted(group, c.points.view, nullptr, r, options).counts) << label;
    }

    search_cases::Case c;
    Options options;
    Radius r{1.5};
    RadiusNeighbors want, among;
};

TEST_F(RadiusGroup, GraphsMayHoldThePointsThemselves) {
    options.include_self = true;
    const RadiusNeighbors whole = radius_graph(c.points.view, r, options);
    for (const std::int64_t shard : {0, 300}) {
        Group group = cpus(3);
        group.probe.shard_points = shard;
        EXPECT_EQ("", difference(whole, listed(group, c.points.view, nullptr, r, options))) << shard;
        EXPECT_EQ(counts_of(whole), counted(group, c.points.view, nullptr, r, options).counts) << shard;
    }
}

// Boxes of a tree that are counted as a whole, in the shard of the point and in others.
TEST_F(RadiusGroup, CountsByTreesLeaveOutThePointItself) {
    for (const char* path : {"tree", "direct-f32", "exact"}) {
        options.path = path;
        for (const double wide : {0.0, 4.0, 100.0, oracle::infinity}) {
            const auto counts = radius_graph_counts(c.points.view, wide, options).counts;
            for (const std::int64_t shard : {0, 250}) {
                Group group = cpus(4);
                group.probe.shard_points = shard;
                EXPECT_EQ(counts, counted(group, c.points.view, nullptr, wide, options).counts) << path << wide;
            }
        }
    }
}

// Formulas, whose distance is the key itself.
TEST_F(RadiusGroup, Formulas) {
    options.metric = Metric{};
    options.metric.id = MetricId::formula;
    options.metric.formula = "a + fabs(q - x)";
    options.metric.start = 0.25;
    want = radius(c.points.view, c.queries.view, r, options);
    among = radius_graph(c.points.view, r, options);
    for (const std::int64_t shard : {0, 300}) {
        Group group = cpus(3);
        group.probe.shard_points = shard;
        expect_same(group, std::to_string(shard));
    }
}

// Rows come in order and once, in blocks that hold what they may but for a single row that takes more.
TEST_F(RadiusGroup, KeepsToTheMemory) {
    std::vector<double> radii(160);
    for (std::size_t i = 0; i < 160; ++i) radii[i] = i < 60 ? 0.5 : i % 7 == 0 ? 50 : 2;
    r = radius_cases::radius_of(radii, false);
    want = radius(c.points.view, c.queries.view, r, options);
    for (const bool f64 : {false, true}) {
        options.f64 = f64;
        options.memory = 0;
        want = radius(c.points.view, c.queries.view, r, options);
        for (const std::int64_t memory : {20 << 10, 64 << 10, 256 << 10, 1 << 20}) {
            options.memory = memory;
            for (const std::int64_t shard : {0, 300}) {
                Group group = cpus(3);
                group.probe.shard_points = shard;
                group.probe.block_queries = shard ? 0 : 40;
                std::int64_t next = 0, largest = 0;
                group.seen = [&](const RadiusRows& rows) {
                    EXPECT_EQ(next, rows.first);
                    next += rows.count;
                    EXPECT_EQ(f64, rows.distances64 != nullptr);
                    if (rows.count > 1) largest = std::max(largest, rows.offsets[rows.count]);
                };
                EXPECT_EQ("", difference(want, on(group))) << memory << ", " << shard;
                EXPECT_EQ(160, next);
                // The device that is the last to be stopped may add one piece of its own.
                EXPECT_LE(largest * (f64 ? 16 : 12), std::max<std::int64_t>(memory, 2 * 900 * 16)) << shard;
            }
        }
    }
}

[[noreturn]] void fail(int kind) {
    switch (kind % 4) {
        case 0:
            throw Error(ErrorCode::device, "device: it fell off the bus");
        case 1:
            throw Error(ErrorCode::out_of_memory, "memory: nothing is left");
        case 2:
            throw std::bad_alloc();
        default:
            throw std::runtime_error("something else");
    }
}

// Whichever device fails at whichever of its blocks or while it prepares: the answer stays, and the report says so.
TEST_F(RadiusGroup, OthersTakeOverFromADeviceThatFails) {
    int kind = 0;
    for (const std::int64_t shard : {0, 225}) {
        for (const bool keep : {false, true}) {
            for (int failing = 0; failing < 4; ++failing) {
                for (const int at : {-1, 0, 1}) {
                    for (const bool counts : {false, true}) {
                        Group group = cpus(4);
                        group.keep = keep;
                        group.probe.shard_points = shard;
                        group.probe.block_queries = 5;
                        options.memory = 20 << 10;  // several waves
                        std::atomic<int> blocks{0};
                        std::atomic<bool> failed{false};
                        ++kind;
                        group.probe.before = [&](int device, std::int64_t block) {
                            if (device != failing) {  // the others wait, so that it gets as many blocks
                                while (shard == 0 && block >= 0 && !failed) std::this_thread::yield();
                                return;
                            }
                            const int own = block < 0 ? -1 : blocks++;
                            if (own != at) return;
                            failed = true;
                            fail(kind);
                        };
                        const std::string label = "device " + std::to_string(failing) + " at " + std::to_string(at) +
                                                  ", shards of " + std::to_string(shard);
                        Report report;
                        if (counts) {
                            const RadiusCounts got = counted(group, c.points.view, &c.queries.view, r, options);
                            ASSERT_EQ(counts_of(want), got.counts) << label;
                            report = got.report;
                        } else {
                            const RadiusNeighbors got = on(group);
                            ASSERT_EQ("", difference(want, got)) << label;
                            report = got.report;
                        }
                        ASSERT_TRUE(failed) << label;
                        ASSERT_EQ(1u, std::count_if(report.fallbacks.begin(), report.fallbacks.end(),
                                                    [](const auto& f) {
                                                        return f.why.find("cpu failed (") != std::string::npos;
                                                    }))
                            << label;
                        EXPECT_EQ(160, report.certified + report.retried + report.scanned) << label;
                    }
                }
            }
        }
    }
}

// All fail at their first blocks or later, or in preparing: the CPU has the rest.
TEST_F(RadiusGroup, TheCpuTakesOverFromAll) {
    for (const std::int64_t shard : {0, 225}) {
        for (const bool keep : {false, true}) {
            for (const int at : {-1, 0, 2}) {
                Group group = cpus(4);
                group.keep = keep;
                group.probe.shard_points = shard;
                group.probe.block_queries = 5;
                std::array<std::atomic<int>, 4> blocks{};
                group.probe.before = [&](int device, std::int64_t block) {
                    if (device >= 4) return;  // the CPU that has prepared in their place
                    const int own = block < 0 ? -1 : blocks[static_cast<std::size_t>(device)]++;
                    if (own >= at && (at < 0) == (block < 0)) fail(device);
                };
                const std::string label = "at " + std::to_string(at) + ", shards of " + std::to_string(shard);
                expect_same(group, label);
                // Each is asked until it fails, and not in the waves that follow.
                for (auto& own : blocks) own = 0;
                options.memory = 20 << 10;
                const RadiusNeighbors got = on(group);
                options.memory = 0;
                EXPECT_EQ("", difference(want, got)) << label;
                EXPECT_EQ(4u, std::count_if(got.report.fallbacks.begin(), got.report.fallbacks.end(),
                                            [](const auto& f) { return f.why.find("failed (") != std::string::npos; }))
                    << label;
            }
        }
    }
}

// A device that fails among the rows of a block, of which it has given the first.
TEST(RadiusGroups, WhatADeviceHadFoundIsFoundAnew) {
    constexpr std::int64_t n = 500, q = 160;
    std::vector<double> points(n), queries(q);
    for (std::size_t i = 0; i < n; ++i) points[i] = static_cast<double>(i);
    for (std::size_t i = 0; i < q; ++i) queries[i] = static_cast<double>(2 * i);
    std::atomic<bool> fails{false};
    const auto distance = [&](double a, double x, double y) {
        if (x == 280 && fails.exchange(false)) throw Error(ErrorCode::device, "device: it fell off the bus");
        return a + std::abs(x - y);
    };
    const FunctorMetric metric = functor_metric(distance);
    Options options;
    options.device = "cpu";
    options.metric.id = MetricId::functor;
    options.metric.functor = &metric;
    options.threads = 1;
    const MatrixView p = view(points.data(), n, 1), x = view(queries.data(), q, 1);
    const RadiusNeighbors want = radius(p, x, 0.5, options);
    options.memory = 20 << 10;
    for (const std::int64_t shard : {0, 250}) {
        Group group = cpus(2);
        group.probe.shard_points = shard;
        group.probe.block_queries = q;
        fails = true;
        const RadiusNeighbors got = listed(group, p, &x, 0.5, options);
        EXPECT_FALSE(fails);
        EXPECT_EQ("", difference(want, got)) << shard;
        EXPECT_FALSE(got.report.fallbacks.empty()) << shard;
    }
}

TEST_F(RadiusGroup, ThrowsWhatIsTheCallersFault) {
    for (const std::int64_t shard : {0, 225}) {
        Group group = cpus(3);
        group.probe.shard_points = shard;
        group.seen = [](const RadiusRows&) { throw std::runtime_error("full"); };
        EXPECT_THROW(on(group), std::runtime_error);
    }
    options.path = "gemm-f16";  // a GPU's
    EXPECT_THROW(on(cpus(3)), Error);
}

// The callback runs on the calling thread, sees all the work at last, and its refusal ends all devices.
TEST_F(RadiusGroup, ReportsProgressAndCancels) {
    ProgressMeter::milliseconds_between = 0;
    const std::thread::id caller = std::this_thread::get_id();
    for (const std::int64_t shard : {0, 225}) {
        for (const std::int64_t memory : {0, 20 << 10}) {
            options.memory = memory;
            Group group = cpus(4);
            group.probe.shard_points = shard;
            group.probe.block_queries = 3;
            int polls = 0, end = 1 << 30;
            double last = 0;
            options.progress = [&](const Progress& p) {
                EXPECT_EQ(caller, std::this_thread::get_id());
                EXPECT_LE(p.done, p.total);
                last = p.done;
                return ++polls < end;
            };
            EXPECT_EQ("", difference(want, on(group)));
            EXPECT_EQ(900.0 * 160, last);
            EXPECT_EQ(counts_of(want), counted(group, c.points.view, &c.queries.view, r, options).counts);
            EXPECT_EQ(900.0 * 160, last);
            polls = 0;
            end = 2;
            try {
                on(group);
                ADD_FAILURE() << "not cancelled";
            } catch (const Error& error) {
                EXPECT_EQ(ErrorCode::cancelled, error.code());
            }
            EXPECT_EQ(2, polls);
            options.progress = nullptr;
        }
    }
}

}  // namespace
