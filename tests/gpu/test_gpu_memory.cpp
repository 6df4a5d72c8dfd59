// Where the data lie must not matter: device memory in and out, the caller's stream, points that stream from the host.
#include <cuda_runtime.h>
#include <algorithm>

#include <chrono>
#include <limits>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "exact/metric_spec.h"
#include "gpu/backend.h"
#include "gpu/runtime/memory/call_memory.h"
#include "gpu/runtime/memory/device_memory.h"
#include "gpu/runtime/tuning.h"
#include "gpu_arrays.h"
#include "search_cases.h"

namespace {

using gpu_arrays::Buffer;

// Inputs and outputs each in host or device memory, on the default and on the caller's stream.
TEST(GpuMemory, AnyMixOfHostAndDevice) {
    const gpu_arrays::Stream stream;
    std::uint64_t turn = 0;
    for (const char* metric : {"sqeuclidean", "cosine", "inner_product", "cityblock", "hellinger", "mahalanobis"}) {
        for (const auto type : arrays::element_types) {
            const Variant variant = variants(metric, 29, type).front();
            const auto c = search_cases::make_case(variant, "clusters", {600, 33, 29, 11}, type, type,
                                                   arrays::shapes[turn % 3], turn);
            const Truth truth = c.truth();
            const auto points = gpu_arrays::on_device(c.points), queries = gpu_arrays::on_device(c.queries);
            for (int mix = 0; mix < 8; ++mix) {
                const bool f64 = ++turn % 2;
                kith::Options options = search_cases::options_of(turn % 3 ? "cuda" : "auto", variant, {}, f64);
                if (turn % 5 < 3) options.stream = stream.get();
                const kith::MatrixView& p = mix & 1 ? points.view : c.points.view;
                const kith::MatrixView& q = mix & 2 ? queries.view : c.queries.view;
                const std::string label = c.label + ", mix " + std::to_string(mix);
                if (!(mix & 4)) {
                    ASSERT_EQ("", truth.difference(kith::search(p, q, c.k, options))) << label;
                    continue;
                }
                const std::size_t cells = 33 * 11;
                const Buffer<std::int64_t> ids(cells);
                const Buffer<float> distances(cells);
                const Buffer<double> distances64(cells);
                void* const out = f64 ? static_cast<void*>(distances64.data()) : distances.data();
                kith::Neighbors got;
                got.report = kith::search_into(p, q, c.k, options, {ids.data(), out, 0});
                got.queries = 33;
                got.k = 11;
                got.ids = ids.host();
                if (f64) got.distances64 = distances64.host();
                else got.distances = distances.host();
                ASSERT_EQ("", truth.difference(got)) << label;
            }
        }
    }
}

// Work that the caller put on the stream before the call has happened for the search.
TEST(GpuMemory, IsOrderedOnTheCallersStream) {
    constexpr std::int64_t n = 200000, d = 64;
    const gpu_arrays::Stream stream;
    const auto set = adversarial::make("gaussian", n, 4, d, 8);
    const auto points = arrays::make(set.points, n, d, kith::ElementType::f32);
    const auto queries = arrays::make(set.queries, 4, d, kith::ElementType::f32);
    kith::Options options;
    options.device = "cuda";
    const auto want = kith::search(points.view, queries.view, 5, options);
    options.stream = stream.get();
    const Buffer<float> late(n * d);
    void* pinned = nullptr;
    gpu_arrays::check(cudaMallocHost(&pinned, n * d * sizeof(float)));
    std::memcpy(pinned, points.view.data, n * d * sizeof(float));
    gpu_arrays::check(
        cudaMemcpyAsync(late.data(), pinned, n * d * sizeof(float), cudaMemcpyHostToDevice, stream.get()));
    const auto got = kith::search(kith::view(late.data(), n, d, 0, 0), queries.view, 5, options);
    gpu_arrays::check(cudaFreeHost(pinned));
    EXPECT_EQ(want.ids, got.ids);
    EXPECT_EQ(want.distances, got.distances);
}

// Memory that the caller's stream writes only a while later.
class Late {
public:
    explicit Late(cudaStream_t stream) {
        gpu_arrays::check(cudaLaunchHostFunc(
            stream, [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(200)); }, nullptr));
    }
};

