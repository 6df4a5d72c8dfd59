// Ground-truth jobs by the library's calls: units in any order and from any call merge into the bits of one search.
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "exact/report/progress.h"
#include "jobs/files/checksum.h"
#include "jobs/files/fields.h"
#include "jobs/files/manifest.h"
#include "jobs/files/unit_file.h"
#include "jobs/search_unit.h"
#include "kith/error.h"
#include "kith/groundtruth.h"
#include "kith/io.h"
#include "kith/kith.h"

using namespace kith;
using groundtruth::RowPiece, groundtruth::WorkUnit;

namespace {

constexpr std::int64_t n = 300, q = 40, d = 5, k = 7;

std::vector<float> small_integers(std::int64_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<float> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(random() % 5));
    return values;
}

class GroundTruth : public testing::Test {
protected:
    void SetUp() override {
        folder_ = testing::TempDir() + "kith-jobs-" + std::to_string(getpid());
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
        write("base.fvecs", points_, n);
        write("queries.fvecs", queries_, q);
        options_.base = {folder_ + "/base.fvecs"};
        options_.queries = folder_ + "/queries.fvecs";
        options_.k = k;
        options_.shard_rows = 100;
        options_.query_rows = 15;
        job_ = folder_ + "/job";
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    void write(const std::string& name, const std::vector<float>& values, std::int64_t rows) const {
        MatrixWriter writer(folder_ + "/" + name, {"", rows, d, ElementType::f32}, true);
        writer.append(values.data(), rows);
        writer.commit();
    }
    Neighbors expected() const { return search(view(points_.data(), n, d), view(queries_.data(), q, d), k); }

    std::vector<float> points_ = small_integers(n * d, 1), queries_ = small_integers(q * d, 2);
    std::string folder_, job_;
    groundtruth::InitOptions options_;
};

ErrorCode code_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.code();
    }
    ADD_FAILURE() << "expected an error";
    return ErrorCode::device;
}

TEST_F(GroundTruth, IsOneSearch) {
    const groundtruth::JobInfo job = groundtruth::init(job_, options_);
    EXPECT_EQ(job.units(), 9);
    EXPECT_EQ(groundtruth::info(job_).id, job.id);
    EXPECT_EQ(groundtruth::files_of(job).size(), 3 + 9U);
    // Some by a scheduler, from the last on, some by a worker.
    for (std::int64_t unit = 8; unit > 5; --unit) EXPECT_TRUE(groundtruth::run_unit(job_, job.unit(unit)));
    EXPECT_FALSE(groundtruth::run_unit(job_, job.unit(8)));
    EXPECT_EQ(groundtruth::status(job_).units_done, 3);
    EXPECT_EQ(code_of([&] { groundtruth::merge(job_); }), ErrorCode::bad_file);
    std::vector<std::string> done;
    groundtruth::RunOptions run;
    run.on_unit = [&](const groundtruth::UnitDone& unit) { done.push_back(name(unit.unit)); };
    const groundtruth::RunResult result = groundtruth::run(job_, run);
    EXPECT_TRUE(result.status.is_complete());
    EXPECT_EQ(result.units, 6);
    EXPECT_EQ(done.size(), 6U);
    const Neighbors found = groundtruth::merge(job_), one = expected();
    EXPECT_EQ(found.ids, one.ids);
    EXPECT_EQ(found.distances, one.distances);
    const groundtruth::Verification verified = groundtruth::verify(job_, {.sample = 11});
    EXPECT_TRUE(verified.is_exact() && verified.is_complete());
    EXPECT_EQ(verified.computed, 11);
}

// Units of one shard that follow each other prepare it once.
TEST_F(GroundTruth, PreparesAShardOnce) {
    options_.query_rows = 20;
    groundtruth::init(job_, options_);
    const groundtruth::Job job = groundtruth::read_job(job_);
    groundtruth::Stop stop({});
    Options options;
    options.device = "cpu";
    options.path = "gemm-f32";  // the full scan prepares nothing
    groundtruth::UnitSearch search(job, options, stop);
    ProgressMeter::milliseconds_between = 0;
    std::vector<int> prepared;
    for (const std::int64_t number : {0, 1, 2, 3}) {
        const WorkUnit unit = job.unit(number);
        prepared.push_back(0);
        const PartialNeighbors found = search.run(unit, std::nullopt, [&](const Progress& progress) {
            prepared.back() += std::string_view(progress.stage) == "prepare";
            return true;
        });
        const RowPiece& shard = job.shard(unit);
        const PartialNeighbors alone = search_shard(view(points_.data() + shard.first * d, shard.rows, d), shard.first,
                                                    view(queries_.data() + job.block(unit).first * d, 20, d), k);
        EXPECT_EQ(found.ids, alone.ids);
        EXPECT_EQ(found.keys, alone.keys);
    }
    ProgressMeter::milliseconds_between = 100;
    EXPECT_GT(prepared[0], 0);
    EXPECT_EQ(prepared[1], 0);
    EXPECT_GT(prepared[2], 0);
    EXPECT_EQ(prepared[3], 0);
}

