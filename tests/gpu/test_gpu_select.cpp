// select() on CUDA with every selector, from host and device memory.
#include <cuda_runtime.h>

#include <atomic>
#include <cstring>
#include <random>
#include <string_view>
#include <thread>

#include "gpu/primitives/sample.h"
#include "gpu/select/choice.h"
#include "gpu_arrays.h"
#include "select_cases.h"

namespace {

using select_cases::Case;

kith::Options on_gpu(const std::string& selector = "") {
    kith::Options options;
    options.device = "cuda";
    options.selector = selector;
    return options;
}

// Whether a case is within a selector's range, and not one that takes it seconds: selectors that give each row a single
// thread, and those that insert one candidate at a time. While such a kernel runs, the other processes wait.
bool within_range(const kith::gpu::Selector& selector, const Case& c) {
    if (!kith::gpu::serves(selector, {c.cols, c.rows, c.k, c.f64})) return false;
    if (selector.layout == kith::gpu::SelectLayout::by_column && c.cols > 1 << 17) return false;
    const std::string_view name = selector.name;
    const bool in_order = c.label.starts_with("ascending") || c.label.starts_with("descending");
    if (name.starts_with("insertion") && in_order && c.cols * c.k > 1 << 23) return false;
    if (name == "comb-sort" && c.cols > 1 << 15) return false;
    const bool one_by_one = name == "heap-buffered" || name == "truncated-bubble" || name == "truncated-heap" ||
                            name == "truncated-insertion";
    return !one_by_one || c.cols * c.k <= 1 << 27;
}

// Cases with their answers, made once for all selectors of a process.
const std::vector<Case>& all_cases() {
    static const std::vector<Case> cases = [] {
        std::vector<Case> made;
        const auto keep = [&](Case c) { made.push_back(std::move(c)); };
        select_cases::for_every_case(keep);
        select_cases::for_every_k(keep);
        return made;
    }();
    return cases;
}

class EverySelector : public testing::TestWithParam<kith::gpu::Selector> {};

TEST_P(EverySelector, EveryCase) {
    for (const Case& c : all_cases()) {
        if (!within_range(GetParam(), c)) continue;
        select_cases::check(c, kith::select(c.matrix(), c.k, c.options(on_gpu(GetParam().name))));
        if (testing::Test::HasFatalFailure()) return;
    }
}

// The CPU's answers to cases that are sorted and of f32, made once for all selectors of a process.
struct OnCpu {
    const Case* of;
    kith::Neighbors want;
};
const std::vector<OnCpu>& answers_of_the_cpu() {
    static const std::vector<OnCpu> answers = [] {
        std::vector<OnCpu> made;
        for (const Case& c : all_cases()) {
            if (!c.sorted || c.f64 || c.cols > 1000) continue;
            kith::Options options = c.options({});
            options.device = "cpu";
            made.push_back({&c, kith::select(c.matrix(), c.k, options)});
        }
        return made;
    }();
    return answers;
}

// The bits of the values, too: selectors that compare keys must give back the zero and the NaN that the matrix holds.
TEST_P(EverySelector, SameBitsAsTheCpu) {
    for (const auto& [c, want] : answers_of_the_cpu()) {
        if (!within_range(GetParam(), *c)) continue;
        const kith::Neighbors got = kith::select(c->matrix(), c->k, c->options(on_gpu(GetParam().name)));
        ASSERT_EQ(want.ids, got.ids) << c->label;
        ASSERT_EQ(0, std::memcmp(want.distances.data(), got.distances.data(), want.distances.size() * sizeof(float)))
            << c->label;
    }
}

// Few and small, for runs under compute-sanitizer: --gtest_filter='*SmallCases*'.
TEST_P(EverySelector, SmallCases) {
    struct Size {
        std::int64_t rows, cols, k;
    };
    for (const Size& size : {Size{3, 1025, 40}, Size{2, 9001, 300}}) {
        const Case c = select_cases::make_case("ties", size.rows, size.cols, size.k, false, arrays::Shape::strided,
                                               false, true, 7);
        if (!within_range(GetParam(), c)) continue;
        select_cases::check(c, kith::select(c.matrix(), c.k, c.options(on_gpu(GetParam().name))));
    }
}

std::string test_name(const testing::TestParamInfo<kith::gpu::Selector>& info) {
    std::string name = info.param.name;
    for (char& c : name) {
        if (c == '+' || c == '-') c = '_';
    }
    return name;
}
INSTANTIATE_TEST_SUITE_P(GpuSelect, EverySelector, testing::ValuesIn(kith::gpu::selectors), test_name);

TEST(GpuSelect, EveryKind) {
    for (const Case& c : all_cases()) {
        select_cases::check(c, kith::select(c.matrix(), c.k, c.options(on_gpu())));
        if (testing::Test::HasFatalFailure()) return;
    }
}

class LargeSelections : public testing::TestWithParam<std::size_t> {};

TEST_P(LargeSelections, EverySelector) {
    const Case c = select_cases::large_cases().at(GetParam()).make();
    select_cases::check(c, kith::select(c.matrix(), c.k, c.options(on_gpu())));
    for (const kith::gpu::Selector& selector : kith::gpu::selectors) {
        if (!within_range(selector, c)) continue;
        SCOPED_TRACE(selector.name);
        select_cases::check(c, kith::select(c.matrix(), c.k, c.options(on_gpu(selector.name))));
        if (HasFatalFailure()) return;
    }
}

INSTANTIATE_TEST_SUITE_P(GpuSelect, LargeSelections,
                         testing::Range<std::size_t>(0, select_cases::large_cases().size()));

// Rows whose smallest values lie wherever a sample does not look: more pass its limit than there is room for.
TEST(GpuSelect, MisleadingSample) {
    namespace sampling = kith::gpu::sampling;
    struct Size {
        std::int64_t rows, cols, k;
        unsigned strata;
    };
    for (const Size& size : {Size{3, 20000, 100, 128}, Size{3, 40000, 100, 1024}, Size{2, 40000, 5000, 1024}}) {
        auto all = select_cases::values("gaussian", size.rows, size.cols, 3);
        for (double& v : all) v = std::abs(v) + 10;
        const auto length = static_cast<unsigned>(size.cols) / size.strata;
        for (std::int64_t row = 0; row < size.rows; ++row)
            for (unsigned stratum = 0; stratum < size.strata; ++stratum)
                for (int i = 0; i < sampling::sample_group; ++i)
                    all[row * size.cols + sampling::sample_start(stratum, length) + i] += 100;
        const auto matrix = arrays::make(all, size.rows, size.cols, kith::ElementType::f32);
        const kith::Options options = on_gpu("sampled");
        for (double& v : all) v = static_cast<float>(v);
        select_cases::check(all, size.cols, kith::select(matrix.view, size.k, options), false, options,
                            "n " + std::to_string(size.cols) + ", k " + std::to_string(size.k));
    }
}

// Many rows, so that in some of them a shrunk list has the k that are wanted and no more.
TEST(GpuSelect, ManyRowsOfASample) {
    constexpr std::int64_t rows = 3000, n = 6000;
    std::vector<float> values(rows * n);
    std::mt19937 random(6);
    for (float& x : values) x = static_cast<float>(random() >> 8) * 0x1p-24f;
    const auto matrix = kith::view(values.data(), rows, n);
    kith::Options cpu;
    cpu.device = "cpu";
    for (const std::int64_t k : {30, 100, 400})
        ASSERT_EQ(kith::select(matrix, k, cpu).ids, kith::select(matrix, k, on_gpu("sampled")).ids) << "k " << k;
}

// Equal values, of which the first k lie side by side and the others far behind: an index between them is a threshold
// with k and no more.
TEST(GpuSelect, TiesBehindAGap) {
    constexpr std::int64_t rows = 64;
    for (const std::int64_t n : {6000, 40000, 200000}) {
        for (const std::int64_t k : {50, 100, 400}) {
            std::vector<float> values(static_cast<std::size_t>(rows * n), 1.0f);
            for (std::int64_t row = 0; row < rows; ++row) {
                const auto start = values.begin() + row * n;
                std::fill(start, start + k, 0.0f);
                std::fill(start + n / 2 + row * n / 200, start + n, 0.0f);
            }
            const kith::Neighbors got = kith::select(kith::view(values.data(), rows, n), k, on_gpu("sampled"));
            for (std::int64_t cell = 0; cell < rows * k; ++cell)
                ASSERT_EQ(cell % k, got.ids[static_cast<std::size_t>(cell)]) << "n " << n << ", k " << k;
        }
    }
}

TEST(GpuSelect, RangesAreNamed) {
    const std::vector<float> row(20000);
    for (const kith::gpu::Selector& selector : kith::gpu::selectors) {
        if (selector.max_k == 0 || selector.max_k >= 20000) continue;
        try {
            kith::select(kith::view(row.data(), 1, 20000), selector.max_k + 1, on_gpu(selector.name));
            ADD_FAILURE() << selector.name;
        } catch (const kith::Error& error) {
            EXPECT_EQ(kith::ErrorCode::invalid_argument, error.code()) << selector.name;
            EXPECT_NE(std::string::npos, std::string(error.what()).find(std::to_string(selector.max_k)))
                << error.what();
        }
    }
}

TEST(GpuSelect, DeviceMemoryAndStream) {
    const gpu_arrays::Stream stream;
    for (const auto type : {kith::ElementType::f32, kith::ElementType::f64}) {
        for (const auto shape : arrays::shapes) {
            const auto all = select_cases::values("ties", 50, 3000, 4);
            const auto matrix = gpu_arrays::on_device(arrays::make(all, 50, 3000, type, shape));
            kith::Options options = on_gpu();
            options.stream = stream.get();
            const gpu_arrays::Buffer<std::int64_t> ids(50 * 64);
            const gpu_arrays::Buffer<double> values64(50 * 64);
            const gpu_arrays::Buffer<float> values(50 * 64);
            const bool f64 = type == kith::ElementType::f64;
            kith::Neighbors got;
            got.report = kith::select_into(
                matrix.view, 64, options,
                {ids.data(), f64 ? static_cast<void*>(values64.data()) : values.data(), matrix.view.device});
            got.queries = 50;
            got.k = 64;
            got.ids = ids.host();
            if (f64) got.distances64 = values64.host();
            else got.distances = values.host();
            select_cases::check(all, 3000, got, f64, options, kith::name(type));
        }
    }
}

// Kernels whose shared memory depends on k, launched with different k at a time.
TEST(GpuSelect, FromSeveralThreads) {
    constexpr std::int64_t rows = 3, n = 60000;
    std::vector<float> values(rows * n);
    std::mt19937 random(5);
    for (float& x : values) x = static_cast<float>(random() >> 8) * 0x1p-24f;
    const auto matrix = kith::view(values.data(), rows, n);
    kith::Options cpu;
    cpu.device = "cpu";
    std::vector<std::jthread> threads;
    std::atomic<int> wrong = 0;
    for (const char* selector : {"sampled", "sampled-buckets"}) {
        for (const std::int64_t k : {40, 4000, 7000, 10000}) {
            threads.emplace_back([&, selector, k] {
                const auto want = kith::select(matrix, k, cpu);
                kith::Options options = on_gpu();
                options.selector = selector;
                const gpu_arrays::Stream stream;
                options.stream = stream.get();
                for (int repeat = 0; repeat < 60; ++repeat) {
                    try {
                        if (kith::select(matrix, k, options).ids != want.ids) ++wrong;
                    } catch (const kith::Error& error) {
                        ADD_FAILURE() << selector << ", k " << k << ": " << error.what();
                        return;
                    }
                }
            });
        }
    }
    threads.clear();
    EXPECT_EQ(0, wrong);
}

}  // namespace
