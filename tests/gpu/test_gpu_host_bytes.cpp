// Points that stay in host memory while numbers of 8 bits of them are all that is on the device (HostPoints::bytes):
// the bits of the CPU, whatever the bytes leave to the points as they stream.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "consistent_trace.h"
#include "exact/report/progress.h"
#include "filter_values.h"
#include "gpu/backend.h"
#include "gpu/points/pca/projection.h"
#include "gpu/points/points.h"
#include "gpu/runtime/memory/registered_memory.h"
#include "gpu_arrays.h"
#include "same_answer.h"
#include "search_cases.h"

namespace {

using namespace kith;
using search_cases::Case;

constexpr std::int64_t n = 100'000, d = 96, chunk = 30'000;

bool has_matrix_units() {
    return filter_values::instruction_sets().size() > 1;
}

Case case_of(const std::string& metric, const std::string& data, ElementType type, std::uint64_t seed,
             std::int64_t k = 10, std::int64_t q = 12) {
    return search_cases::make_case(variants(metric, d, type).front(), data, {n, q, d, k}, type, type,
                                   arrays::shapes[seed % 3], seed);
}

// Points prepared so, whatever a planner would say of their number.
class InBytes {
public:
    explicit InBytes(const Case& c, bool copy = false) : progress_(watch_, 0) {
        MetricSpec spec;
        spec.id = c.variant.metric.id;
        spec.params.d = c.points.view.cols;
        gpu_arrays::check(cudaGetDevice(&plan_.device));
        plan_.path = Path::gemm_i8;
        plan_.isa = "sm_90a";
        plan_.host_points = HostPoints::bytes;
        plan_.chunk_points = plan_.point_tile = chunk;
        plan_.query_tile = 200;  // more queries come in tiles
        plan_.candidate_capacity = 16384;
        plan_.workspace_bytes = 1 << 28;
        points_ = gpu::prepare(c.points.view, spec, plan_, copy, nullptr, 1, progress_);
    }
    bool has_bytes() const { return gpu::has_bytes_alone(*points_); }
    bool is_turned() const { return points_->resident.projected->directions.matrix != nullptr; }
    Neighbors search(const MatrixView& queries, std::int64_t k, bool graph = false) const {
        Neighbors out;
        out.queries = queries.rows;
        out.k = k;
        out.ids.resize(static_cast<std::size_t>(queries.rows * k));
        out.distances64.resize(out.ids.size());
        out.report.queries = queries.rows;
        gpu::search(*points_, {queries,
                               k,
                               graph,
                               plan_,
                               true,
                               nullptr,
                               progress_,
                               {out.ids.data(), out.distances64.data(), host_memory},
                               out.report});
        return out;
    }

