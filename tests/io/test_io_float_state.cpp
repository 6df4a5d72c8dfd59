// Files read and written, converted and merged in every floating-point state: the bytes of the plain one, the caller's
// state as it was, its callbacks in it.
#include <cmath>
#include <functional>
#include <string>

#include "float_states.h"
#include "io_scratch.h"
#include "kith/csr.h"
#include "kith/groundtruth.h"
#include "kith/kith.h"
#include "kith/searchable.h"
#include "kith/shards.h"

namespace kith {

namespace {

constexpr std::int64_t rows = 37, cols = 4;

// Subnormal numbers, and numbers that no short text says exactly.
template <class T>
std::vector<T> numbers(T smallest) {
    std::vector<T> all;
    for (std::int64_t i = 0; i < rows * cols; ++i)
        all.push_back(i % 3 == 0 ? static_cast<T>(i) * smallest : static_cast<T>(1) / static_cast<T>(3 + i));
    return all;
}

class IoFloatState : public test::IoTest {
protected:
    // call(name) returns bytes; `name` is another path each time.
    void expect_the_same(const std::function<std::string(const std::string&)>& call) {
        float_states::set_default();
        const std::string want = call(path("plain"));
        EXPECT_FALSE(want.empty());
        int number = 0;
        for (const float_states::State& state : float_states::all) {
            const std::string file = path("in-state-" + std::to_string(number++));
            EXPECT_TRUE(want == float_states::called_in(state, [&] { return call(file); })) << state.name;
        }
    }

    static std::string bytes_of(const std::string& file) {
        std::ifstream in(file, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    template <class T>
    static std::string bytes_of(const std::vector<T>& values) {
        return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
    }
};

TEST_F(IoFloatState, MatricesOfEveryFormat) {
    const std::vector<double> wide = numbers<double>(0x1p-1074);
    const std::vector<float> narrow = numbers<float>(0x1p-149f);
    for (const char* suffix : {".csv", ".csv.gz", ".npy", ".fvecs", ".fbin", ".hdf5"}) {
        const bool f64 = std::string(suffix).find("vecs") == std::string::npos && suffix != std::string(".fbin");
        SCOPED_TRACE(suffix);
        expect_the_same([&](const std::string& name) {
            const std::string file = name + suffix;
            const FileInfo info{"", rows, cols, f64 ? ElementType::f64 : ElementType::f32};
            MatrixWriter writer(suffix == std::string(".hdf5") ? file + "/a" : file, info);
            writer.append(f64 ? static_cast<const void*>(wide.data()) : narrow.data(), rows);
            writer.commit();
            const Matrix read = read_matrix(file);
            std::string all = bytes_of(read.bytes);
            if (suffix != std::string(".hdf5")) all += bytes_of(file);  // which says when it was made
            return all + bytes_of(searchable(read, file).bytes);
        });
    }
}

TEST_F(IoFloatState, SparseMatricesAndTruths) {
    const std::vector<float> points = numbers<float>(0x1p-149f);
    Options options;
    options.device = "cpu";
    options.metric = metric_named("chebyshev");
    const MatrixView all = view(points.data(), rows, cols);
    const RadiusNeighbors near = radius_graph(all, 0x1p-140, options);
    const Neighbors nearest = graph(all, 3, options);
    expect_the_same([&](const std::string& name) {
        write_csr(name + ".npz", near, rows);
        const CsrMatrix read = read_csr(name + ".npz");
        write_big_ann_truth(name + ".truth", nearest);
        const Neighbors truth = read_big_ann_truth(name + ".truth");
        ShardRows shards(name);
        radius_shard(all, 0, all, 0x1p-140, options, [&](const RadiusRows& found) { shards.append(found); });
        std::string merged;
        shards.hand_on(0, cols, options, 1 << 20, [&](const RadiusRows& found) {
            merged.append(reinterpret_cast<const char*>(found.distances),
                          static_cast<std::size_t>(found.offsets[found.count]) * sizeof(float));
        });
        return bytes_of(read.values) + bytes_of(read.ids) + bytes_of(truth.distances) + bytes_of(truth.ids) + merged;
    });
}

TEST_F(IoFloatState, Jobs) {
    const std::vector<float> points = numbers<float>(0x1p-149f);
    const std::string file = path("points.csv");  // as text
    test::write_matrix(file, {"", rows, cols, ElementType::f32}, [&] {
        const auto* first = reinterpret_cast<const std::byte*>(points.data());
        return std::vector<std::byte>(first, first + points.size() * sizeof(float));
    }());
    for (const char* metric : {"sqeuclidean", "seuclidean"}) {
        SCOPED_TRACE(metric);
        expect_the_same([&](const std::string& name) {
            const std::string job = name + "-" + metric;
            groundtruth::InitOptions init;
            init.base = {file};
            init.graph = true;
            init.k = 4;
            init.metric = metric_named(metric);
            init.shard_rows = 20;
            init.query_rows = 11;
            groundtruth::init(job, init);
            groundtruth::RunOptions run;
            run.search.device = "cpu";
            groundtruth::run(job, run);
            groundtruth::VerifyOptions verify;
            verify.sample = 9;
            verify.search.device = "cpu";
            const groundtruth::Verification found = groundtruth::verify(job, verify);
            const Neighbors merged = groundtruth::merge(job, {.f64 = true});
            return bytes_of(merged.ids) + bytes_of(merged.distances64) + (found.is_exact() ? "exact" : "not");
        });
    }
}

TEST_F(IoFloatState, CallbacksAreCalledInTheCallersState) {
    const std::vector<float> points = numbers<float>(0x1p-149f);
    const std::string file = path("points.csv");
    MatrixWriter writer(file, {"", rows, cols, ElementType::f32});
    writer.append(points.data(), rows);
    writer.commit();
    std::vector<int> seen;
    const auto look = [&] {
        seen.push_back(std::fegetround());
        return true;
    };
    groundtruth::InitOptions init;
    init.base = {file};
    init.graph = true;
    init.k = 4;
    init.on_step = [&](const groundtruth::Step&) { return look(); };
    groundtruth::RunOptions run;
    run.search.device = "cpu";
    run.on_step = init.on_step;
    run.on_unit = [&](const groundtruth::UnitDone&) { look(); };
    const bool called = float_states::called_in(float_states::all[8], [&] {
        read_matrix(file, ReadOptions{"", look});
        groundtruth::init(path("job"), init);
        groundtruth::run(path("job"), run);
        groundtruth::merge(path("job"), [&](const Neighbors&) { look(); }, {.on_step = init.on_step});
        return true;
    });
    EXPECT_TRUE(called);
    EXPECT_GT(seen.size(), 4u);
    EXPECT_EQ(std::vector<int>(seen.size(), FE_UPWARD), seen);
}

}  // namespace
}  // namespace kith
