// Searches that several devices share: the bits of one device, whatever the number of devices, the blocks, the shards
// and the failures. The devices here are the CPU several times; test_gpu_devices.cpp has GPUs.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <thread>

#include "api/check/validate.h"
#include "api/group/device_group.h"
#include "same_answer.h"
#include "scale/blocks.h"
#include "search_cases.h"

namespace {

using namespace kith;

struct Devices {
    std::size_t count = 1;
    bool keep = false;  // as an Index does: the caller's points go before the search
    api::GroupProbe probe{};
};

// Without queries: the graph.
Neighbors found(const Devices& devices, const MatrixView& points, const MatrixView* queries, std::int64_t k,
                const Options& options) {
    const std::int64_t q = queries ? queries->rows : points.rows;
    ProgressMeter progress(options.progress, static_cast<double>(q) * static_cast<double>(points.rows));
    const MetricSpec metric = api::validate_metric(options.metric, points, 1, progress);
    MatrixView given = points;
    std::vector<std::byte> bytes;
    if (devices.keep) {
        const std::int64_t elements = points.layout == Layout::row_major
                                          ? (points.rows - 1) * points.stride + points.cols
                                          : (points.cols - 1) * points.stride + points.rows;
        const auto* first = static_cast<const std::byte*>(points.data);
        bytes.assign(first, first + elements * static_cast<std::int64_t>(size_of(points.type)));
        given.data = bytes.data();
    }
    const Shape shape{points.rows, q, points.cols, k, points.type, queries == nullptr};
    const api::DeviceGroup group(given, metric, std::vector<std::string>(devices.count, "cpu"), shape, options,
                                 devices.keep, progress, devices.probe);
    std::fill(bytes.begin(), bytes.end(), std::byte{0x55});
    return api::collect(q, k, options.f64,
                        [&](const NeighborsView& out) { return group.run(queries, k, options, progress, out); });
}

class DevicesOfMetric : public testing::TestWithParam<std::string> {};

// Oracle and one device, for one to eight of them: queries in blocks and points in shards, search and graph.
TEST_P(DevicesOfMetric, GiveTheBitsOfOne) {
    const search_cases::Size sizes[] = {{1, 2, 3, 2}, {60, 29, 33, 10}, {150, 40, 4, 149}, {40, 17, 7, 50}};
    std::uint64_t turn = GetParam().size();
    for (const char* data : {"duplicates", "all_equal", "gaussian", "nan_rows", "infinities", "offset"}) {
        for (const search_cases::Size& size : sizes) {
            const auto type = arrays::element_types[turn % 6];
            const auto all = variants(GetParam(), size.d, type);
            const auto c =
                search_cases::make_case(all[turn % all.size()], data, size, type, type, arrays::shapes[turn % 3], turn);
            Options options =
                search_cases::options_of("cpu", c.variant, {turn % 4 ? "" : "exact", "", 1, false}, turn % 2);
            const std::int64_t n = c.points.view.rows, count = 1 + static_cast<std::int64_t>(turn % 8);
            const Neighbors one = search(c.points.view, c.queries.view, c.k, options);
            const Neighbors among = graph(c.points.view, c.k, options);
            ASSERT_EQ("", c.truth().difference(one)) << c.label;
            for (const bool shards : {false, true}) {
                Devices devices{static_cast<std::size_t>(count), turn % 3 == 0};
                devices.probe.block_queries = turn % 5;
                if (shards) devices.probe.shard_points = (n + count - 1) / count;
                const std::string label =
                    c.label + (shards ? ", shards on " : ", ") + std::to_string(count) + " devices";
                const Neighbors got = found(devices, c.points.view, &c.queries.view, c.k, options);
                ASSERT_TRUE(same_answer(one, got)) << label;
                ASSERT_TRUE(same_answer(among, found(devices, c.points.view, nullptr, c.k, options))) << label;
                const Report& report = got.report;
                EXPECT_EQ(c.queries.view.rows, report.certified + report.retried + report.scanned) << label;
                EXPECT_EQ(static_cast<double>(n * c.queries.view.rows), report.pairs) << label;
                EXPECT_NE("", report.path) << label;
            }
            ++turn;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Metric, DevicesOfMetric, testing::ValuesIn(metric_names()),
                         [](const auto& info) { return info.param; });

class Group : public testing::Test {
protected:
    void SetUp() override {
        c = search_cases::make_case(variants("euclidean", 16, ElementType::f32).front(), "duplicates", {300, 96, 16, 9},
                                    ElementType::f32, ElementType::f32, arrays::Shape::dense, 3);
        options = search_cases::options_of("cpu", c.variant, {"", "", 1, false}, false);
        one = search(c.points.view, c.queries.view, c.k, options);
        among = graph(c.points.view, c.k, options);
    }
    void TearDown() override { ProgressMeter::milliseconds_between = 100; }

    Neighbors on(const Devices& devices) const { return found(devices, c.points.view, &c.queries.view, c.k, options); }

    search_cases::Case c;
    Options options;
    Neighbors one, among;
};

TEST_F(Group, GraphsMayBeginWithThePointsThemselves) {
    options.include_self = true;
    for (const std::int64_t k : {1, 2, 9}) {
        const Neighbors want = graph(c.points.view, k, options);
        for (const std::int64_t shard : {0, 100}) {
            for (const bool keep : {false, true}) {
                Devices devices{3, keep};
                devices.probe.shard_points = shard;
                EXPECT_TRUE(same_answer(want, found(devices, c.points.view, nullptr, k, options)))
                    << k << ", " << shard;
            }
        }
    }
}

// Formulas and functors, whose distance is the key itself.
TEST_F(Group, RunFormulas) {
    options.metric = Metric{};
    options.metric.id = MetricId::formula;
    options.metric.formula = "a + fabs(q - x)";
    options.metric.start = 0.25;
    const Neighbors want = search(c.points.view, c.queries.view, c.k, options);
    for (const std::int64_t shard : {0, 75}) {
        Devices devices{4};
        devices.probe.shard_points = shard;
        EXPECT_TRUE(same_answer(want, on(devices)));
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

// Whichever device fails at whichever of its blocks or while it prepares, by whatever exception: the answer stays, and
// the report says so.
TEST_F(Group, OthersTakeOverFromADeviceThatFails) {
    int kind = 0;
    for (const std::int64_t shard : {0, 75}) {
        for (const bool keep : {false, true}) {
            for (int failing = 0; failing < 4; ++failing) {
                for (const int at : {-1, 0, 1, 3}) {
                    Devices devices{4, keep};
                    devices.probe.shard_points = shard;
                    devices.probe.block_queries = 5;
                    std::atomic<int> blocks{0};
                    std::atomic<bool> failed{false};
                    ++kind;
                    devices.probe.before = [&](int device, std::int64_t block) {
                        if (device != failing) {  // the others wait, so that it gets as many blocks
                            while (shard == 0 && block >= 0 && !failed) std::this_thread::yield();
                            return;
                        }
                        const int own = block < 0 ? -1 : blocks++;
                        if (own != at) return;
                        failed = true;
                        fail(kind);
                    };
                    const Neighbors got = on(devices);
                    const std::string label = "device " + std::to_string(failing) + " at " + std::to_string(at) +
                                              ", shards of " + std::to_string(shard);
                    ASSERT_TRUE(failed) << label;
                    ASSERT_TRUE(same_answer(one, got)) << label;
                    ASSERT_FALSE(got.report.fallbacks.empty()) << label;
                    const Fallback& first = got.report.fallbacks.front();
                    EXPECT_NE(std::string::npos, first.why.find("cpu failed (")) << first.why;
                    EXPECT_NE("", first.help);
                    EXPECT_EQ(at < 0 ? 0 : 5, first.queries) << label;
                    EXPECT_EQ(96, got.report.certified + got.report.retried + got.report.scanned) << label;
                }
            }
        }
    }
}

// All fail at their first blocks or later, or in preparing: the CPU has the rest.
TEST_F(Group, TheCpuTakesOverFromAll) {
    for (const std::int64_t shard : {0, 75}) {
        for (const bool keep : {false, true}) {
            for (const int at : {-1, 0, 2}) {
                Devices devices{4, keep};
                devices.probe.shard_points = shard;
                devices.probe.block_queries = 5;
                std::array<std::atomic<int>, 4> blocks{};
                devices.probe.before = [&](int device, std::int64_t block) {
                    if (device >= 4) return;  // the CPU that has prepared in their place
                    const int own = block < 0 ? -1 : blocks[static_cast<std::size_t>(device)]++;
                    if (own >= at && (at < 0) == (block < 0)) fail(device);
                };
                const Neighbors got = on(devices);
                EXPECT_TRUE(same_answer(one, got)) << "at " << at << ", shards of " << shard;
                EXPECT_EQ(4u, std::count_if(got.report.fallbacks.begin(), got.report.fallbacks.end(),
                                            [](const auto& f) { return f.why.find("failed (") != std::string::npos; }));
                const Neighbors graphed = found(devices, c.points.view, nullptr, c.k, options);
                EXPECT_TRUE(same_answer(among, graphed)) << "at " << at << ", shards of " << shard;
            }
        }
    }
}

// What is the caller's fault is thrown, not given to the next device.
TEST_F(Group, ThrowWhatIsTheCallersFault) {
    Devices devices{3};
    devices.probe.block_queries = 5;
    std::atomic<int> calls{0};
    devices.probe.before = [&](int, std::int64_t block) {
        if (block == 4) {
            ++calls;
            throw Error(ErrorCode::invalid_argument, "path: wrong");
        }
    };
    try {
        on(devices);
        ADD_FAILURE() << "not thrown";
    } catch (const Error& error) {
        EXPECT_EQ(ErrorCode::invalid_argument, error.code());
        EXPECT_STREQ("path: wrong", error.what());
    }
    EXPECT_EQ(1, calls);
    options.path = "gemm-f16";  // a GPU's
    EXPECT_THROW(on({3}), Error);
}

// The callback runs on the calling thread, sees all the work at last, and its refusal or exception ends all devices.
TEST_F(Group, ReportProgressAndCancel) {
    ProgressMeter::milliseconds_between = 0;
    for (const std::int64_t shard : {0, 75}) {
        Devices devices{4};
        devices.probe.shard_points = shard;
        devices.probe.block_queries = 3;
        devices.probe.before = [](int, std::int64_t) { std::this_thread::sleep_for(std::chrono::milliseconds(3)); };
        const std::thread::id caller = std::this_thread::get_id();
        std::atomic<int> polls{0};
        double last = 0;
        options.progress = [&](const Progress& p) {
            EXPECT_EQ(caller, std::this_thread::get_id());
            EXPECT_LE(p.done, p.total);
            last = p.done;
            ++polls;
            return true;
        };
        EXPECT_TRUE(same_answer(one, on(devices)));
        EXPECT_GE(polls, 2);
        EXPECT_EQ(300.0 * 96, last);
        for (const int at : {1, 2, 3}) {
            for (const bool throws : {false, true}) {
                polls = 0;
                options.progress = [&](const Progress&) {
                    if (++polls < at) return true;
                    if (throws) throw std::runtime_error("the caller's own");
                    return false;
                };
                try {
                    on(devices);
                    ADD_FAILURE() << "not cancelled";
                } catch (const Error& error) {
                    EXPECT_FALSE(throws);
                    EXPECT_EQ(ErrorCode::cancelled, error.code());
                } catch (const std::runtime_error& error) {
                    EXPECT_TRUE(throws);
                    EXPECT_STREQ("the caller's own", error.what());
                }
                EXPECT_EQ(at, polls);
            }
        }
        options.progress = nullptr;
    }
}

// Several threads search one group.
TEST_F(Group, ServeSeveralThreads) {
    ProgressMeter progress(options.progress, 0);
    const MetricSpec metric = api::validate_metric(options.metric, c.points.view, 1, progress);
    for (const std::int64_t shard : {0, 100}) {
        const api::DeviceGroup group(c.points.view, metric, {"cpu", "cpu", "cpu"}, {300, 96, 16, 9}, options, true,
                                     progress, {{}, shard, 7});
        std::atomic<int> wrong{0};
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&, t] {
                ProgressMeter own(options.progress, 0);
                const Neighbors got = api::collect(t % 2 ? 300 : 96, c.k, false, [&](const NeighborsView& out) {
                    return group.run(t % 2 ? nullptr : &c.queries.view, c.k, options, own, out);
                });
                if (!same_answer(t % 2 ? among : one, got)) ++wrong;
            });
        }
        for (std::thread& thread : threads) thread.join();
        EXPECT_EQ(0, wrong);
    }
}

// A block goes to whichever device is free: a slow one takes few.
TEST(Blocks, GoToWhoIsFree) {
    const std::function<bool(const Progress&)> none;
    ProgressMeter progress(none, 0);
    std::mutex mutex;
    std::vector<int> done(40);
    std::atomic<int> left{39};
    const scale::Outcome outcome = scale::run_blocks(3, 40, scale::Sharing::any, "search", progress,
                                                     [&](int device, std::int64_t block, ProgressMeter&) {
                                                         while (device == 0 && left > 0) std::this_thread::yield();
                                                         const std::lock_guard lock(mutex);
                                                         ++done[static_cast<std::size_t>(block)];
                                                         if (device != 0) --left;
                                                     });
    EXPECT_EQ(std::vector<int>(40, 1), done);
    EXPECT_TRUE(outcome.failures.empty());
    EXPECT_TRUE(outcome.left.empty());
}

// A device that fails at the last block, when the others have nothing left to do: one of them has waited for it.
TEST(Blocks, AreTakenOverFromTheLastAtWork) {
    const std::function<bool(const Progress&)> none;
    ProgressMeter progress(none, 0);
    std::atomic<int> done{0};
    std::atomic<bool> at_work{false};
    const scale::Outcome outcome = scale::run_blocks(2, 10, scale::Sharing::any, "search", progress,
                                                     [&](int device, std::int64_t, ProgressMeter&) {
                                                         if (device == 1) {
                                                             at_work = true;
                                                             while (done < 9) std::this_thread::yield();
                                                             throw Error(ErrorCode::device, "late");
                                                         }
                                                         while (!at_work) std::this_thread::yield();
                                                         ++done;
                                                     });
    EXPECT_EQ(10, done);
    ASSERT_EQ(1u, outcome.failures.size());
    EXPECT_EQ(1, outcome.failures[0].device);
    EXPECT_TRUE(outcome.left.empty());
}

}  // namespace
