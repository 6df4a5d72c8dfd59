// Ground truth in units: a search or a graph of files, cut into units that any number of processes do, on any machines
// that see the job's folder, interrupted and continued at any time. Merged, the units are the answer of one search, bit
// for bit (docs/scale.md). Of kith::io.
//
//     kith::groundtruth::init("job", {.base = {"base.fbin"}, .queries = "queries.fbin", .k = 100});
//     kith::groundtruth::run("job");  // here and elsewhere, any number of times
//     kith::Neighbors nn = kith::groundtruth::merge("job");
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kith/export.h"
#include "kith/shards.h"
#include "kith/types.h"

namespace kith::groundtruth {

// Where a call stands. `stage` says what `done` and `total` count: "reading" (bytes), "units" (pairs, of all workers),
// "reading units" and "merging" (blocks of queries), "computing again" (shards). Before the first of them it is "".
struct Step : Progress {
    double rate = 0;  // of "units": pairs a second of all workers; 0 while unknown
    std::int64_t units_done = 0;
    std::int64_t units = 0;
};
// Called from the calling thread, some times a second; false ends the call, which then throws Error{cancelled}. What
// was done by then stays done.
using OnStep = std::function<bool(const Step&)>;

// A unit is a shard of the points and a block of the queries; its result is a function of the manifest and those rows.
struct WorkUnit {
    std::int64_t shard = 0;
    std::int64_t block = 0;
    bool operator==(const WorkUnit&) const = default;
};
// The name of its files: "s00012-q00003".
KITH_EXPORT std::string name(const WorkUnit& unit);

// Rows of files, one file after the other.
struct RowFiles {
    std::vector<std::string> paths;  // absolute
    std::int64_t rows = 0;           // of all
    ElementType type = ElementType::f32;
};

// What the manifest says of a job.
struct JobInfo {
    std::string folder;
    std::string id;       // 16 digits, drawn when the job was made
    std::string version;  // of the kith that made it
    bool graph = false;   // of the base, which the queries then are as well
    std::int64_t k = 0;
    std::int64_t dimensions = 0;
    std::int64_t memory = 0;  // bytes that a worker may take
    Metric metric;            // complete: its matrix or variances are `numbers`
    std::shared_ptr<const std::vector<double>> numbers;
    bool estimated = false;  // the numbers are not given, but those of all points
    RowFiles base;
    RowFiles queries;
    std::int64_t shards = 0;
    std::int64_t blocks = 0;
    std::int64_t units() const { return shards * blocks; }
    WorkUnit unit(std::int64_t number) const { return {number / blocks, number % blocks}; }  // shard by shard
};
// Throws bad_file where the folder has no manifest, or a damaged one.
KITH_EXPORT JobInfo info(const std::string& folder);
// The files of points and queries that lie outside the folder of the job, links followed. A manifest names a file in
// its folder by the path from there, and any other by its absolute path, as init() was given it: in a job that others
// made, these are files that they chose. `strict` below refuses a job that has any.
KITH_EXPORT std::vector<std::string> files_outside(const JobInfo& job);
// Every file that a job reads, which no result may replace.
KITH_EXPORT std::vector<std::string> files_of(const JobInfo& job);

struct InitOptions {
    // ---- what changes the answer
    std::vector<std::string> base;  // files of points, one a row, as MatrixReader takes them; ids count through them
    std::string queries;            // "" with `graph`
    bool graph = false;             // each point's neighbours among the other points
    std::int64_t k = 0;
    Metric metric{};     // the matrix of mahalanobis and the variances of seuclidean are estimated from all points
                         // where they are not given
    std::string format;  // of the files, where their names do not say
    // ---- what does not
    std::int64_t memory = std::int64_t{4} << 30;  // bytes that a worker may take: shards and blocks are cut by it
    std::int64_t shard_rows = 0;                  // points of a shard at most, whatever memory that takes; 0: by memory
    std::int64_t query_rows = 0;                  // queries of a block at most; 0: by memory
    OnStep on_step{};
};
// Makes a job of the files, which must stay as they are: reads them once, for their checksums, and writes the manifest
// into the folder, which is made where it is not there. Throws invalid_argument where it has one or an option is wrong,
// bad_file, out_of_memory where not one row fits into `memory`.
KITH_EXPORT JobInfo init(const std::string& folder, const InitOptions& options);

// A worker that is at a unit, or that was when it was last heard of.
struct Worker {
    WorkUnit unit;
    std::string host;  // "": unknown
    std::int64_t pid = 0;
    double share = 0;           // of the unit, that is done
    double pairs = 0;           // of its whole run so far
    double seconds = 0;         // that those took
    double silent_seconds = 0;  // since it was last heard of
    bool stale = false;         // taken for dead: another worker takes the unit over
};

struct Status {
    std::vector<bool> done;  // by the unit's number
    std::int64_t units_done = 0;
    double pairs = 0;             // of the job
    double pairs_done = 0;        // those of units that are under way included
    double rate = 0;              // pairs a second, of all workers that are not stale; 0: unknown
    std::vector<Worker> workers;  // stale ones last
    bool is_complete() const { return units_done == static_cast<std::int64_t>(done.size()); }
    std::optional<double> seconds_left() const {  // none while no rate is known
        if (is_complete()) return 0.0;
        if (!(rate > 0)) return std::nullopt;
        return pairs > pairs_done ? (pairs - pairs_done) / rate : 0.0;
    }
};
KITH_EXPORT Status status(const std::string& folder);

// A unit that run() has done.
struct UnitDone {
    WorkUnit unit;
    double pairs = 0;
    double seconds = 0;
};

struct RunOptions {
    Options search{};        // device, threads, memory, path, isa of the searches; the metric is the job's
    std::int64_t units = 0;  // end after so many; 0: when all are done
    bool wait = true;        // for units that others are at, in case they die
    double lease = 60;       // seconds after which others take this worker for dead, 0.5 to 86,400
    bool strict = false;     // bad_file where the job reads files outside its folder
    OnStep on_step{};
    std::function<void(const UnitDone&)> on_unit{};
};

struct RunResult {
    Status status;                // of the job, at the end
    std::int64_t units = 0;       // done here
    std::int64_t taken_over = 0;  // of them, from workers that were taken for dead
    std::int64_t repeated = 0;    // done by another worker meanwhile as well
    double pairs = 0;             // of the units done here
    double seconds = 0;           // that those took, reading included
    double waited_seconds = 0;    // for rows
};
// A worker: does units until none is left, beside any number of others. Throws bad_file where an input has changed
// since init, or where the folder cannot be written to; invalid_argument where an option is out of range; cancelled,
// with the unit given back.
KITH_EXPORT RunResult run(const std::string& folder, const RunOptions& options = {});

// Does one unit, for whoever schedules units by other means: anywhere, in any order, any number of times. False where
// it was done already. Reads the rows of its shard and of its block; run() keeps those that the next unit needs too. Of
// the options `search`, `lease`, `strict` and `on_step` are used. Throws as run() does, and invalid_argument for a unit
// that is none.
KITH_EXPORT bool run_unit(const std::string& folder, const WorkUnit& unit, const RunOptions& options = {});

struct VerifyOptions {
    std::int64_t sample = 0;  // queries, evenly spaced, that are computed again by a full scan
    Options search{};         // device, threads, memory, path, isa
    bool strict = false;      // bad_file where the job reads files outside its folder
    OnStep on_step{};
};

struct Verification {
    std::int64_t missing = 0;          // units that are not done
    std::vector<std::string> damaged;  // units that are not whole: what is wrong with them, and what became of them
    std::int64_t computed = 0;         // queries of the sample that were compared
    std::int64_t left_out = 0;         // of the sample, in blocks that are not complete
    std::vector<std::int64_t> wrong;   // queries of the sample whose ids or keys differ in a bit
    bool is_exact() const { return damaged.empty() && wrong.empty(); }
    bool is_complete() const { return missing == 0 && damaged.empty(); }
};
// Reads every unit that is done; one that is damaged is renamed, so that run() does it again. With a sample, reads all
// points too. Throws bad_file where an input has changed or a unit cannot be read.
KITH_EXPORT Verification verify(const std::string& folder, const VerifyOptions& options = {});

struct MergeOptions {
    bool f64 = false;  // distances as f64
    OnStep on_step{};
};
// Hands the neighbours of one block of queries after the other, in order, to `take`. Throws bad_file, once all units
// have been looked at, where some are not done or damaged: blocks before the first such one have been handed over.
KITH_EXPORT void merge(const std::string& folder, const std::function<void(const Neighbors&)>& take,
                       const MergeOptions& options = {});
// The same in one. Throws out_of_memory where the result does not fit.
KITH_EXPORT Neighbors merge(const std::string& folder, const MergeOptions& options = {});

}  // namespace kith::groundtruth