// Where the host looks at device memory: values that a metric forbids, a CPU search.
TEST(GpuMemory, TheHostReadsWhatTheCallersStreamHasWritten) {
    constexpr std::int64_t n = 500, d = 8, k = 4;
    const Variant variant = variants("hellinger", d, kith::ElementType::f32).front();
    const auto c = search_cases::make_case(variant, "gaussian", {n, 9, d, k}, kith::ElementType::f32,
                                           kith::ElementType::f32, arrays::Shape::dense, 5);
    const Truth truth = c.truth();
    for (const char* device : {"cuda", "cpu"}) {
        const gpu_arrays::Stream stream;
        const Buffer<float> points(n * d);  // all negative so far
        void* pinned = nullptr;
        gpu_arrays::check(cudaMallocHost(&pinned, n * d * sizeof(float)));
        std::memcpy(pinned, c.points.view.data, n * d * sizeof(float));
        const Late late(stream.get());
        gpu_arrays::check(
            cudaMemcpyAsync(points.data(), pinned, n * d * sizeof(float), cudaMemcpyHostToDevice, stream.get()));
        kith::Options options = search_cases::options_of(device, variant, {}, false);
        options.stream = stream.get();
        EXPECT_EQ("", truth.difference(kith::search(kith::view(points.data(), n, d, 0, 0), c.queries.view, k, options)))
            << device;
        gpu_arrays::check(cudaFreeHost(pinned));
    }
}

// Points in pinned memory that stream, whose first chunk is copied on a stream of the library's own.
TEST(GpuMemory, ChunksAreReadInTheOrderOfTheCallersStream) {
    constexpr std::int64_t n = 20000, d = 24, q = 10, k = 20;
    const auto set = adversarial::make("gaussian", n, q, d, 8);
    const auto points = arrays::make(set.points, n, d, kith::ElementType::f32);
    const auto queries = arrays::make(set.queries, q, d, kith::ElementType::f32);
    kith::Options options;
    options.device = "cuda";
    options.path = "gemm-f16";
    options.memory = 5 << 20;
    ASSERT_GT(n, kith::plan({n, q, d, k, kith::ElementType::f32, false}, options).chunk_points);
    const auto want = kith::search(points.view, queries.view, k, options);
    const gpu_arrays::Stream stream;
    options.stream = stream.get();
    const auto there = gpu_arrays::on_device(points);
    void* pinned = nullptr;
    gpu_arrays::check(cudaMallocHost(&pinned, n * d * sizeof(float)));
    std::memset(pinned, 0, n * d * sizeof(float));
    const Late late(stream.get());
    gpu_arrays::check(
        cudaMemcpyAsync(pinned, there.bytes->data(), n * d * sizeof(float), cudaMemcpyDeviceToHost, stream.get()));
    const auto got = kith::search(kith::view(static_cast<const float*>(pinned), n, d), queries.view, k, options);
    EXPECT_EQ(want.ids, got.ids);
    EXPECT_EQ(want.distances, got.distances);
    gpu_arrays::check(cudaFreeHost(pinned));
}

// More points in device memory than a chunk may have, kept for an index.
TEST(GpuMemory, OwnChunksOfDevicePoints) {
    constexpr std::int64_t n = 1000, d = 5;
    const auto set = adversarial::make("gaussian", n, 1, d, 8);
    for (const arrays::Shape shape : arrays::shapes) {
        const auto points = arrays::make(set.points, n, d, kith::ElementType::f32, shape);
        auto there = gpu_arrays::on_device(points);
        kith::MetricSpec metric;
        metric.params.d = d;
        kith::Plan plan;
        plan.device = 0;
        plan.path = kith::Path::exact;
        plan.chunk_points = 300;
        const std::function<bool(const kith::Progress&)> silent;
        kith::ProgressMeter progress(silent, 0);
        const auto prepared = kith::gpu::prepare(there.view, metric, plan, true, nullptr, 1, progress);
        there = {};
        const kith::MatrixView kept = kith::gpu::elements(*prepared);
        ASSERT_EQ(0, kept.device);
        ASSERT_EQ(n, kept.rows);
        std::vector<float> values(n * d);
        gpu_arrays::check(cudaMemcpy(values.data(), kept.data, n * d * sizeof(float), cudaMemcpyDeviceToHost));
        const bool by_rows = kept.layout == kith::Layout::row_major;
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t j = 0; j < d; ++j)
                ASSERT_EQ(static_cast<float>(set.points[static_cast<std::size_t>(i * d + j)]),
                          values[static_cast<std::size_t>(by_rows ? i * kept.stride + j : j * kept.stride + i)]);
    }
}

