// Forms of the points that searches make when they first need them: they count as memory, may be released at any time,
// and change no answer.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "adversarial.h"
#include "exact/report/progress.h"
#include "gpu/backend.h"
#include "gpu_arrays.h"
#include "kith/kith.h"
#include "same_answer.h"

using namespace kith;

namespace {

constexpr std::int64_t n = 60000, q = 100, d = 16, k = 10, workspace = 1 << 28;

// Two clusters whose points are closer together than fp16 tells apart: every query needs a finer filter.
std::vector<float> rows_of(std::int64_t count, std::uint64_t seed) {
    std::vector<float> rows(static_cast<std::size_t>(count * d));
    adversarial::Random random(seed);
    for (std::int64_t i = 0; i < count; ++i)
        for (std::int64_t j = 0; j < d; ++j)
            rows[static_cast<std::size_t>(i * d + j)] =
                (i % 2 ? 1.0F : -1.0F) + 1e-4F * static_cast<float>(random.uniform());
    return rows;
}

class LateForms : public testing::Test {
protected:
    LateForms() : points_(rows_of(n, 1)), queries_(rows_of(q, 2)) {
        MetricSpec spec;
        spec.id = MetricId::sqeuclidean;
        spec.params.d = d;
        gpu_arrays::check(cudaGetDevice(&plan_.device));
        plan_.path = Path::gemm_f16;
        plan_.isa = "sm_80";
        plan_.forced = true;
        plan_.chunk_points = plan_.point_tile = n;
        plan_.query_tile = q;
        plan_.candidate_capacity = 16384;
        plan_.workspace_bytes = workspace;
        const std::function<bool(const Progress&)> silent;
        ProgressMeter progress(silent, 0);
        prepared_ = gpu::prepare(view(points_.data(), n, d), spec, plan_, true, nullptr, 1, progress);
        Options cpu;
        cpu.device = "cpu";
        cpu.f64 = true;
        want_ = kith::search(view(points_.data(), n, d), view(queries_.data(), q, d), k, cpu);
    }
    Neighbors search() const {
        Neighbors out;
        out.queries = q;
        out.k = k;
        out.ids.resize(q * k);
        out.distances64.resize(out.ids.size());
        out.report.queries = q;
        const std::function<bool(const Progress&)> silent;
        ProgressMeter progress(silent, 0);
        gpu::search(*prepared_, {view(queries_.data(), q, d),
                                 k,
                                 false,
                                 plan_,
                                 true,
                                 nullptr,
                                 progress,
                                 {out.ids.data(), out.distances64.data(), host_memory},
                                 out.report});
        return out;
    }

    std::vector<float> points_, queries_;
    Plan plan_;
    std::shared_ptr<const gpu::Points> prepared_;
    Neighbors want_;
};

TEST_F(LateForms, CountAndAreReleased) {
    EXPECT_EQ(0, gpu::late_bytes(*prepared_));
    for (int call = 0; call < 3; ++call) {
        ASSERT_TRUE(same_answer(want_, search())) << call;
        const std::int64_t bytes = gpu::late_bytes(*prepared_);
        EXPECT_GE(bytes, n * d * 2) << call;
        EXPECT_LE(bytes, workspace / 2) << call;
        gpu::forget_late(*prepared_);
        EXPECT_EQ(0, gpu::late_bytes(*prepared_)) << call;
    }
}

TEST_F(LateForms, AreNotReleasedUnderACall) {
    std::atomic<int> searching = 3, wrong = 0;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 3; ++thread)
        threads.emplace_back([&] {
            for (int call = 0; call < 20; ++call) wrong += !same_answer(want_, search());
            --searching;
        });
    while (searching > 0) {
        gpu::forget_late(*prepared_);
        std::this_thread::yield();
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(0, wrong);
}

// Under a budget they are part of it: the plans of later calls have room beside them, or they are released.
TEST_F(LateForms, OfAnIndexLieWithinItsBudget) {
    Options options;
    options.device = "cuda:0";
    options.path = "gemm-f16";
    options.f64 = true;
    for (const std::int64_t memory : {std::int64_t{16} << 20, std::int64_t{1} << 30}) {
        options.memory = memory;
        const Index index(view(points_.data(), n, d), options);
        for (int call = 0; call < 3; ++call)
            EXPECT_TRUE(same_answer(want_, index.search(view(queries_.data(), q, d), k, options))) << memory;
    }
}

}  // namespace
