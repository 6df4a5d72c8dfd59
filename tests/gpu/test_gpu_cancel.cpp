// Nothing of the caller's memory is read or written once a call has returned or thrown: calls cancelled at every poll,
// and calls in which each of CUDA's answers in turn is an error. The memory is taken away at once and looked at later.
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "exact/report/progress.h"
#include "gpu/backend.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/memory/device_memory.h"
#include "gpu/runtime/tuning.h"
#include "gpu/runtime/upload.h"
#include "gpu_arrays.h"
#include "kith/kith.h"

namespace {

using gpu_arrays::check;

enum class MemoryKind { pageable, pinned, device };

// Memory of the caller's that can be taken away and given back.
class Memory {
public:
    Memory(std::size_t bytes, MemoryKind kind) : bytes_(bytes), kind_(kind), poison_(bytes, poison) {
        if (kind == MemoryKind::pageable)
            data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        else if (kind == MemoryKind::pinned) check(cudaMallocHost(&data_, bytes));
        else check(cudaMalloc(&data_, bytes));
    }
    ~Memory() {
        if (kind_ == MemoryKind::pageable) munmap(data_, bytes_);
        else if (kind_ == MemoryKind::pinned) cudaFreeHost(data_);
        else cudaFree(data_);
    }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    template <class T>
    T* as() const {
        return static_cast<T*>(data_);
    }
    int device() const { return kind_ == MemoryKind::device ? 0 : kith::host_memory; }
    // Gives it back, with that in it.
    void give(const void* from) {
        if (kind_ == MemoryKind::pageable) {
            ASSERT_EQ(0, mprotect(data_, bytes_, PROT_READ | PROT_WRITE));
        }
        check(cudaMemcpy(data_, from, bytes_, cudaMemcpyDefault));
    }
    void give() { give(poison_.data()); }
    // On no stream that work of ours could be ordered with. A thread that touches pageable memory ends the test.
    void take(cudaStream_t stream) {
        if (kind_ == MemoryKind::pageable) {
            ASSERT_EQ(0, mprotect(data_, bytes_, PROT_NONE));
        } else if (kind_ == MemoryKind::pinned) {
            std::memset(data_, poison, bytes_);
        } else {
            check(cudaMemsetAsync(data_, poison, bytes_, stream));
            check(cudaStreamSynchronize(stream));
        }
    }
    // Since take().
    bool untouched() const {
        if (kind_ == MemoryKind::pageable) return true;
        std::vector<unsigned char> now(bytes_);
        check(cudaMemcpy(now.data(), data_, bytes_, cudaMemcpyDefault));
        return now == poison_;
    }
    std::vector<unsigned char> bytes() const {
        std::vector<unsigned char> out(bytes_);
        check(cudaMemcpy(out.data(), data_, bytes_, cudaMemcpyDefault));
        return out;
    }

private:
    static constexpr unsigned char poison = 0x5a;
    std::size_t bytes_;
    MemoryKind kind_;
    std::vector<unsigned char> poison_;
    void* data_ = nullptr;
};

// A call of the library on points (or the matrix of a selection), queries and a result.
struct Scene;
using Call = kith::Report (*)(const Scene&, const kith::MatrixView& points, const kith::MatrixView& queries,
                              const kith::Options&, const kith::NeighborsView&);
struct Scene {
    std::string name;
    Call call;
    std::int64_t n, q, d, k;
    std::vector<float> points, queries;  // of one row where there are none
    kith::Options options;
};

kith::Report search(const Scene& s, const kith::MatrixView& points, const kith::MatrixView& queries,
                    const kith::Options& options, const kith::NeighborsView& out) {
    return kith::search_into(points, queries, s.k, options, out);
}
kith::Report graph(const Scene& s, const kith::MatrixView& points, const kith::MatrixView&,
                   const kith::Options& options, const kith::NeighborsView& out) {
    return kith::graph_into(points, s.k, options, out);
}
kith::Report select(const Scene& s, const kith::MatrixView& matrix, const kith::MatrixView&,
                    const kith::Options& options, const kith::NeighborsView& out) {
    return kith::select_into(matrix, s.k, options, out);
}
kith::Report index(const Scene& s, const kith::MatrixView& points, const kith::MatrixView& queries,
                   const kith::Options& options, const kith::NeighborsView& out) {
    const kith::Index made(points, options);
    made.search_into(queries, s.k, options, out);
    return made.search_into(queries, s.k, options, out);  // with the plan of the search before
}

std::vector<float> numbers(std::int64_t count, std::uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<float> out(static_cast<std::size_t>(count));
    for (float& x : out) x = static_cast<float>(random() >> 8) * 0x1p-24f;
    return out;
}

Scene scene(const std::string& name) {
    Scene s{name, search, 20000, 100, 24, 20, {}, {}, {}};
    s.options.device = "cuda";
    // Enough for the plans that any amount gives, and said: what does not fit is not tried again with less.
    s.options.memory = std::int64_t{8} << 30;
    if (name == "tiles") {
        s.q = 300;
        s.options.memory = 16 << 20;
    } else if (name == "chunks") {
        s.options.memory = 5 << 20;
    } else if (name == "scanned_chunks") {
        // Three chunks, two tiles of queries, four of points: every answer of CUDA becomes an error once.
        s.n = 3000;
        s.q = 40;
        s.d = 96;
        s.options.metric = kith::MetricId::cityblock;
        s.options.path = "exact";
        s.options.memory = 2 << 20;
    } else if (name == "graph") {
        s.n = s.q = 6000;
        s.options.memory = 16 << 20;
        s.call = graph;
    } else if (name == "symmetric") {
        s.n = s.q = 262144 + 77;
        s.d = 48;
        s.k = 3;
        s.call = graph;
    } else if (name == "select") {
        s.n = s.q = 200;
        s.d = 10000;
        s.options.memory = 24 << 20;
        s.call = select;
    } else if (name == "index") {
        s.call = index;
    } else {  // uncertain
        s.n = 40000;
    }
    s.points = numbers(s.n * s.d, 1);
    s.queries = numbers((s.call == graph || s.call == select ? 1 : s.q) * s.d, 2);
    if (name == "uncertain") {
        // A quarter of the points are closer together than fp16 can tell apart, more than a list holds at first; the
        // others are one point, more than any list holds.
        const auto place = [&](std::vector<float>& rows, std::int64_t count) {
            for (std::int64_t i = 0; i < count * s.d; ++i) {
                float& x = rows[static_cast<std::size_t>(i)];
                x = i / s.d % 4 ? 1.0f : -1.0f + 1e-4f * x;
            }
        };
        place(s.points, s.n);
        place(s.queries, s.q);
    }
    return s;
}

class GpuCancel : public testing::TestWithParam<std::string> {};

// The scene's memory in some places, and its call.
class Stage {
public:
    Stage(const Scene& scene, MemoryKind in, MemoryKind out)
        : scene_(scene),
          cells_(static_cast<std::size_t>(scene.q * scene.k)),
          points_(scene.points.size() * sizeof(float), in),
          queries_(scene.queries.size() * sizeof(float), in),
          ids_(cells_ * sizeof(std::int64_t), out),
          distances_(cells_ * sizeof(float), out) {}