// What a call frees it takes again, and the next call does on whatever stream; memory that waits is not in use.
TEST(GpuMemory, CallsUseSmallBlocksAgain) {
    using kith::gpu::Buffer;
    using kith::gpu::CallMemory;
    if (!kith::gpu::keeps_blocks) GTEST_SKIP() << "blocks are used once";
    const gpu_arrays::Stream stream, other;
    const auto used = [] { return kith::gpu::pool_bytes(0).used; };
    CallMemory::give_back(0, nullptr);
    const std::int64_t before = used();
    const void* first = nullptr;
    {
        const CallMemory call(0, stream.get());
        {
            const Buffer<char> block(5000, stream.get());
            first = block.get();
        }
        EXPECT_EQ(first, Buffer<char>(4900, stream.get()).get());  // of the same size, rounded up
        EXPECT_NE(first, Buffer<char>(9000, stream.get()).get());
        const Buffer<char> in_use(5000, stream.get());
        EXPECT_EQ(first, in_use.get());
        EXPECT_NE(first, Buffer<char>(5000, stream.get()).get());
        EXPECT_FALSE(CallMemory::keep(in_use.get(), 0, 5120, other.get()));   // which is not the call's
        EXPECT_FALSE(CallMemory::keep(in_use.get(), 1, 5120, stream.get()));  // nor is that
        { const Buffer<char> another(5000, stream.get()); }
        EXPECT_EQ(nullptr, CallMemory::take(0, 5120, other.get()));
        EXPECT_EQ(nullptr, CallMemory::take(1, 5120, stream.get()));
        EXPECT_LT(before, used());
        std::thread([&] { EXPECT_NE(first, Buffer<char>(5000, stream.get()).get()); }).join();
        const CallMemory inner(0, stream.get());
        EXPECT_NE(first, Buffer<char>(5000, stream.get()).get());
    }
    EXPECT_EQ(before, used());
    EXPECT_LT(0, CallMemory::idle_bytes(0));
    EXPECT_NE(first, Buffer<char>(5000, other.get()).get());  // without a call
    {
        const CallMemory call(0, other.get());
        std::vector<Buffer<char>> taken;
        std::set<const void*> blocks;
        for (int i = 0; i < 4; ++i) blocks.insert(taken.emplace_back(5000, other.get()).get());
        EXPECT_EQ(4U, blocks.size());
        EXPECT_TRUE(blocks.contains(first));
    }
    CallMemory::give_back(0, nullptr);
    EXPECT_EQ(0, CallMemory::idle_bytes(0));
    EXPECT_EQ(before, used());
}

