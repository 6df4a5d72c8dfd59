// Outputs: nothing changes before commit(), no output is an input or another output, results are written in blocks.
#include <sys/stat.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <new>
#include <thread>

#include "io_scratch.h"
#include "kith/csr.h"
#include "kith/output.h"

#ifndef KITH_SANITIZED

namespace {
std::atomic<std::size_t> largest_allocation{0};
}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size) {
    std::size_t seen = largest_allocation;
    while (seen < size && !largest_allocation.compare_exchange_weak(seen, size)) {
    }
    if (void* memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

#endif

namespace kith::test {
namespace {

class IoOutputs : public IoTest {
protected:
    FileInfo info_{"", 4, 2, ElementType::f32};

    void write(OutputSet& outputs, const std::string& file) {
        MatrixWriter writer(outputs, file, info_);
        writer.append(pattern(info_).data(), info_.rows);
        writer.commit();
    }
    static std::string refused(const std::function<void()>& act) {
        return message_of(ErrorCode::invalid_argument, act);
    }
};

TEST_F(IoOutputs, AllAtOnce) {
    put("a.npy", "old");
    const std::string in_hdf5 = path("b.hdf5/x"), beside = path("b.hdf5/y");
    {
        OutputSet outputs;
        for (const std::string& file : {path("a.npy"), in_hdf5, beside}) outputs.add("out", file);
        outputs.add_bytes("bytes", path("c"));
        EXPECT_EQ(files(), 4u);  // a.npy and three temporary files
        for (const std::string& file : {path("a.npy"), in_hdf5, beside}) write(outputs, file);
        expect_has(refused([&] { outputs.commit(); }), path("c") + ": expected to be written before commit");
        EXPECT_EQ(get(path("a.npy")), "old");
        EXPECT_FALSE(std::filesystem::exists(path("b.hdf5")));
        FileWriter bytes(outputs, path("c"));
        bytes.write("12345", 5);
        bytes.finish();
        outputs.commit();
    }
    EXPECT_EQ(files(), 3u);
    EXPECT_EQ(get(path("c")), "12345");
    for (const std::string& file : {path("a.npy"), in_hdf5, beside}) EXPECT_EQ(read_matrix(file).bytes, pattern(info_));
}

TEST_F(IoOutputs, NothingWithoutCommit) {
    write_matrix(path("b.hdf5/x"), info_, pattern(info_));
    const std::string before = get(path("b.hdf5"));
    {
        OutputSet outputs(true);
        outputs.add("out", path("b.hdf5/x"));
        outputs.add("out", path("b.hdf5/new"));
        outputs.add_big_ann_truth("truth", path("c.bin"));
        write(outputs, path("b.hdf5/x"));
    }
    EXPECT_EQ(files(), 1u);
    EXPECT_EQ(get(path("b.hdf5")), before);
}

TEST_F(IoOutputs, WhatIsTheSame) {
    write_matrix(path("a.hdf5/x"), info_, pattern(info_));
    put("in.npy", "in");
    std::filesystem::create_symlink("in.npy", path("link.npy"));
    std::filesystem::create_symlink("new.npy", path("to-new.npy"));
    OutputSet outputs(true);
    outputs.reads("--base", path("in.npy:0:3"));
    outputs.reads("--queries", path("a.hdf5/x"));
    outputs.reads("--other", path("absent.npy"));
    for (const char* name : {"in.npy", "./in.npy", "link.npy"}) {
        expect_has(refused([&] { outputs.add("--ids", path(name)); }), "is what --base reads");
    }
    expect_has(refused([&] { outputs.add("--ids", path("a.hdf5//x/")); }), "is what --queries reads");
    expect_has(refused([&] { outputs.add("--ids", path("absent.npy")); }), "is what --other reads");
    outputs.add("--ids", path("a.hdf5/y"));
    outputs.add("--distances", path("new.npy"));
    for (const char* name : {"new.npy", "./new.npy", "to-new.npy"}) {
        expect_has(refused([&] { outputs.add("--out", path(name)); }), "is what --distances writes");
    }
    expect_has(refused([&] { outputs.add_big_ann_truth("--out", path("a.hdf5")); }), "a.hdf5");
    expect_has(refused([&] { MatrixWriter(outputs, path("other.npy"), info_); }), "added to the outputs");
    expect_has(refused([&] { outputs.add("--out", path("b.hdf5.gz/x")); }), "without .gz");
}

TEST_F(IoOutputs, AddedToHdf5) {
    const std::string file = path("a.hdf5");
    write_matrix(file + "/g/x", info_, pattern(info_));
    expect_has(refused([&] { MatrixWriter(file + "/g/x", info_); }),
               "holds a data set g/x already; only force (--force) replaces it");
    expect_has(refused([&] { MatrixWriter(file + "/g", info_, true); }), "g is something else");
    expect_has(refused([&] { MatrixWriter(file + "/g/x/y", info_, true); }), "g/x is something else");
    const FileInfo wider{"", 3, 5, ElementType::f64};
    write_matrix(file + "/g/x", wider, pattern(wider));
    write_matrix(file + "/h", info_, pattern(info_));
    EXPECT_EQ(read_matrix(file + "/g/x").bytes, pattern(wider));
    EXPECT_EQ(read_matrix(file + "/h").bytes, pattern(info_));
    expect_has(message_of(ErrorCode::bad_file, [&] { MatrixWriter(put("b.hdf5", "no HDF5"), info_, true); }), "HDF5");
    EXPECT_EQ(get(path("b.hdf5")), "no HDF5");

    int asked = 0;
    expect_has(message_of(ErrorCode::cancelled,
                          [&] {
                              OutputSet outputs(false, [&] { return ++asked < 1; });
                              outputs.add("out", file + "/z");
                          }),
               "cancelled");
    EXPECT_EQ(files(), 2u);
}

TEST_F(IoOutputs, MetricOfAFile) {
    Neighbors neighbors;
    neighbors.queries = neighbors.k = 1;
    neighbors.ids = {0};
    const std::string file = path("a.hdf5");
    Metric minkowski = MetricId::minkowski;
    minkowski.p = 3;
    write_ann_benchmarks(file, neighbors, minkowski, {}, {});
    const auto again = [&](const Metric& metric, bool force) {
        write_ann_benchmarks(file, neighbors, metric, {}, {}, force);
    };
    expect_has(refused([&] { again(minkowski, false); }), "a data set neighbors");
    again(MetricId::cosine, true);
    EXPECT_EQ(read_ann_benchmarks_metric(file)->id, MetricId::cosine);
    write_matrix(path("b.hdf5/train"), info_, pattern(info_));
    OutputSet outputs;
    outputs.add_ann_benchmarks("out", path("b.hdf5"), MetricId::euclidean, false, false);
    write_ann_benchmarks(outputs, path("b.hdf5"), neighbors, {}, {});
    outputs.commit();
    EXPECT_EQ(read_matrix(path("b.hdf5/train")).bytes, pattern(info_));
    EXPECT_EQ(read_ann_benchmarks_metric(path("b.hdf5"))->id, MetricId::euclidean);
}

TEST_F(IoOutputs, ChangedMeanwhile) {
    const std::string file = path("a.hdf5");
    write_matrix(file + "/x", info_, pattern(info_));
    OutputSet outputs;
    outputs.add("out", file + "/y");
    write(outputs, file + "/y");
    write_matrix(file + "/z", info_, pattern(info_));
    const std::string message = message_of(ErrorCode::bad_file, [&] { outputs.commit(); });
    expect_has(message, "has been changed by someone else");
    EXPECT_EQ(read_matrix(file + "/z").bytes, pattern(info_));
    EXPECT_EQ(read_matrix(message.substr(message.rfind(' ') + 1) + "/y", "hdf5").bytes, pattern(info_));
}

TEST_F(IoOutputs, ModeIsKept) {
    for (const mode_t mode : {0600U, 0640U}) {
        put("a.npy", "old");
        ASSERT_EQ(::chmod(path("a.npy").c_str(), mode), 0);
        write_matrix(path("a.npy"), info_, pattern(info_));
        struct stat found {};
        ASSERT_EQ(::stat(path("a.npy").c_str(), &found), 0);
        EXPECT_EQ(found.st_mode & 07777, mode);
    }
}

TEST_F(IoOutputs, RemovedByASignalHandler) {
    OutputSet outputs;
    for (int i = 0; i < 5; ++i) outputs.add_bytes("out", path(std::to_string(i)));
    EXPECT_EQ(files(), 5u);
    remove_temporary_files();
    EXPECT_EQ(files(), 0u);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 50; ++i) OutputSet().add_bytes("out", path(std::to_string(t)));
        });
    }
    for (int i = 0; i < 100; ++i) remove_temporary_files();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(files(), 0u);
}

