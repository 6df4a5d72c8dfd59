// Ground-truth jobs by the library's calls: units in any order and from any call merge into the bits of one search.
#include <gtest/gtest.h>

#include <unistd.h>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "exact/progress.h"
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

}  // namespace