// Of more and larger blocks the last few stay, and none when memory runs out.
TEST(GpuMemory, FewAndSmallBlocksStay) {
    using kith::gpu::Buffer;
    using kith::gpu::CallMemory;
    namespace tuning = kith::gpu::tuning;
    if (!kith::gpu::keeps_blocks) GTEST_SKIP() << "blocks are used once";
    CallMemory::give_back(0, nullptr);
    const std::int64_t before = kith::gpu::pool_bytes(0).used;
    {
        const CallMemory call(0, nullptr);
        const Buffer<char> large(static_cast<std::int64_t>(tuning::largest_kept_block) + 1, nullptr);
    }
    EXPECT_EQ(0, CallMemory::idle_bytes(0));
    {
        const CallMemory call(0, nullptr);
        std::vector<Buffer<char>> blocks;
        for (std::size_t i = 0; i < 3 * tuning::kept_blocks; ++i) blocks.emplace_back(512, nullptr);
    }
    EXPECT_EQ(static_cast<std::int64_t>(tuning::kept_blocks) * 512, CallMemory::idle_bytes(0));
    {
        const CallMemory call(0, nullptr);
        std::vector<Buffer<char>> blocks;
        for (int i = 0; i < 6; ++i) blocks.emplace_back(static_cast<std::int64_t>(tuning::largest_kept_block), nullptr);
    }
    EXPECT_EQ(static_cast<std::int64_t>(tuning::kept_block_bytes), CallMemory::idle_bytes(0));
    {
        const CallMemory call(0, nullptr);
        { const Buffer<char> freed(7 << 20, nullptr); }
        EXPECT_THROW(Buffer<char>(std::int64_t{1} << 50, nullptr), kith::Error);
        EXPECT_EQ(0, CallMemory::idle_bytes(0));
        EXPECT_EQ(before, kith::gpu::pool_bytes(0).used);
    }
    EXPECT_EQ(before, kith::gpu::pool_bytes(0).used);
}

// What was once needed goes back to the device, but for a share that the next search takes without asking for it.
TEST(GpuMemory, IdleMemoryIsGivenBack) {
    constexpr std::int64_t n = 3000, d = 16, more = std::int64_t{1} << 29;
    const std::int64_t kept = kith::gpu::tuning::kept_bytes(kith::gpu::device_info(0).total_bytes);
    const auto idle = [] {
        const kith::gpu::PoolBytes pool = kith::gpu::pool_bytes(0);
        return pool.held - pool.used;
    };
    constexpr std::int64_t piece = 64 << 20;  // the pool takes and gives back memory in pieces below that
    const auto leave_idle = [&] { const kith::gpu::Buffer<char> large(kept + more, nullptr); };
    const auto set = adversarial::make("gaussian", n, 5, d, 8);
    const auto points = arrays::make(set.points, n, d, kith::ElementType::f32);
    const auto queries = arrays::make(set.queries, 5, d, kith::ElementType::f32);
    kith::Options options;
    options.device = "cuda";
    leave_idle();
    ASSERT_LT(kept + piece, idle());
    kith::search(points.view, queries.view, 4, options);
    EXPECT_EQ(0, kith::gpu::CallMemory::idle_bytes(0));
    EXPECT_GE(kept + piece, idle());
    EXPECT_LT(kept / 2, idle());  // and not all of it
    auto index = std::make_unique<kith::Index>(points.view, options);
    index->search(queries.view, 4, options);
    leave_idle();
    ASSERT_LT(kept + piece, idle());
    index.reset();
    EXPECT_GE(kept + piece, idle());
    leave_idle();
    ASSERT_LT(kept + piece, idle());
    kith::select(points.view, 4, options);
    EXPECT_GE(kept + piece, idle());
}

// An error that the program left behind is not one of the search's.
TEST(GpuMemory, TheProgramsOwnErrorsStayItsOwn) {
    const std::vector<float> values = {0, 1, 2, 3};
    kith::Options options;
    options.device = "cuda";
    for (int call = 0; call < 2; ++call) {
        EXPECT_NE(cudaSuccess, cudaSetDevice(12345));
        const auto got = kith::search(kith::view(values.data(), 4, 1), kith::view(values.data(), 1, 1), 2, options);
        EXPECT_EQ((std::vector<std::int64_t>{0, 1}), got.ids);
    }
}

TEST(GpuMemory, IndexOfDevicePointsOutlivesThem) {
    const Variant variant = variants("euclidean", 17, kith::ElementType::bf16).front();
    const auto c = search_cases::make_case(variant, "lattice", {700, 20, 17, 6}, kith::ElementType::bf16,
                                           kith::ElementType::bf16, arrays::Shape::column_major, 3);
    const Truth truth = c.truth();
    auto points = gpu_arrays::on_device(c.points);
    const kith::Index index(points.view, search_cases::options_of("auto", variant, {}, false));
    gpu_arrays::check(cudaMemset(points.bytes->data(), 0x55, c.points.bytes.size()));
    points = {};
    const auto got = index.search(c.queries.view, c.k);
    EXPECT_EQ("", truth.difference(got));
    EXPECT_EQ(0u, got.report.device.find("cuda")) << got.report.device;
}

