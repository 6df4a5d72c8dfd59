// select() on CUDA with every selector, from host and device memory.
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <random>
#include <string_view>
#include <thread>

#include "built_selectors.h"
#include "gpu/backend.h"
#include "gpu/primitives/sample.h"
#include "gpu/select/choice.h"
#include "gpu/select/cluster/tuning.h"
#include "gpu_arrays.h"
#include "select_cases.h"
#include "select_ragged.h"

namespace {

using select_cases::Case;

kith::Options on_gpu(const std::string& selector = "") {
    kith::Options options;
    options.device = "cuda";
    options.selector = selector;
    return options;
}

bool in_order(const Case& c) {
    return c.label.starts_with("ascending") || c.label.starts_with("descending");
}

// How many entries an insertion queue moves for a row, at most or about: all of them for each value that is better than
// those before, else those of the first k values and of the k / i-th part of every later one.
double moved_by_insertion(const Case& c) {
    const auto n = static_cast<double>(c.cols), k = static_cast<double>(c.k);
    return in_order(c) ? n * k : k * k * (1 + std::log(n / k));
}

// Whether a case is within a selector's range, and not one that takes it seconds: selectors that give each row a single
// thread, and those that insert one candidate at a time. While such a kernel runs, the other processes wait. Values of
// every trouble at once ("mixed") go up to the largest k all the same.
bool within_range(const kith::gpu::Selector& selector, const Case& c) {
    if (!kith::gpu::serves(selector, {c.cols, c.rows, c.k, c.f64})) return false;
    if (selector.layout == kith::gpu::SelectLayout::by_column && c.cols > 1 << 17) return false;
    const std::string_view name = selector.name;
    if (name.starts_with("insertion") && moved_by_insertion(c) > 1 << 20 && !c.label.starts_with("mixed")) return false;
    if (name == "comb-sort" && c.cols > 1 << 15) return false;
    const bool one_by_one = name == "heap-buffered" || name == "block-merge-queue" || name == "truncated-bubble" ||
                            name == "truncated-heap" || name == "truncated-insertion";
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

// Whether a selector takes the case at `index`: those of a family, NAME and what follows it, share their code and take
// turns, so that every case meets half of a family, and a quarter of a family within it (NAME-aligned and what
// follows); all others take every case.
bool takes_turn(const kith::gpu::Selector& selector, std::size_t index) {
    const std::string_view name = selector.name;
    const auto families = std::ranges::count_if(kith::gpu::selectors, [&](const kith::gpu::Selector& base) {
        const std::string_view of = base.name;
        return name.size() > of.size() && name.starts_with(of) && (name[of.size()] == '-' || name[of.size()] == '+');
    });
    std::size_t position = 0;
    while (kith::gpu::selectors[position].name != name) ++position;
    // Adjacent cases differ in their type or in k: pairs of cases change sides.
    return families == 0 || (index + index / 2 + position) % (families == 1 ? 2 : 4) == 0;
}

class EverySelector : public testing::TestWithParam<kith::gpu::Selector> {};

TEST_P(EverySelector, EveryCase) {
    std::size_t index = 0;
    for (const Case& c : all_cases()) {
        if (!takes_turn(GetParam(), index++) || !within_range(GetParam(), c)) continue;
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
    std::size_t index = 0;
    for (const auto& [c, want] : answers_of_the_cpu()) {
        if (!takes_turn(GetParam(), index++) || !within_range(GetParam(), *c)) continue;
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
INSTANTIATE_TEST_SUITE_P(GpuSelect, EverySelector, testing::ValuesIn(built_selectors()), test_name);

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
    for (const kith::gpu::Selector& selector : built_selectors()) {
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
    for (const kith::gpu::Selector& selector : built_selectors()) {
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

using select_cases::Ragged;

const std::vector<Ragged>& all_ragged() {
    static const std::vector<Ragged> cases = [] {
        std::vector<Ragged> made;
        select_cases::for_every_ragged([&](Ragged r) { made.push_back(std::move(r)); });
        return made;
    }();
    return cases;
}

TEST(GpuSelect, NarrowValuesAndRowsOfDifferentLengths) {
    for (const Ragged& r : all_ragged()) {
        select_cases::check_on_host(r, on_gpu());
        if (HasFatalFailure()) return;
        for (const char* const name : {"cluster-select", "sampled", "bits"}) {
            const bool f64 = r.array.view.type == kith::ElementType::f64;
            if (f64 || !kith::gpu::serves(*kith::gpu::find_selector(name), {r.array.view.cols, r.array.view.rows, r.k}))
                continue;
            select_cases::check_on_host(r, on_gpu(name));
            if (HasFatalFailure()) return;
        }
    }
}

// A result in device memory.
struct DeviceResult {
    const Ragged& of;
    gpu_arrays::DeviceArray matrix;
    gpu_arrays::Buffer<std::int64_t> ids, lengths;
    gpu_arrays::Buffer<std::byte> values;

    explicit DeviceResult(const Ragged& r)
        : of(r),
          matrix(gpu_arrays::on_device(r.array)),
          ids(r.expected.size()),
          lengths(r.lengths.size() + 1),
          values(r.values.size()) {
        gpu_arrays::check(
            cudaMemcpy(lengths.data(), r.lengths.data(), r.lengths.size() * sizeof(std::int64_t), cudaMemcpyDefault));
    }
    void select(kith::Options options) const {
        options = of.options(options);
        if (options.lengths.data) {
            options.lengths.data = lengths.data();
            options.lengths.device = matrix.view.device;
        }
        kith::select_into(matrix.view, of.k, options, {ids.data(), values.data(), matrix.view.device});
    }
    void clear() const {
        gpu_arrays::check(cudaMemset(ids.data(), 0xa5, of.expected.size() * sizeof(std::int64_t)));
        gpu_arrays::check(cudaMemset(values.data(), 0xa5, of.values.size()));
        gpu_arrays::check(cudaDeviceSynchronize());
    }
    void check(const char* how) const { select_cases::check(of, ids.host(), values.host(), how); }
};

// Enqueued: on a stream that is busy, so that what has not been enqueued would be seen; and in a CUDA graph, launched
// twice.
TEST(GpuSelect, OnlyEnqueues) {
    const gpu_arrays::Stream stream;
    std::vector<std::string> selectors{""};
    for (const kith::gpu::Selector& s : built_selectors())
        if (s.candidate) selectors.emplace_back(s.name);
    for (std::size_t i = 0; i < all_ragged().size(); i += 11) {
        const Ragged& r = all_ragged()[i];
        const DeviceResult result(r);
        for (const std::string& selector : selectors) {
            const auto* const found = kith::gpu::find_selector(selector);
            const auto& view = r.array.view;
            const kith::gpu::SelectCase shape{.n = view.cols,
                                              .rows = view.rows,
                                              .k = r.k,
                                              .f64 = view.type == kith::ElementType::f64,
                                              .enqueue = true};
            if (found && !kith::gpu::serves(*found, shape)) continue;
            SCOPED_TRACE(r.label + " by " + selector);
            kith::Options options = on_gpu(selector);
            options.stream = stream.get();
            options.enqueue = true;
            result.clear();
            result.select(options);
            gpu_arrays::check(cudaStreamSynchronize(stream.get()));
            result.check("enqueued");
            if (HasFatalFailure()) return;
            result.clear();
            cudaGraph_t graph = nullptr;
            cudaGraphExec_t exec = nullptr;
            gpu_arrays::check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal));
            result.select(options);
            gpu_arrays::check(cudaStreamEndCapture(stream.get(), &graph));
            gpu_arrays::check(cudaGraphInstantiate(&exec, graph, 0));
            if (HasFatalFailure()) return;
            for (int launch = 0; launch < 2; ++launch) {
                result.clear();
                gpu_arrays::check(cudaGraphLaunch(exec, stream.get()));
                gpu_arrays::check(cudaStreamSynchronize(stream.get()));
                result.check("captured");
                if (HasFatalFailure()) return;
            }
            cudaGraphExecDestroy(exec);
            cudaGraphDestroy(graph);
        }
    }
}

TEST(GpuSelect, EnqueuesWhatLiesOnTheDeviceAlone) {
    const Ragged r =
        select_cases::make_ragged("ties", 4, 300, 5, kith::ElementType::f32, arrays::Shape::dense, false, false, 2);
    const DeviceResult result(r);
    kith::Options options = r.options(on_gpu());
    options.enqueue = true;
    std::vector<std::int64_t> ids(r.expected.size());
    EXPECT_THROW(kith::select_into(r.array.view, r.k, options, {result.ids.data(), nullptr, 0}), kith::Error);
    EXPECT_THROW(kith::select_into(result.matrix.view, r.k, options, {ids.data(), nullptr, kith::host_memory}),
                 kith::Error);
    EXPECT_THROW(kith::select_into(result.matrix.view, r.k, options, {result.ids.data(), nullptr, 0}), kith::Error);
    EXPECT_THROW(kith::select(result.matrix.view, r.k, options), kith::Error);
}

// Lengths on a device are not looked at before: what is beyond a row is cut off.
TEST(GpuSelect, LengthsOnADeviceAreCutToARow) {
    Ragged r =
        select_cases::make_ragged("gaussian", 3, 1000, 7, kith::ElementType::f32, arrays::Shape::dense, true, true, 2);
    for (const char* const selector : {"cluster-select", "sampled"}) {
        r.lengths = {5000, 1000, std::numeric_limits<std::int64_t>::max()};
        const DeviceResult result(r);
        result.select(on_gpu(selector));
        result.check(selector);
        if (HasFatalFailure()) return;
    }
}

// One row over every number of blocks and of values that a thread holds, whose k-th lies anywhere.
TEST(GpuSelect, ClustersOfEverySize) {
    for (const std::int64_t n :
         {1, 40, 2047, 4096, 4097, 16384, 16385, 65536, 100003, 131073, 262144, 262145, 524288}) {
        for (const char* const kind : {"gaussian", "ties", "ascending", "descending", "mixed", "equal", "denormal"}) {
            for (const std::int64_t rows : {1, 30, 300}) {
                if (rows * n > 1 << 20) continue;
                for (const std::int64_t k : {1, 64, 1000, 2048}) {
                    if (k > n) continue;
                    const Case c = select_cases::make_case(kind, rows, n, k, false, arrays::Shape::dense, k == 64, true,
                                                           static_cast<std::uint64_t>(n + k));
                    if (!within_range(*kith::gpu::find_selector("cluster-select"), c)) continue;
                    select_cases::check(c, kith::select(c.matrix(), k, c.options(on_gpu("cluster-select"))));
                    if (HasFatalFailure()) return;
                }
            }
        }
    }
}

// A row whose smallest values lie where the sample of single keys looks: its limit holds fewer than k.
TEST(GpuSelect, MisleadingSampleOfACluster) {
    constexpr std::int64_t n = 65536, k = 1000;
    namespace tuning = kith::gpu::tuning;
    const tuning::ClusterShape shape = tuning::cluster_shape(
        n, 1, kith::gpu::device_facts(0).multiprocessors, tuning::has_clusters(kith::gpu::device_facts(0).capability));
    auto all = select_cases::values("gaussian", 1, n, 3);
    for (double& v : all) v = std::abs(v) + 10;
    const std::int64_t part = n / shape.blocks, group = shape.blocks * 2;  // of 256 groups
    for (std::int64_t block = 0; block < shape.blocks; ++block) {
        for (std::int64_t thread = 0; thread < tuning::cluster_threads; thread += group) {
            const std::int64_t u = (block * tuning::cluster_threads + thread) / group * 5 % shape.held;
            all[part * block + (u / 4 * tuning::cluster_threads + thread) * 4 + u % 4] -= 100;
        }
    }
    const auto matrix = arrays::make(all, 1, n, kith::ElementType::f32);
    const kith::Options options = on_gpu("cluster-select");
    for (double& v : all) v = static_cast<float>(v);
    select_cases::check(all, n, kith::select(matrix.view, k, options), false, options, "misleading");
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
