// Plans for points that stay in host memory: when, what they take of a device, and what keeps streaming.
#include <gtest/gtest.h>

#include <algorithm>

#include "gpu/search/tuning.h"
#include "kith/plan.h"
#include "papers/plan.h"
#include "plan_cases.h"

namespace {

using kith::ElementType;
using kith::HostPoints;
using kith::Path;
using kith::Plan;
using kith::Shape;
using plan_cases::gigabyte;

constexpr std::int64_t million = 1'000'000;

kith::planner::Machine with_gpu(std::int64_t free_bytes) {
    kith::planner::Machine m = plan_cases::with_gpu();
    m.devices.front().free_bytes = free_bytes;
    return m;
}

// The points of an Index, of squared Euclidean distances.
kith::planner::Request prepared(std::int64_t n, std::int64_t d, ElementType type, std::int64_t q = 10'000,
                                std::int64_t k = 10) {
    kith::planner::Request r = plan_cases::of("", Shape{n, q, d, k, type, false});
    r.points.prepared = true;
    r.metric.has_aux = false;
    return r;
}

Plan plan_of(const kith::planner::Request& r, std::int64_t free_bytes = 78 * gigabyte) {
    Plan p = kith::planner::make(r, with_gpu(free_bytes));
    EXPECT_NE(std::string::npos, p.why.find(std::string("path ") + kith::name(p.path) + ": ")) << p.why;
    return p;
}

TEST(PlanHostPoints, StayWhereTheirFilterFitsAndTheyDoNot) {
    const Plan p = plan_of(prepared(100 * million, 128, ElementType::f32));
    EXPECT_EQ(HostPoints::vectors, p.host_points);
    EXPECT_EQ(Path::gemm_f16, p.path);
    EXPECT_EQ(100 * million, p.chunk_points);
    EXPECT_EQ(100 * million, p.point_tile);
    EXPECT_FALSE(p.symmetric);
    EXPECT_NE(std::string::npos, p.why.find("stay in host memory")) << p.why;
    EXPECT_NE(std::string::npos, p.why.find("(47.68 GiB)")) << p.why;
    EXPECT_NE(std::string::npos, p.why.find("(24.68 GiB)")) << p.why;  // 265 bytes each
    EXPECT_NE(std::string::npos, kith::explain(p).find("points       in host memory")) << kith::explain(p);
    EXPECT_EQ(std::string::npos, kith::explain(plan_of(prepared(million, 128, ElementType::f32))).find("host memory"));
}

TEST(PlanHostPoints, HoldThreeTimesAsManyOfF32) {
    for (const auto& [n, type] : {std::pair{250 * million, ElementType::u8}, {250 * million, ElementType::f32}}) {
        const Plan p = plan_of(prepared(n, 128, type));
        EXPECT_EQ(HostPoints::vectors, p.host_points) << kith::name(type);
        EXPECT_GE(p.query_tile, 128);
    }
}

// In numbers of 8 bits alone; what these leave streams.
TEST(PlanHostPoints, HoldTwiceAsManyInBytes) {
    for (const auto& [n, type] : {std::pair{300 * million, ElementType::u8},
                                  {500 * million, ElementType::u8},
                                  {400 * million, ElementType::f32}}) {
        const kith::planner::Request r = prepared(n, 128, type);
        const Plan p = plan_of(r, 80 * gigabyte);
        EXPECT_EQ(HostPoints::bytes, p.host_points) << n;
        EXPECT_EQ(Path::gemm_i8, p.path);
        EXPECT_LT(p.chunk_points, n);
        EXPECT_GE(p.chunk_points, million / 4);
        EXPECT_GE(p.query_tile, 128);
        EXPECT_NE(std::string::npos, p.why.find("numbers of 8 bits are on the device")) << p.why;
        EXPECT_EQ(std::string::npos, p.why.find("path gemm-f16")) << p.why;
        const double held = kith::gpu::tuning::host_point_bytes(128, p.path, false) * static_cast<double>(n);
        EXPECT_LE(held + static_cast<double>(p.workspace_bytes), 0.85 * 80 * gigabyte);
        EXPECT_EQ(held + kith::gpu::tuning::listed_bytes(128, static_cast<std::int64_t>(kith::size_of(type))),
                  kith::prepared_bytes(r.shape, p));
        // As the index' later calls ask for it: a radius, another path and a scan stream.
        kith::planner::Request later = r;
        later.points.chunk = p.chunk_points;
        later.points.host = p.host_points;
        later.points.path = p.path;
        EXPECT_EQ(Path::gemm_i8, plan_of(later, 10 * gigabyte).path);
        EXPECT_EQ(p.chunk_points, plan_of(later, 10 * gigabyte).chunk_points);
        later.all_points = true;
        EXPECT_EQ(Path::gemm_f16, plan_of(later, 10 * gigabyte).path);
        later.all_points = false;
        later.path = "gemm-f16";
        EXPECT_EQ(Path::gemm_f16, plan_of(later, 10 * gigabyte).path);
        later.path = "exact";
        EXPECT_EQ(Path::exact, plan_of(later, 10 * gigabyte).path);
    }
    // Without the matrix units for it, and beyond what bytes have room for.
    kith::planner::Request r = prepared(500 * million, 128, ElementType::u8);
    r.isa = "sm_80";
    EXPECT_EQ(HostPoints::none, plan_of(r, 80 * gigabyte).host_points);
    r.isa.clear();
    EXPECT_EQ(HostPoints::none, plan_of(r, 70 * gigabyte).host_points);
    r.path = "gemm-i8";
    EXPECT_EQ(HostPoints::none, plan_of(r, 80 * gigabyte).host_points)
        << "a path that is asked for has its vectors on the device";
}

// Whatever the budget, from one on that has room for a tile: there is none at which bytes are planned for and do not
// fit.
TEST(PlanHostPoints, NoBudgetIsTooSmallForBytesAlone) {
    struct Points {
        std::int64_t n, d, first, last;
    };
    constexpr std::int64_t mebibyte = 1 << 20;
    for (const auto& [n, d, first, last] : {Points{8 * million, 64, 600 * mebibyte, 1400 * mebibyte},
                                            {20 * million, 40, 900 * mebibyte, 2500 * mebibyte}}) {
        bool in_bytes = false;
        for (std::int64_t memory = first; memory < last; memory += 3 * mebibyte) {
            for (const auto& [q, k] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {1, 10}, {10'000, 10}}) {
                kith::planner::Request r = prepared(n, d, ElementType::u8, q, k);
                r.memory = memory;
                Plan p;
                ASSERT_NO_THROW(p = plan_of(r)) << n << ", " << memory << ", " << q << ", " << k;
                if (p.host_points != HostPoints::bytes) continue;
                in_bytes = true;
                // Queries of f64 change nothing about the points.
                r.points.chunk = p.chunk_points;
                r.points.host = p.host_points;
                r.points.path = p.path;
                r.points.element = 1;
                r.shape.type = ElementType::f64;
                ASSERT_NO_THROW(plan_of(r)) << n << ", " << memory << ", " << q << ", " << k;
            }
        }
        EXPECT_TRUE(in_bytes);
    }
}

// What bytes do not serve streams, and is planned so.
TEST(PlanHostPoints, WhatBytesDoNotServe) {
    const kith::planner::Request r = prepared(500 * million, 128, ElementType::u8);
    kith::planner::Request other = r;
    other.shape.k = 2000;
    const Plan many = plan_of(other, 80 * gigabyte);
    EXPECT_EQ(Path::gemm_f16, many.path);
    EXPECT_EQ(HostPoints::bytes, many.host_points);
    EXPECT_EQ(plan_of(r, 80 * gigabyte).held_bytes, many.held_bytes);
    // Rows that are too wide for them.
    const Plan wide = plan_of(prepared(8 * million, 6000, ElementType::f32), 80 * gigabyte);
    EXPECT_EQ(HostPoints::none, wide.host_points);
    EXPECT_LT(wide.chunk_points, 8 * million);
    other = r;
    other.metric.traits.factored = true;
    EXPECT_EQ(HostPoints::none, plan_of(other, 80 * gigabyte).host_points);
}

TEST(PlanHostPoints, KeepWithinTheBudget) {
    for (const std::int64_t memory : {std::int64_t{48} << 20, std::int64_t{64} << 20, std::int64_t{256} << 20}) {
        for (const std::int64_t q : {1, 100, 10'000}) {
            for (const std::int64_t k : {1, 10, 100, 1000}) {
                for (const auto type : {ElementType::f32, ElementType::f64}) {
                    kith::planner::Request r = prepared(memory / 600, 128, type, q, k);
                    r.memory = memory;
                    const Plan p = plan_of(r);
                    ASSERT_EQ(HostPoints::vectors, p.host_points) << memory;
                    const double held =
                        kith::gpu::tuning::host_point_bytes(128, p.path, false) * static_cast<double>(r.shape.n);
                    EXPECT_LE(held + static_cast<double>(p.workspace_bytes), static_cast<double>(memory));
                }
            }
        }
    }
}

// As the index' later calls ask for it.
TEST(PlanHostPoints, AreThoseThatWerePrepared) {
    kith::planner::Request r = prepared(100 * million, 128, ElementType::f32);
    const Plan first = plan_of(r);
    r.points.chunk = first.chunk_points;
    r.points.host = first.host_points;
    r.points.path = first.path;
    // What they hold is no longer free, or more is than ever.
    for (const std::int64_t left : {4 * gigabyte, 50 * gigabyte, 600 * gigabyte}) {
        for (const char* path : {"", "exact", "gemm-f16"}) {
            r.path = path;
            const Plan p = plan_of(r, left);
            EXPECT_EQ(HostPoints::vectors, p.host_points);
            EXPECT_EQ(100 * million, p.chunk_points);
            EXPECT_LE(p.workspace_bytes, left);
        }
    }
    r.path.clear();
    r.shape.graph = true;
    r.points.forms.clusters = kith::planner::Form::absent;
    r.shape.d = 64;
    r.shape.n = r.shape.q = r.points.chunk = 300'000;
    EXPECT_FALSE(plan_of(r).symmetric) << "that takes the points on the device";
}

TEST(PlanHostPoints, WhatStreamsInstead) {
    const auto streams = [](const kith::planner::Request& r, const char* what) {
        const Plan p = plan_of(r);
        EXPECT_EQ(HostPoints::none, p.host_points) << what;
        EXPECT_LT(p.chunk_points, r.shape.n) << what;
    };
    const kith::planner::Request r = prepared(100 * million, 128, ElementType::f32);
    kith::planner::Request other = r;
    other.points.prepared = false;
    streams(other, "one search");
    other = r;
    other.path = "exact";
    streams(other, "a scan reads all of them in each search");
    other.path = "projected";
    streams(other, "directions are of points on the device");
    if (kith::papers::built()) {
        other.path = "register-tiled+bits";
        streams(other, "a composed path");
    }
    other = r;
    other.shape.n = 3'000 * million;
    other.shape.d = 1;
    other.path = "gemm-f16";
    streams(other, "ids within a chunk have 32 bits");
    other = r;
    other.metric.user = true;
    other.metric.unbounded = "";
    other.path = "direct-f32";
    streams(other, "a formula");
    // Points of a device lie there.
    other = r;
    other.data_device = 0;
    other.shape.n = 10 * million;
    EXPECT_EQ(HostPoints::none, plan_of(other).host_points);
    // Without room for a tile beside them, in bytes either, or with room for all.
    EXPECT_EQ(Path::gemm_i8, plan_of(r, 30 * gigabyte).path);
    EXPECT_EQ(HostPoints::none, plan_of(r, 15 * gigabyte).host_points);
    EXPECT_EQ(HostPoints::none, plan_of(r, 600 * gigabyte).host_points);
    EXPECT_EQ(100 * million, plan_of(r, 600 * gigabyte).chunk_points);
}

TEST(PlanHostPoints, TheDirectFilterHasThemToo) {
    kith::planner::Request r = prepared(100 * million, 64, ElementType::f64);
    r.metric.traits.gemm = kith::metric::Gemm::none;
    r.metric.traits.direct = kith::metric::Direct::sum;
    r.metric.rounds = true;
    const Plan p = plan_of(r);
    EXPECT_EQ(Path::direct_f32, p.path);
    EXPECT_EQ(HostPoints::vectors, p.host_points);
}

// Several devices hold shards; a shard without room stays in host memory.
TEST(PlanHostPoints, SeveralDevicesHaveShardsFirst) {
    kith::planner::Machine m = with_gpu(78 * gigabyte);
    m.devices.push_back(m.devices.front());
    kith::planner::Request r = prepared(80 * million, 128, ElementType::f32);
    r.device = "cuda:all";
    Plan p = kith::planner::make(r, m);
    EXPECT_EQ(40 * million, p.device_points);
    EXPECT_EQ(HostPoints::none, p.host_points);
    r.shape.n = 300 * million;
    p = kith::planner::make(r, m);
    EXPECT_EQ(150 * million, p.device_points);
    EXPECT_EQ(HostPoints::vectors, p.host_points);
}

TEST(PlanHostPoints, OfAMeasuredMachine) {
    const Shape shape{100 * million, 10'000, 128, 10, ElementType::f32, false, true};
    const kith::Plan p = kith::plan_on("h100", shape);
    EXPECT_EQ(HostPoints::vectors, p.host_points);
    const kith::MeasuredTime time = kith::measured_time("h100", shape, {}, p);
    EXPECT_GT(time.seconds, 0.4);  // 10^12 pairs at some 2,100 G/s
    EXPECT_LT(time.seconds, 0.6);
    EXPECT_NE(std::string::npos, time.source.find("which was not measured")) << time.source;
    // Ten times as many stream, and the bus takes longer than their products; half of these answer in bytes.
    Shape more{1000 * million, 1000, 128, 10, ElementType::u8, false, true};
    const double streamed = kith::measured_time("h100", more, {}, kith::plan_on("h100", more)).seconds;
    EXPECT_GT(streamed, 128e9 / 52e9);
    more.n = 450 * million;
    const kith::Plan in_bytes = kith::plan_on("h100", more);
    EXPECT_EQ(Path::gemm_i8, in_bytes.path);
    const kith::MeasuredTime by_bytes = kith::measured_time("h100", more, {}, in_bytes);
    EXPECT_GT(by_bytes.seconds, 0.1);
    EXPECT_LT(by_bytes.seconds, 0.5);
    EXPECT_NE(std::string::npos, by_bytes.source.find("numbers of 8 bits take less")) << by_bytes.source;
    // 141 bytes a point and the sample; auxiliary values where the metric has such.
    EXPECT_NEAR(59.15, kith::prepared_bytes(more, in_bytes) / gigabyte, 0.05);
    kith::Options cosine;
    cosine.metric = kith::MetricId::cosine;
    more.n = 400 * million;
    EXPECT_EQ(400e6 * 16, kith::prepared_bytes(more, kith::plan_on("h100", more, cosine)) -
                              kith::prepared_bytes(more, kith::plan_on("h100", more)));
    Shape once = shape;
    once.prepared = false;
    EXPECT_EQ(HostPoints::none, kith::plan_on("h100", once).host_points);
}

}  // namespace