TEST(GpuMemory, CpuSearchOfDevicePoints) {
    const Variant variant = variants("cityblock", 9, kith::ElementType::f32).front();
    const auto c = search_cases::make_case(variant, "gaussian", {300, 5, 9, 6}, kith::ElementType::f32,
                                           kith::ElementType::f32, arrays::Shape::strided, 3);
    const auto points = gpu_arrays::on_device(c.points), queries = gpu_arrays::on_device(c.queries);
    const auto options = search_cases::options_of("cpu", variant, {}, false);
    EXPECT_EQ("", c.truth().difference(kith::search(points.view, queries.view, c.k, options)));
}

// Budgets so small that points come from the host in many chunks, and queries in many tiles: on 132 multiprocessors
// at most 11 chunks, 14 tiles of queries and 16 of points for the scan, 3 chunks and 2 tiles for the filter.
TEST(GpuMemory, SmallBudgetsGiveTheSameBits) {
    constexpr std::int64_t n = 12000, q = 70, d = 24, k = 40;
    for (const char* metric : {"sqeuclidean", "inner_product", "cityblock", "braycurtis"}) {
        for (const char* data : {"clusters", "ascending", "descending", "integers"}) {
            const Variant variant = variants(metric, d, kith::ElementType::f32).front();
            const auto c = search_cases::make_case(variant, data, {n, q, d, k}, kith::ElementType::f32,
                                                   kith::ElementType::f32, arrays::Shape::dense, 6);
            kith::Options options = search_cases::options_of("cuda", variant, {}, true);
            const auto want = kith::search(c.points.view, c.queries.view, k, options);
            for (const char* path : {"", "exact"}) {
                if (want.report.path == path) continue;  // what the metric has without a path
                options.path = path;
                bool streamed = false;
                for (const std::int64_t memory : {1 << 19, 1 << 20, 1 << 22, 1 << 28}) {
                    options.memory = memory;
                    const std::string label = c.label + ", memory " + std::to_string(memory) + ", path " + path;
                    try {
                        const auto got = kith::search(c.points.view, c.queries.view, k, options);
                        ASSERT_EQ(want.ids, got.ids) << label;
                        ASSERT_EQ(want.distances64, got.distances64) << label;
                    } catch (const kith::Error& error) {
                        ASSERT_EQ(kith::ErrorCode::out_of_memory, error.code()) << error.what();
                        ASSERT_GT(1 << 22, memory) << label << ": " << error.what();
                        continue;
                    }
                    const kith::Plan plan = kith::plan({n, q, d, k, kith::ElementType::f32, false}, options);
                    EXPECT_LE(plan.workspace_bytes, memory) << label;
                    streamed |= plan.chunk_points < n;
                }
                EXPECT_TRUE(streamed) << "no budget made the points stream: " << c.label << ", path " << path;
            }
        }
    }
}