    // Pairs of all searches, and whether any report had fewer than one before it.
    double done() const { return progress_.done(); }
    bool took_back() const { return took_back_; }

private:
    double reported_ = 0;
    bool took_back_ = false;
    std::function<bool(const Progress&)> watch_ = [this](const Progress& progress) {
        took_back_ |= progress.done < reported_;
        reported_ = progress.done;
        return true;
    };
    mutable ProgressMeter progress_;
    Plan plan_;
    std::shared_ptr<const gpu::Points> points_;
};

Options on_cpu(const Case& c) {
    return search_cases::options_of("cpu", c.variant, {}, true);
}

TEST(GpuHostBytes, GiveTheBitsOfTheCpu) {
    if (!has_matrix_units()) GTEST_SKIP() << "needs compute capability 9.0";
    std::uint64_t turn = 0;
    for (const char* metric : {"sqeuclidean", "cosine", "inner_product", "hellinger"})
        for (const auto type : {ElementType::u8, ElementType::f32, ElementType::f16}) {
            const char* const data[] = {"gaussian", "nan_rows", "duplicates", "integers"};
            const bool plain = turn % 4 == 0;
            const Case c = case_of(metric, data[turn % 4], type, turn, turn % 3 == 0 ? 100 : 10, turn % 2 ? 12 : 450);
            const InBytes points(c, turn % 2);
            ++turn;
            ASSERT_TRUE(points.has_bytes()) << c.label;
            for (const std::int64_t k : {c.k, std::int64_t{1}, std::int64_t{900}, std::int64_t{1500}}) {
                const Neighbors want = search(c.points.view, c.queries.view, k, on_cpu(c)),
                                got = points.search(c.queries.view, k);
                ASSERT_TRUE(same_answer(want, got)) << c.label << ", k " << k;
                EXPECT_EQ(got.queries, got.report.certified + got.report.retried + got.report.scanned) << c.label;
                trace_cases::expect_consistent(got.report, false, c.label);
                if (!plain || k > 100) continue;
                EXPECT_EQ(got.queries, got.report.certified) << c.label << ", k " << k;
                EXPECT_EQ("gemm-i8", got.report.path) << c.label;
                EXPECT_EQ("host-int8", got.report.trace.at(0).strategy) << c.label;
                EXPECT_TRUE(got.report.fallbacks.empty()) << c.label;
            }
        }
}

// Coordinates of very different sizes, which a rotation evens out, and queries of zeros of products, which take the
// first points.
TEST(GpuHostBytes, TurnedAndZeroQueries) {
    if (!has_matrix_units()) GTEST_SKIP() << "needs compute capability 9.0";
    for (const char* metric : {"sqeuclidean", "inner_product"}) {
        Case c = case_of(metric, "gaussian", ElementType::f32, 0, 10, 60);
        for (arrays::Array* each : {&c.points, &c.queries}) {
            auto* const values = reinterpret_cast<float*>(each->bytes.data());
            for (std::int64_t i = 0; i < each->view.rows; ++i)
                for (std::int64_t j = 0; j < d; ++j) values[i * d + j] /= static_cast<float>(j + 1);
        }
        std::fill_n(reinterpret_cast<float*>(c.queries.bytes.data()) + 7 * d, d, 0.0f);
        const InBytes points(c);
        ASSERT_TRUE(points.has_bytes());
        EXPECT_TRUE(points.is_turned()) << metric;
        const Neighbors want = search(c.points.view, c.queries.view, c.k, on_cpu(c)),
                        got = points.search(c.queries.view, c.k);
        ASSERT_TRUE(same_answer(want, got)) << c.label;
        EXPECT_EQ(60, got.report.certified) << c.label;
    }
}

// What bytes do not tell apart, or do not hold, streams: from the first such query to the last.
TEST(GpuHostBytes, WhatTheyLeaveStreams) {
    if (!has_matrix_units()) GTEST_SKIP() << "needs compute capability 9.0";
    Report all;
    for (const char* data : {"all_equal", "lattice", "infinities", "outlier", "norms", "offset", "shell", "clusters"}) {
        const Case c = case_of("sqeuclidean", data, ElementType::f32, 5, 33, 40);
        const InBytes points(c);
        const Neighbors want = search(c.points.view, c.queries.view, c.k, on_cpu(c));
        for (const char* turn : {"first", "again", "third"}) {
            const Neighbors got = points.search(c.queries.view, c.k);
            ASSERT_TRUE(same_answer(want, got)) << c.label << ", " << turn;
            EXPECT_EQ(got.queries, got.report.certified + got.report.retried + got.report.scanned) << c.label;
            all.certified += got.report.certified;
            all.retried += got.report.retried;
        }
    }
    EXPECT_GT(all.certified, 0);
    EXPECT_GT(all.retried, 0);
}

// Reports at every poll.
struct EveryPoll {
    int before = ProgressMeter::milliseconds_between.exchange(0);
    ~EveryPoll() { ProgressMeter::milliseconds_between = before; }
};

// A few queries far from all points among usual ones.
TEST(GpuHostBytes, SomeQueriesStream) {
    if (!has_matrix_units()) GTEST_SKIP() << "needs compute capability 9.0";
    const EveryPoll every;
    Case c = case_of("sqeuclidean", "gaussian", ElementType::f32, 0, 10, 300);
    auto* const values = reinterpret_cast<float*>(c.queries.bytes.data());
    for (const std::int64_t row : {20, 21, 260})
        for (std::int64_t j = 0; j < d; ++j) values[row * d + j] = j % 2 ? 1e30f : -1e30f;
    const InBytes points(c);
    const Neighbors want = search(c.points.view, c.queries.view, c.k, on_cpu(c)),
                    got = points.search(c.queries.view, c.k);
    ASSERT_TRUE(same_answer(want, got));
    EXPECT_EQ(300, got.report.certified + got.report.retried + got.report.scanned);
    EXPECT_GE(got.report.certified, 300 - 241);
    ASSERT_FALSE(got.report.fallbacks.empty());
    EXPECT_EQ(241, got.report.fallbacks.front().queries);
    EXPECT_EQ(300.0 * n, points.done());
    EXPECT_FALSE(points.took_back());
}

TEST(GpuHostBytes, Graphs) {
    if (!has_matrix_units()) GTEST_SKIP() << "needs compute capability 9.0";
    Case c = case_of("sqeuclidean", "gaussian", ElementType::u8, 0, 7);
    c.points.view.rows = 40'000;
    const EveryPoll every;
    const InBytes points(c);
    ASSERT_TRUE(same_answer(graph(c.points.view, 7, on_cpu(c)), points.search(c.points.view, 7, true)));
    EXPECT_EQ(40'000.0 * 40'000, points.done());
    EXPECT_FALSE(points.took_back());
}

// As an Index does, on a budget that has room for nothing else.
TEST(GpuHostBytes, OfAnIndex) {
    if (!has_matrix_units()) GTEST_SKIP() << "needs compute capability 9.0";
    constexpr std::int64_t many = 8'000'000, queries = 40, few = 64;
    std::vector<std::uint8_t> values(static_cast<std::size_t>((many + queries) * few));
    std::uint64_t state = 7;
    for (std::uint8_t& x : values) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        x = static_cast<std::uint8_t>((state >> 58) + (state >> 52 & 63) + (state >> 46 & 63));
    }
    const auto rows = [&](std::int64_t first, std::int64_t count) {
        MatrixView v;
        v.data = values.data() + first * few;
        v.rows = count;
        v.cols = v.stride = few;
        v.type = ElementType::u8;
        return v;
    };
    Options options, cpu;
    options.device = "cuda";
    cpu.device = "cpu";
    const Shape shape{many, 1, few, 1, ElementType::u8, false, true};
    const auto in_bytes = [&] {
        try {
            return plan(shape, options).host_points == HostPoints::bytes;
        } catch (const Error& error) {
            if (error.code() != ErrorCode::out_of_memory) throw;
        }
        return false;
    };
    for (options.memory = 800 << 20; !in_bytes(); options.memory += 8 << 20) ASSERT_LT(options.memory, 1200 << 20);
    const Index index = Index::borrowing(rows(0, many), options);
    EXPECT_EQ(1u, gpu::RegisteredMemory::count());
    const Neighbors want = search(rows(0, many), rows(many, queries), 10, cpu),
                    got = index.search(rows(many, queries), 10, options);
    ASSERT_TRUE(same_answer(want, got));
    EXPECT_EQ("gemm-i8", got.report.path);
    EXPECT_EQ("host-int8", got.report.trace.at(0).strategy);
    EXPECT_EQ(queries, got.report.certified);
    Options forced = options;
    for (const char* path : {"gemm-f16", "exact"}) {
        forced.path = path;
        ASSERT_TRUE(same_answer(want, index.search(rows(many, queries), 10, forced))) << path;
    }
    const Radius near(static_cast<double>(want.distances[5]));
    EXPECT_EQ(radius(rows(0, many), rows(many, 3), near, cpu).ids, index.radius(rows(many, 3), near, options).ids);
}

}  // namespace