// Files within the job's folder go where it goes; others stay where they are.
TEST_F(GroundTruth, FolderCanBeMoved) {
    std::filesystem::create_directories(job_ + "/rows");
    std::filesystem::rename(folder_ + "/base.fvecs", job_ + "/rows/base.fvecs");
    options_.base = {job_ + "/./rows/base.fvecs"};
    groundtruth::init(job_, options_);
    groundtruth::run_unit(job_, {0, 0});
    const std::string moved = folder_ + "/elsewhere";
    std::filesystem::rename(job_, moved);
    EXPECT_EQ(groundtruth::files_of(groundtruth::info(moved))[0], moved + "/rows/base.fvecs");
    EXPECT_EQ(groundtruth::files_of(groundtruth::info(moved))[1], options_.queries);
    groundtruth::run(moved);
    EXPECT_EQ(groundtruth::merge(moved).ids, expected().ids);
    EXPECT_TRUE(groundtruth::verify(moved, {.sample = 5}).is_exact());
}

TEST_F(GroundTruth, EstimatesFromAllPoints) {
    options_.metric = MetricId::mahalanobis;
    const groundtruth::JobInfo job = groundtruth::init(job_, options_);
    EXPECT_TRUE(job.estimated);
    EXPECT_EQ(*job.numbers, inverse_covariance(view(points_.data(), n, d)));
    groundtruth::run(job_);
    Options options;
    options.metric = MetricId::mahalanobis;
    const Neighbors one = search(view(points_.data(), n, d), view(queries_.data(), q, d), k, options);
    EXPECT_EQ(groundtruth::merge(job_).ids, one.ids);
}

TEST_F(GroundTruth, IsCancelled) {
    options_.on_step = [](const groundtruth::Step&) { return false; };
    EXPECT_EQ(code_of([&] { groundtruth::init(job_, options_); }), ErrorCode::cancelled);
    EXPECT_FALSE(std::filesystem::exists(job_ + "/manifest.json"));
    options_.on_step = {};
    groundtruth::init(job_, options_);
    groundtruth::RunOptions run;
    run.on_step = [](const groundtruth::Step&) { return false; };
    EXPECT_EQ(code_of([&] { groundtruth::run(job_, run); }), ErrorCode::cancelled);
    EXPECT_TRUE(std::filesystem::is_empty(job_ + "/claims"));
    run.on_step = {};
    groundtruth::run(job_, run);
    EXPECT_EQ(groundtruth::merge(job_).ids, expected().ids);
}

TEST_F(GroundTruth, Refuses) {
    EXPECT_EQ(code_of([&] { groundtruth::info(job_); }), ErrorCode::bad_file);
    const auto refused = [&](auto change) {
        groundtruth::InitOptions options = options_;
        change(options);
        return code_of([&] { groundtruth::init(job_, options); });
    };
    EXPECT_EQ(refused([](auto& o) { o.k = 0; }), ErrorCode::invalid_argument);
    EXPECT_EQ(refused([](auto& o) { o.base.clear(); }), ErrorCode::invalid_argument);
    EXPECT_EQ(refused([](auto& o) { o.graph = true; }), ErrorCode::invalid_argument);
    EXPECT_EQ(refused([](auto& o) { o.queries.clear(); }), ErrorCode::invalid_argument);
    EXPECT_EQ(refused([](auto& o) { o.shard_rows = -1; }), ErrorCode::invalid_argument);
    EXPECT_EQ(refused([](auto& o) { o.memory = 1 << 20; }), ErrorCode::out_of_memory);
    EXPECT_EQ(refused([](auto& o) { o.queries += "x.npy"; }), ErrorCode::bad_file);
    groundtruth::init(job_, options_);
    EXPECT_EQ(code_of([&] { groundtruth::init(job_, options_); }), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of([&] { groundtruth::run_unit(job_, {3, 0}); }), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of([&] { groundtruth::run(job_, {.lease = 0}); }), ErrorCode::invalid_argument);
    // A file that changes.
    points_[2 * d] += 1;
    write("base.fvecs", points_, n);
    EXPECT_EQ(code_of([&] { groundtruth::run(job_); }), ErrorCode::bad_file);
}

// ---------------------------------------------------------------- files of others