// The same of graphs, whose rows leave out an id of one chunk only, and of an index whose points stream: at least three
// chunks, of which one is neither the first nor the last, many tiles of queries, and for the scan several of points.
TEST(GpuMemory, SmallBudgetsOfGraphs) {
    constexpr std::int64_t k = 12;
    // Few tiles that are still all of these: each is some launches, which wait for their turn where processes share the
    // device. On 132 multiprocessors 3 chunks and 16 tiles of queries for the filter; 3, 38 and 4 of points for the
    // scan.
    struct Budget {
        const char *metric, *path, *data;
        std::int64_t n, d, memory;
    };
    for (const Budget& b : {Budget{"sqeuclidean", "gemm-f16", "integers", 1800, 200, 4 << 20},
                            {"inner_product", "gemm-f16", "clusters", 1800, 200, 4 << 20},
                            {"cityblock", "exact", "duplicates", 2400, 384, 13 << 19}}) {
        const Variant variant = variants(b.metric, b.d, kith::ElementType::f32).front();
        const auto c = search_cases::make_case(variant, b.data, {b.n, 1, b.d, k}, kith::ElementType::f32,
                                               kith::ElementType::f32, arrays::Shape::strided, 6);
        kith::Options options = search_cases::options_of("cuda", variant, {}, true);
        options.path = b.path;
        const auto want = kith::graph(c.points.view, k, options);
        options.memory = b.memory;
        const kith::Plan plan = kith::plan({b.n, b.n, b.d, k, kith::ElementType::f32, true}, options);
        ASSERT_GT(b.n, 2 * plan.chunk_points) << c.label;
        ASSERT_GT(b.n, 10 * plan.query_tile) << c.label;
        if (options.path == "exact") {
            ASSERT_GT(plan.chunk_points, 2 * plan.point_tile) << c.label;
        }
        for (const bool index : {false, true}) {
            const auto got =
                index ? kith::Index(c.points.view, options).graph(k, options) : kith::graph(c.points.view, k, options);
            ASSERT_EQ(want.ids, got.ids) << c.label;
            ASSERT_EQ(want.distances64, got.distances64) << c.label;
        }
    }
}

// Fewer neighbours than k, found a few a chunk: the rest of a row is missing, of no id and infinitely far.
TEST(GpuMemory, MissingNeighboursOfChunks) {
    constexpr std::int64_t n = 60000, q = 9, d = 24, k = 20, apart = 4500, real = (n + apart - 1) / apart;
    auto set = adversarial::make("gaussian", n, q, d, 8);
    for (std::int64_t i = 0; i < n; ++i)
        if (i % apart != 0) set.points[static_cast<std::size_t>(i * d)] = std::numeric_limits<double>::quiet_NaN();
    for (const char* metric : {"sqeuclidean", "inner_product", "cityblock"}) {
        const Variant variant = variants(metric, d, kith::ElementType::f32).front();
        const search_cases::Case c{metric, variant, arrays::make(set.points, n, d, kith::ElementType::f32),
                                   arrays::make(set.queries, q, d, kith::ElementType::f32), k};
        const Truth truth = c.truth();
        for (const char* path : {"", "exact"}) {
            kith::Options options = search_cases::options_of("cuda", variant, {}, true);
            options.path = path;
            bool streamed = false;
            for (const std::int64_t memory : {1 << 20, 1 << 21, 1 << 22, 1 << 23}) {
                options.memory = memory;
                const std::string label = c.label + ", memory " + std::to_string(memory) + ", path " + path;
                kith::Neighbors got;
                try {
                    got = kith::search(c.points.view, c.queries.view, k, options);
                } catch (const kith::Error& error) {
                    ASSERT_EQ(kith::ErrorCode::out_of_memory, error.code()) << label << ": " << error.what();
                    ASSERT_GT(1 << 23, memory) << label << ": " << error.what();
                    continue;
                }
                ASSERT_EQ("", truth.difference(got)) << label;
                for (std::size_t i = 0; i < got.ids.size(); ++i)
                    ASSERT_EQ(static_cast<std::int64_t>(i % k) >= real, got.ids[i] == -1) << label << ", entry " << i;
                streamed |= kith::plan({n, q, d, k, kith::ElementType::f32, false}, options).chunk_points < n;
            }
            EXPECT_TRUE(streamed) << metric << ", path " << path;
        }
    }
}

// Rows of which some are closer together than fp16 can tell apart, and the others one point.
std::vector<float> indistinct(std::int64_t count, std::int64_t d, std::uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<float> rows(static_cast<std::size_t>(count * d));
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const float x = static_cast<float>(random() >> 8) * 0x1p-24f;
        rows[i] = i / static_cast<std::size_t>(d) % 4 ? 1.0f : -1.0f + 1e-4f * x;
    }
    return rows;
}