// Of an empty answer, too.
TEST_F(IoOutputs, SparseMatrixOfTheTypeThatWasAskedFor) {
    const std::vector<double> points{0, 1, 2};
    for (const double r : {0.5, 5.0}) {
        for (const bool f64 : {false, true}) {
            Options options;
            options.device = "cpu";
            options.f64 = f64;
            write_csr(path("near.npz"), radius_graph(view(points.data(), 3, 1), r, options), 3);
            const std::string bytes = get(path("near.npz"));
            EXPECT_EQ(f64, bytes.find("'<f8'") != std::string::npos) << r;
            EXPECT_EQ(!f64, bytes.find("'<f4'") != std::string::npos) << r;
            // And read again.
            ASSERT_TRUE(is_csr(path("near.npz")));
            const CsrMatrix read = read_csr(path("near.npz"));
            EXPECT_EQ(3, read.rows);
            EXPECT_EQ(3, read.cols);
            EXPECT_EQ(r < 1 ? std::vector<std::int64_t>({0, 0, 0, 0}) : std::vector<std::int64_t>({0, 2, 4, 6}),
                      read.offsets);
            EXPECT_EQ(r < 1 ? std::vector<double>() : std::vector<double>({1, 2, 1, 1, 2, 1}), read.values);
        }
    }
}

#ifndef KITH_SANITIZED

TEST_F(IoOutputs, ResultsInBlocks) {
    Neighbors neighbors;
    neighbors.queries = 1'000'000;
    neighbors.k = 10;
    neighbors.ids.assign(10'000'000, 7);
    neighbors.distances.assign(10'000'000, 1.0F);
    for (const bool wide_ids : {false, true}) {
        if (wide_ids) neighbors.ids[3] = std::int64_t{1} << 40;
        largest_allocation = 0;
        write_ann_benchmarks(path("a.hdf5"), neighbors, MetricId::euclidean, {}, {}, true);
        if (!wide_ids) write_big_ann_truth(path("a.truth"), neighbors);
        EXPECT_LE(largest_allocation, std::size_t{9} << 20);
    }
    EXPECT_EQ(read_big_ann_truth(path("a.truth")).ids[9'999'999], 7);
}

#endif

}  // namespace
}  // namespace kith::test