// The parts of a job as parse_manifest() takes them, with a checksum.
class JobOfOthers : public GroundTruth {
protected:
    void SetUp() override {
        GroundTruth::SetUp();
        groundtruth::init(job_, options_);
        std::ifstream file(job_ + "/manifest.json");
        manifest_ = groundtruth::Json::parse(file);
    }
    // Whether the manifest with that at `path` is taken.
    bool takes(const char* path, const groundtruth::Json& value) const {
        groundtruth::Json json = manifest_;
        json[groundtruth::Json::json_pointer(path)] = value;
        json.erase("checksum");
        groundtruth::Checksum sum;
        const std::string text = json.dump();
        sum.add(text.data(), text.size());
        json["checksum"] = sum.value();
        try {
            groundtruth::parse_manifest(json.dump(), job_, "manifest");
            return true;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::bad_file);
            EXPECT_TRUE(std::string(error.what()).starts_with("manifest: damaged")) << error.what();
            return false;
        }
    }

    groundtruth::Json manifest_;
};

TEST_F(JobOfOthers, ManifestHoldsTogether) {
    using groundtruth::Json;
    EXPECT_TRUE(takes("/k", 8));
    EXPECT_FALSE(takes("/k", std::uint64_t{1} << 63));
    EXPECT_FALSE(takes("/k", INT64_MAX / 16));
    EXPECT_FALSE(takes("/k", 1.5));
    EXPECT_FALSE(takes("/base/pieces", Json::array()));
    EXPECT_FALSE(takes("/base/files", Json::array()));
    EXPECT_FALSE(takes("/base/pieces/0/file", 1));
    EXPECT_FALSE(takes("/base/pieces/1/file", std::int64_t{1} << 31));
    EXPECT_FALSE(takes("/base/pieces/0/file_row", 1));
    EXPECT_FALSE(takes("/base/pieces/0/first", std::int64_t{1} << 31));
    EXPECT_FALSE(takes("/base/pieces/2/rows", 101));  // of 300 in all
    EXPECT_FALSE(takes("/base/pieces/2/rows", 99));
    EXPECT_FALSE(takes("/base/rows", 301));
    EXPECT_FALSE(takes("/base/files/0/rows", 299));
    EXPECT_FALSE(takes("/base/cols", INT64_MAX / 8));
    EXPECT_FALSE(takes("/queries/cols", d + 1));
    EXPECT_FALSE(takes("/base/files/0/path", "../base.fvecs"));
    EXPECT_FALSE(takes("/base/files/0/path", "/dev/stdin:0:300"));
    EXPECT_FALSE(takes("/command", "graph"));  // of other files than the base
    EXPECT_FALSE(takes("/job", "0123456789abcde/"));
    EXPECT_FALSE(takes("/metric/name", "seuclidean"));  // without its variances
    EXPECT_FALSE(takes("/metric/p", "two"));
}

TEST(Fields, ParsesWithinBounds) {
    const auto parses = [](const std::string& text) {
        try {
            groundtruth::parse_json(text, "it", 8);
            return true;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::bad_file);
            return false;
        }
    };
    EXPECT_TRUE(parses(R"({"a": {"b": 1}, "b": 2})"));
    EXPECT_FALSE(parses(R"({"a": {"b": 1, "b": 1}})"));
    EXPECT_TRUE(parses("[1, 2, 3, 4, 5, 6, 7]"));
    EXPECT_FALSE(parses("[1, 2, 3, 4, 5, 6, 7, 8]"));
    EXPECT_TRUE(parses("[[[[[[[]]]]]]]"));
    const auto deep = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
    EXPECT_NO_THROW(groundtruth::parse_json(deep(8), "it", 100));
    EXPECT_EQ(code_of([&] { groundtruth::parse_json(deep(10), "it", 100); }), ErrorCode::bad_file);
    for (const char* text : {"", "{", "\xff", "\"\xc3\"", "1e999", "nan"}) EXPECT_FALSE(parses(text)) << text;
}

TEST_F(JobOfOthers, UnitIsAResultOfItsShard) {
    const groundtruth::Job job = groundtruth::read_job(job_);
    const WorkUnit unit{1, 2};
    const std::int64_t first = job.shard(unit).first, last = first + job.shard(unit).rows - 1;
    constexpr double none = std::numeric_limits<double>::infinity();
    PartialNeighbors whole{job.block(unit).rows, k, d, {}, {}};
    for (std::int64_t row = 0; row < whole.queries; ++row) {
        whole.ids.insert(whole.ids.end(), {first, first + 1, last, first + 2, first + 3, -1, -1});
        whole.keys.insert(whole.keys.end(), {0, 1, 1, 2, none, none, none});
    }
    const auto reads = [&](const PartialNeighbors& found) {
        groundtruth::write_unit(job, unit, found);
        try {
            return groundtruth::read_unit(job, unit).has_value();
        } catch (const groundtruth::DamagedUnit&) {
            return false;
        }
    };
    EXPECT_TRUE(reads(whole));
    const auto reads_with = [&](std::size_t at, std::int64_t id, double key) {
        PartialNeighbors found = whole;
        found.ids[at] = id;
        found.keys[at] = key;
        return reads(found);
    };
    EXPECT_TRUE(reads_with(0, first + 9, 0.5));
    EXPECT_FALSE(reads_with(0, first - 1, 0));
    EXPECT_FALSE(reads_with(2, last + 1, 1));
    EXPECT_FALSE(reads_with(2, first, 1));      // equal keys, a smaller id
    EXPECT_FALSE(reads_with(2, first + 1, 1));  // twice
    EXPECT_FALSE(reads_with(3, first + 2, 0.5));
    EXPECT_FALSE(reads_with(3, first + 2, std::nan("")));
    EXPECT_FALSE(reads_with(5, -1, 3));
    EXPECT_FALSE(reads_with(5, -2, none));
    EXPECT_FALSE(reads_with(6, last, none));  // behind one that is missing
}