    // The bytes of the result.
    std::vector<unsigned char> result() const {
        auto all = ids_.bytes();
        const auto more = distances_.bytes();
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }
    // "" or what was thrown; the report, if any.
    std::string call(const kith::Options& how, kith::ErrorCode expected, kith::Report* report = nullptr) {
        points_.give(scene_.points.data());
        queries_.give(scene_.queries.data());
        ids_.give();
        distances_.give();
        check(cudaDeviceSynchronize());
        kith::Options options = how;
        options.stream = stream_.get();
        const kith::MatrixView points = kith::view(points_.as<float>(), scene_.n, scene_.d, 0, points_.device()),
                               queries = kith::view(queries_.as<float>(), rows(scene_.queries), scene_.d, 0,
                                                    queries_.device());
        std::string thrown;
        try {
            const auto made = scene_.call(scene_, points, queries, options,
                                          {ids_.as<std::int64_t>(), distances_.as<float>(), ids_.device()});
            if (report) *report = made;
        } catch (const kith::Error& error) {
            thrown = error.what();
            EXPECT_EQ(expected, error.code()) << thrown;
        }
        const cudaError_t state = cudaStreamQuery(stream_.get());
        EXPECT_EQ(cudaSuccess, state) << "the stream is still busy: " << cudaGetErrorString(state);
        return thrown;
    }
    // After a call: nobody works on its memory any more.
    void expect_peace() {
        for (Memory* m : {&points_, &queries_, &ids_, &distances_}) m->take(other_.get());
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        check(cudaDeviceSynchronize());
        EXPECT_TRUE(ids_.untouched() && distances_.untouched());
    }

private:
    std::int64_t rows(const std::vector<float>& values) const {
        return static_cast<std::int64_t>(values.size()) / scene_.d;
    }