// Queries that have no certificate at once, nor when they are tried again: more of them than a small budget tries at a
// time.
TEST(GpuMemory, SmallBudgetsOfUncertainQueries) {
    constexpr std::int64_t n = 40000, q = 100, d = 24, k = 20;
    const std::vector<float> points = indistinct(n, d, 1), queries = indistinct(q, d, 2);
    kith::Options options;
    const auto search = [&] {
        return kith::search(kith::view(points.data(), n, d), kith::view(queries.data(), q, d), k, options);
    };
    options.device = "cpu";
    const auto want = search();
    options.device = "cuda";
    for (const std::int64_t memory : {0, 1 << 23, 1 << 24, 1 << 25, 1 << 26}) {
        options.memory = memory;
        try {
            const auto got = search();
            EXPECT_LT(0, got.report.retried + got.report.scanned) << "memory " << memory;
            ASSERT_EQ(want.ids, got.ids) << "memory " << memory;
            ASSERT_EQ(want.distances, got.distances) << "memory " << memory;
        } catch (const kith::Error& error) {
            ASSERT_EQ(kith::ErrorCode::out_of_memory, error.code()) << "memory " << memory << ": " << error.what();
            ASSERT_EQ(1 << 23, memory) << error.what();
        }
    }
}

// Results that are made once more, after their search has waited, are there when the call returns.
TEST(GpuMemory, ReturnsWithWhatWasAnsweredAgain) {
    constexpr std::int64_t n = 40000, q = 20000, d = 8, k = 64;
    const std::vector<float> points = indistinct(n, d, 1), queries = indistinct(q, d, 2);
    const gpu_arrays::Stream stream;
    kith::Options options;
    options.device = "cuda";
    options.stream = stream.get();
    void* ids = nullptr;
    gpu_arrays::check(cudaMallocHost(&ids, q * k * sizeof(std::int64_t)));
    const kith::Index index(kith::view(points.data(), n, d), options);
    const auto report = index.search_into(kith::view(queries.data(), q, d), k, options,
                                          {static_cast<std::int64_t*>(ids), nullptr, kith::host_memory});
    EXPECT_EQ(cudaSuccess, cudaStreamQuery(stream.get()));
    EXPECT_LT(0, report.retried + report.scanned);
    gpu_arrays::check(cudaFreeHost(ids));
}

// Queries that the caller's stream writes late, of an index that has nothing to wait for.
TEST(GpuMemory, QueriesAreReadInTheOrderOfTheCallersStream) {
    constexpr std::int64_t n = 20000, d = 24, q = 50, k = 5;
    const auto set = adversarial::make("gaussian", n, q, d, 8);
    const auto points = arrays::make(set.points, n, d, kith::ElementType::f32);
    const auto queries = arrays::make(set.queries, q, d, kith::ElementType::f32);
    kith::Options options;
    options.device = "cuda";
    const kith::Index index(points.view, options);
    const auto want = index.search(queries.view, k, options);
    const gpu_arrays::Stream stream;
    options.stream = stream.get();
    const auto there = gpu_arrays::on_device(queries);
    const Buffer<float> late(q * d);
    gpu_arrays::check(cudaMemset(late.data(), 0, q * d * sizeof(float)));
    gpu_arrays::check(cudaDeviceSynchronize());
    const Late writes(stream.get());
    gpu_arrays::check(cudaMemcpyAsync(late.data(), there.bytes->data(), q * d * sizeof(float), cudaMemcpyDeviceToDevice,
                                      stream.get()));
    const auto got = index.search(kith::view(late.data(), q, d, 0, 0), k, options);
    EXPECT_EQ(want.ids, got.ids);
    EXPECT_EQ(want.distances, got.distances);
}