TEST_F(JobOfOthers, UnitOfAGraphListsNoRowItself) {
    options_.queries = "";
    options_.graph = true;
    const std::string graph = folder_ + "/graph";
    groundtruth::init(graph, options_);
    EXPECT_TRUE(groundtruth::run(graph).status.is_complete());
    const groundtruth::Job job = groundtruth::read_job(graph);
    const WorkUnit unit{0, 1};
    PartialNeighbors found = groundtruth::read_unit(job, unit).value();
    const std::int64_t own = job.block(unit).first + 2;
    ASSERT_LT(own, job.shard(unit).rows);
    found.ids[2 * k] = own;
    found.keys[2 * k] = -1;
    groundtruth::write_unit(job, unit, found);
    try {
        groundtruth::read_unit(job, unit);
        ADD_FAILURE();
    } catch (const groundtruth::DamagedUnit& error) {
        EXPECT_NE(std::string::npos, std::string(error.what()).find("row 2 lists itself")) << error.what();
    }
}

TEST_F(JobOfOthers, UnitReplacesALink) {
    const std::string own = folder_ + "/own";
    std::ofstream(own) << "of somebody else";
    const WorkUnit unit{0, 0};
    std::filesystem::create_symlink(own, job_ + "/units/" + name(unit));
    groundtruth::run(job_);
    std::string text;
    std::getline(std::ifstream(own), text);
    EXPECT_EQ(text, "of somebody else");
    EXPECT_EQ(groundtruth::merge(job_).ids, expected().ids);
}

TEST_F(JobOfOthers, NoRegularFileIsNoClaim) {
    const std::string claim = job_ + "/claims/" + name(WorkUnit{0, 0});
    ASSERT_EQ(mkfifo(claim.c_str(), 0600), 0);
    EXPECT_TRUE(groundtruth::status(job_).workers.at(0).stale);
    groundtruth::RunOptions options;
    options.wait = false;
    EXPECT_TRUE(groundtruth::run(job_, options).status.is_complete());
    std::filesystem::create_symlink("/nonexistent", claim);
    std::filesystem::remove(job_ + "/units/" + name(WorkUnit{0, 0}));
    EXPECT_TRUE(groundtruth::run(job_, options).status.is_complete());
}

TEST_F(JobOfOthers, StrictJobsReadTheirFolder) {
    const groundtruth::RunOptions strict{.strict = true};
    EXPECT_EQ(groundtruth::files_outside(groundtruth::info(job_)),
              (std::vector<std::string>{options_.base[0], options_.queries}));
    // Nothing is known to lie in a folder whose place is not.
    groundtruth::JobInfo lost = groundtruth::info(job_);
    lost.folder = std::string(5000, 'x');
    EXPECT_EQ(groundtruth::files_outside(lost).size(), 2U);
    EXPECT_EQ(code_of([&] { groundtruth::run(job_, strict); }), ErrorCode::bad_file);
    EXPECT_EQ(code_of([&] { groundtruth::run_unit(job_, {0, 0}, strict); }), ErrorCode::bad_file);
    EXPECT_EQ(code_of([&] { groundtruth::verify(job_, {.strict = true}); }), ErrorCode::bad_file);
    const std::string inside = folder_ + "/inside";
    std::filesystem::create_directories(inside);
    std::filesystem::copy_file(options_.base[0], inside + "/base.fvecs");
    groundtruth::InitOptions graph = options_;
    graph.base = {inside + "/base.fvecs:0:200"};
    graph.queries = "";
    graph.graph = true;
    groundtruth::init(inside, graph);
    EXPECT_TRUE(groundtruth::run(inside, strict).status.is_complete());
    EXPECT_TRUE(groundtruth::verify(inside, {.sample = 3, .strict = true}).is_exact());
    std::filesystem::remove(inside + "/base.fvecs");
    std::filesystem::create_symlink(options_.base[0], inside + "/base.fvecs");
    EXPECT_EQ(code_of([&] { groundtruth::run(inside, strict); }), ErrorCode::bad_file);
}

}  // namespace