    const Scene& scene_;
    std::size_t cells_;
    Memory points_, queries_, ids_, distances_;
    gpu_arrays::Stream stream_, other_;
};

// Calls f with a stage for each kind of memory that serves the scene, and the result of an undisturbed call.
template <class F>
void on_stages(const Scene& scene, F f) {
    const bool streams = scene.name == "chunks" || scene.name == "scanned_chunks";  // from the host only
    const std::pair<MemoryKind, MemoryKind> places[] = {
        {MemoryKind::pageable, MemoryKind::pageable},
        {MemoryKind::pinned, MemoryKind::pinned},
        {streams ? MemoryKind::pinned : MemoryKind::device, MemoryKind::device}};
    std::vector<unsigned char> first;
    for (const auto& [in, out] : places) {
        if (scene.name == "symmetric" && in != MemoryKind::pinned) continue;  // one of 50 MB is enough
        SCOPED_TRACE("memory " + std::to_string(int(in)) + " " + std::to_string(int(out)));
        Stage stage(scene, in, out);
        ASSERT_EQ("", stage.call(scene.options, kith::ErrorCode::cancelled));
        const auto want = stage.result();
        if (first.empty()) first = want;
        ASSERT_TRUE(first == want) << "the result depends on where the memory lies";
        f(stage, want);
        ASSERT_EQ("", stage.call(scene.options, kith::ErrorCode::cancelled));
        ASSERT_TRUE(want == stage.result()) << "the device is not what it was";
        if (testing::Test::HasFailure()) return;
    }
}

TEST_P(GpuCancel, AtEveryPoll) {
    const Scene s = scene(GetParam());
    kith::ProgressMeter::milliseconds_between = 0;
    on_stages(s, [&](Stage& stage, const std::vector<unsigned char>& want) {
        kith::Options options = s.options;
        int polls = 0;
        options.progress = [&](const kith::Progress&) {
            ++polls;
            return true;
        };
        ASSERT_EQ("", stage.call(options, kith::ErrorCode::cancelled));
        ASSERT_TRUE(want == stage.result());
        ASSERT_LT(0, polls);
        for (int cancelled = 0; cancelled < polls; ++cancelled) {
            int left = cancelled;
            options.progress = [&](const kith::Progress&) { return left-- > 0; };
            const std::string error = stage.call(options, kith::ErrorCode::cancelled);
            // The threads of an upload share its pieces by turns: the caller's had fewer to poll at this time.
            const bool reached = left < 0;
            ASSERT_EQ(reached, !error.empty()) << "poll " << cancelled << ": " << error;
            ASSERT_TRUE(reached || want == stage.result()) << "poll " << cancelled;
            stage.expect_peace();
            if (HasFailure()) {
                ADD_FAILURE() << "cancelled at poll " << cancelled << " of " << polls;
                break;
            }
        }
    });
    kith::ProgressMeter::milliseconds_between = 100;
}

// Either the call throws, or it found another way to the same result.
TEST_P(GpuCancel, AtEveryFailureOfCuda) {
    using kith::gpu::InjectedFault;
    const Scene s = scene(GetParam());
    std::int64_t thrown = 0;
    on_stages(s, [&](Stage& stage, const std::vector<unsigned char>& want) {
        check(cudaDeviceSynchronize());
        const std::int64_t used = kith::gpu::pool_bytes(0).used;
        for (std::int64_t fault = 0;; ++fault) {
            InjectedFault::checks_left = fault;
            const std::string error = stage.call(s.options, kith::ErrorCode::out_of_memory);
            const bool happened = InjectedFault::checks_left < 0;
            InjectedFault::checks_left = InjectedFault::none;
            if (error.empty()) {
                ASSERT_TRUE(want == stage.result()) << "fault " << fault;
            } else {
                ++thrown;
            }
            stage.expect_peace();
            ASSERT_EQ(used, kith::gpu::pool_bytes(0).used) << "fault " << fault << ": " << error;
            if (!happened) break;
            ASSERT_FALSE(HasFailure()) << "fault " << fault << ": " << error;
        }
    });
    EXPECT_LT(20, thrown);
}

INSTANTIATE_TEST_SUITE_P(Call, GpuCancel,
                         testing::Values("tiles", "chunks", "scanned_chunks", "graph", "symmetric", "select", "index",
                                         "uncertain"),
                         [](const auto& info) { return info.param; });

class GpuCancelAlone : public testing::TestWithParam<std::string> {};

// What the device has free is what it had, whatever failed.
TEST_P(GpuCancelAlone, FailuresKeepNoDeviceMemory) {
    using kith::gpu::InjectedFault;
    const Scene s = scene(GetParam());
    Stage stage(s, MemoryKind::pinned, MemoryKind::pinned);
    ASSERT_EQ("", stage.call(s.options, kith::ErrorCode::cancelled));
    const std::int64_t free = kith::gpu::device_info(0).free_bytes;
    constexpr std::int64_t step = 3;
    bool happened = true;
    for (std::int64_t fault = 0; happened; fault += step) {
        InjectedFault::checks_left = fault;
        stage.call(s.options, kith::ErrorCode::out_of_memory);
        happened = InjectedFault::checks_left < 0;
        InjectedFault::checks_left = InjectedFault::none;
    }
    // Kernels that only the other ways need are loaded when they are first called.
    constexpr std::int64_t kernels = 64 << 20;
    EXPECT_LT(free - kernels, kith::gpu::device_info(0).free_bytes);
}

INSTANTIATE_TEST_SUITE_P(Call, GpuCancelAlone,
                         testing::Values("tiles", "chunks", "scanned_chunks", "graph", "symmetric", "select", "index",
                                         "uncertain"),
                         [](const auto& info) { return info.param; });

// Where no budget is given, an allocation that fails is tried again with a smaller plan.
TEST(GpuCancelScenes, WhatDoesNotFitIsPlannedWithLess) {
    using kith::gpu::InjectedFault;
    for (const char* name : {"chunks", "uncertain"}) {
        Scene s = scene(name);
        s.options.memory = 0;
        Stage stage(s, MemoryKind::pageable, MemoryKind::pageable);
        ASSERT_EQ("", stage.call(s.options, kith::ErrorCode::cancelled));
        const auto want = stage.result();
        // Not the questions that the plan asks before.
        int devices = 0, recovered = 0;
        check(cudaGetDeviceCount(&devices));
        for (std::int64_t fault = 8 * devices;; ++fault) {
            InjectedFault::checks_left = fault;
            const std::string error = stage.call(s.options, kith::ErrorCode::out_of_memory);
            const bool happened = InjectedFault::checks_left < 0;
            InjectedFault::checks_left = InjectedFault::none;
            if (!happened) break;
            ASSERT_EQ("", error) << name << ", fault " << fault;
            ASSERT_TRUE(want == stage.result()) << name << ", fault " << fault;
            ++recovered;
        }
        EXPECT_LT(20, recovered) << name;
    }
}

// Points on their way to the device, as an index keeps them: polled, and left where the callback says so.
TEST(GpuCancelScenes, WhileThePointsArePrepared) {
    constexpr std::int64_t d = 128, n = (kith::gpu::tuning::watched_copy / d) * 5 / 2;
    std::vector<unsigned char> values(static_cast<std::size_t>(n * d), 1);
    kith::MatrixView points;
    points.data = values.data();
    points.rows = n;
    points.cols = points.stride = d;
    points.type = kith::ElementType::u8;
    kith::ProgressMeter::milliseconds_between = 0;
    const auto polls = [&](std::int64_t memory, int allowed) {
        kith::Options options;
        options.device = "cuda";
        options.path = "exact";
        options.memory = memory;
        options.threads = 2;  // the calling one polls with every piece that it copies
        int count = 0;
        options.progress = [&](const kith::Progress& at) {
            EXPECT_STREQ("prepare", at.stage);
            return ++count <= allowed;
        };
        try {
            const kith::Index index(points, options);
            EXPECT_LT(count, allowed);
        } catch (const kith::Error& error) {
            EXPECT_EQ(kith::ErrorCode::cancelled, error.code()) << error.what();
            EXPECT_EQ(count, allowed + 1);
        }
        return count;
    };
    constexpr int all = 1 << 30;
    for (const bool pinned : {false, true}) {
        SCOPED_TRACE(pinned ? "pinned" : "pageable");
        if (pinned) check(cudaHostRegister(values.data(), values.size(), cudaHostRegisterDefault));
        EXPECT_LE(3, polls(0, all));
        EXPECT_EQ(2, polls(0, 1));
        // Points that stream are copied on the host.
        EXPECT_LE(30, polls(64 << 20, all));
        EXPECT_EQ(2, polls(64 << 20, 1));
        if (pinned) check(cudaHostUnregister(values.data()));
    }
    kith::ProgressMeter::milliseconds_between = 100;
}

// The factor of a large matrix takes seconds.
TEST(GpuCancelScenes, WhileAMatrixIsFactorised) {
    constexpr std::int64_t d = 500, n = 2000;
    const auto values = numbers(n * d, 3);
    std::vector<double> matrix(d * d);
    for (std::int64_t i = 0; i < d; ++i) matrix[static_cast<std::size_t>(i * d + i)] = 1 + static_cast<double>(i % 7);
    kith::ProgressMeter::milliseconds_between = 0;
    const auto polls = [&](const char* path) {
        kith::Options options;
        options.device = "cuda";
        options.path = path;
        options.metric = kith::MetricId::mahalanobis;
        options.metric.inverse_covariance = kith::view(matrix.data(), d, d);
        int count = 0;
        options.progress = [&](const kith::Progress&) { return ++count > 0; };
        const kith::Index index(kith::view(values.data(), n, d), options);
        return count;
    };
    const int without = polls("exact"), with = polls("gemm-f16");
    EXPECT_LE(without + d / 64, with);  // a panel of the factor is 64 columns
    kith::ProgressMeter::milliseconds_between = 100;
}

// A chunk on its way to the device may be gigabytes: its copy ends where it is told to stop.
TEST(GpuCancelScenes, WhileAChunkIsCopied) {
    const std::vector<char> chunk(static_cast<std::size_t>(kith::gpu::tuning::upload_staged) * 4, 1);
    const auto bytes = static_cast<std::int64_t>(chunk.size());
    const gpu_arrays::Stream stream;
    const kith::gpu::Buffer<char> to(bytes, stream.get());
    std::atomic<bool> stop = false;
    kith::gpu::copy_to_device(to.get(), {chunk.data(), 1, bytes, bytes}, stream.get(), {&stop});
    stop = true;
    try {
        kith::gpu::copy_to_device(to.get(), {chunk.data(), 1, bytes, bytes}, stream.get(), {&stop});
        ADD_FAILURE() << "not stopped";
    } catch (const kith::Error& error) {
        EXPECT_EQ(kith::ErrorCode::cancelled, error.code()) << error.what();
    }
    check(cudaStreamSynchronize(stream.get()));
}

// The scenes are what their names say.
TEST(GpuCancelScenes, TakeTheirPaths) {
    const auto plan = [](const std::string& name) {
        const Scene s = scene(name);
        return kith::plan({s.n, s.q, s.d, s.k, kith::ElementType::f32, name == "graph" || name == "symmetric"},
                          s.options);
    };
    EXPECT_GT(300, plan("tiles").query_tile);
    EXPECT_GT(20000, plan("chunks").chunk_points);
    EXPECT_GT(20000, plan("scanned_chunks").chunk_points);
    EXPECT_GT(6000, plan("graph").query_tile);
    const Scene matrix = scene("select");
    EXPECT_GT(200, kith::plan_select(matrix.n, matrix.d, matrix.k, kith::ElementType::f32, matrix.options).query_tile);
    EXPECT_EQ(kith::gpu::device_info(0).capability == 90, plan("symmetric").symmetric);
    const Scene uncertain = scene("uncertain");
    Stage stage(uncertain, MemoryKind::pageable, MemoryKind::pageable);
    kith::Report report;
    ASSERT_EQ("", stage.call(uncertain.options, kith::ErrorCode::cancelled, &report));
    EXPECT_LT(0, report.retried);
    EXPECT_LT(0, report.scanned);
}

}  // namespace