// Uploads in many pieces, by several threads, from every layout and from pinned memory; whole and in chunks.
TEST(GpuMemory, LargeUploadsGiveTheSameBits) {
    constexpr std::int64_t n = 160000, d = 64, gap = 3, k = 5;
    std::vector<float> values(n * (d + gap));
    std::mt19937 random(5);
    for (float& v : values) v = static_cast<float>(random() >> 8) * 0x1p-24f;
    const kith::MatrixView all[] = {kith::view(values.data(), n, d), kith::view(values.data(), n, d, d + gap),
                                    kith::view_column_major(values.data(), n, d, n + gap)};
    const kith::MatrixView queries = kith::view(values.data(), 7, d, 1001);
    kith::Options cpu, cuda;
    cpu.device = "cpu";
    cuda.device = "cuda";
    const auto hold = [&](const kith::MatrixView& points, const kith::Neighbors& want, std::int64_t memory) {
        kith::Options options = cuda;
        options.memory = memory;
        const auto got = kith::search(points, queries, k, options);
        EXPECT_EQ(want.ids, got.ids);
        EXPECT_EQ(want.distances, got.distances);
    };
    constexpr std::int64_t small = 32 << 20;
    cuda.memory = small;
    EXPECT_GT(n, kith::plan({n, 7, d, k, kith::ElementType::f32, false}, cuda).chunk_points);
    for (const kith::MatrixView& points : all) {
        SCOPED_TRACE("layout " + std::to_string(&points - all));
        const auto want = kith::search(points, queries, k, cpu);
        {
            const std::jthread other([&] { hold(points, want, small); });
            hold(points, want, 0);
        }
        gpu_arrays::check(cudaHostRegister(values.data(), values.size() * sizeof(float), cudaHostRegisterDefault));
        hold(points, want, 0);
        hold(points, want, small);
        // Memory of the device that is used again holds other rows than those that are still to come.
        std::ranges::reverse(values);
        hold(points, kith::search(points, queries, k, cpu), small);
        gpu_arrays::check(cudaHostUnregister(values.data()));
    }
}

// Chunks that take a millisecond to come, from pinned memory, where memory that is used again holds other rows.
// Preparing a filter would wait on the host, and copies of queries behind those of points: a scan for queries that lie
// on the device waits for nothing else.
TEST(GpuMemory, ChunksAreSearchedWhenTheyHaveCome) {
    constexpr std::int64_t n = 400000, d = 128, q = 7, k = 5;
    float* values = nullptr;
    gpu_arrays::check(cudaMallocHost(&values, n * d * sizeof(float)));
    std::uint32_t random = 1;
    for (std::int64_t i = 0; i < n * d; ++i) {
        random = random * 1664525 + 1013904223;
        values[i] = static_cast<float>(random >> 8) * 0x1p-24f;
    }
    const Buffer<float> queries(q * d);
    kith::Options cpu, cuda;
    cpu.device = "cpu";
    cuda.device = "cuda";
    cuda.path = "exact";
    cuda.memory = 100 << 20;
    EXPECT_GT(n, kith::plan({n, q, d, k, kith::ElementType::f32, false}, cuda).chunk_points);
    for (int turn = 0; turn < 3; ++turn) {
        std::reverse(values, values + n * d);
        const auto want = kith::search(kith::view(values, n, d), kith::view(values, q, d), k, cpu);
        gpu_arrays::check(cudaMemcpy(queries.data(), values, q * d * sizeof(float), cudaMemcpyHostToDevice));
        const auto got = kith::search(kith::view(values, n, d), kith::view(queries.data(), q, d, 0, 0), k, cuda);
        EXPECT_EQ(want.ids, got.ids);
        EXPECT_EQ(want.distances, got.distances);
    }
    gpu_arrays::check(cudaFreeHost(values));
}

TEST(GpuMemory, CancelledByTheCallback) {
    constexpr std::int64_t n = 300000, d = 128;
    const std::vector<float> values(n * d, 0.5f);
    const auto points = kith::view(values.data(), n, d);
    kith::Options options;
    options.device = "cuda";
    options.path = "exact";
    options.progress = [](const kith::Progress&) { return false; };
    std::vector<std::int64_t> ids(n);
    try {
        kith::search_into(points, points, 1, options, {ids.data(), nullptr, kith::host_memory});
        ADD_FAILURE() << "not cancelled";
    } catch (const kith::Error& error) {
        EXPECT_EQ(kith::ErrorCode::cancelled, error.code()) << error.what();
    }
    // The device is as usable as before.
    options.progress = nullptr;
    const auto got = kith::search(points, kith::view(values.data(), 1, d), 2, options);
    EXPECT_EQ((std::vector<std::int64_t>{0, 1}), got.ids);
}

}  // namespace
