// Ground truth in units: a search or a graph of files, divided into units. Any number of processes run the units, on
// any machines that share the job's folder; they can be interrupted and resumed at any time. The merged units are
// bit-identical to one search (docs/guide/jobs.md). Part of kith::io.
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

// Progress of a call. `stage` names the unit of `done` and `total`: "reading" (bytes), "units" (pairs, of all workers),
// "reading units" and "merging" (blocks of queries), "computing again" (shards). It is "" before the first stage.
struct Step : Progress {
    double rate = 0;  // in stage "units": pairs per second of all workers; 0 while unknown
    std::int64_t units_done = 0;
    std::int64_t units = 0;
};
// Called from the calling thread, some times a second. Returning false ends the call, which then throws
// Error{cancelled}; finished work is kept.
using OnStep = std::function<bool(const Step&)>;

// A unit is a shard of the points and a block of the queries; its result depends only on the manifest and these rows.
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
    std::int64_t rows = 0;           // in total
    ElementType type = ElementType::f32;
};

// The contents of a job's manifest.
struct JobInfo {
    std::string folder;
    std::string id;       // 16 random hex digits, drawn when the job was created
    std::string version;  // of the kith that created it
    bool graph = false;   // of the base, which then also holds the queries
    std::int64_t k = 0;
    std::int64_t dimensions = 0;
    std::int64_t memory = 0;  // bytes that a worker may use
    Metric metric;            // complete: its matrix or variances are `numbers`
    std::shared_ptr<const std::vector<double>> numbers;
    bool estimated = false;  // the numbers were not given, but estimated from all points
    RowFiles base;
    RowFiles queries;
    std::int64_t shards = 0;
    std::int64_t blocks = 0;
    std::int64_t units() const { return shards * blocks; }
    WorkUnit unit(std::int64_t number) const { return {number / blocks, number % blocks}; }  // shard by shard
};
// Throws bad_file if the folder has no manifest, or a damaged one.
KITH_EXPORT JobInfo info(const std::string& folder);
// The files of points and queries outside the job's folder, with links resolved, and the files and folders of the job
// itself that are links to elsewhere. A manifest names a file in its folder by a relative path, and any other by its
// absolute path, as given to init(). In a job of untrusted origin, its author chose these files. `strict` below rejects
// a job that has any.
KITH_EXPORT std::vector<std::string> files_outside(const JobInfo& job);
// Every file that a job reads; results must not replace them.
KITH_EXPORT std::vector<std::string> files_of(const JobInfo& job);

struct InitOptions {
    // ---- options that change the answer
    std::vector<std::string> base;  // files of points, one per row, in MatrixReader's syntax; ids count through them
    std::string queries;            // "" with `graph`
    bool graph = false;             // the neighbours of each point among the other points
    std::int64_t k = 0;
    // The matrix of mahalanobis and the variances of seuclidean are estimated from all points if they are not given.
    Metric metric{};
    std::string format;  // of the files, if their names do not tell
    // ---- options that do not
    std::int64_t memory = std::int64_t{4} << 30;  // bytes that a worker may use; determines shards and blocks
    std::int64_t shard_rows = 0;                  // most points of a shard, regardless of memory; 0: by memory
    std::int64_t query_rows = 0;                  // most queries of a block; 0: by memory
    OnStep on_step{};
};
// Creates a job of the files, which must not change afterwards. Reads them once, for their checksums, and writes the
// manifest into the folder, which is created if needed. Throws invalid_argument if it has a manifest already or an
// option is wrong; bad_file; out_of_memory if not even one row fits in `memory`.
KITH_EXPORT JobInfo init(const std::string& folder, const InitOptions& options);

// A worker that is at a unit, or was when it last reported.
struct Worker {
    WorkUnit unit;
    std::string host;  // "": unknown
    std::int64_t pid = 0;
    double share = 0;           // finished share of the unit
    double pairs = 0;           // of its whole run so far
    double seconds = 0;         // that these pairs took
    double silent_seconds = 0;  // since its last report
    bool stale = false;         // taken for dead: another worker takes over its unit
};

struct Status {
    std::vector<bool> done;  // by the unit's number
    std::int64_t units_done = 0;
    double pairs = 0;             // of the job
    double pairs_done = 0;        // includes units in progress
    double rate = 0;              // pairs per second of all workers that are not stale; 0: unknown
    std::vector<Worker> workers;  // stale ones last
    bool is_complete() const { return units_done == static_cast<std::int64_t>(done.size()); }
    std::optional<double> seconds_left() const {  // none while the rate is unknown
        if (is_complete()) return 0.0;
        if (!(rate > 0)) return std::nullopt;
        return pairs > pairs_done ? (pairs - pairs_done) / rate : 0.0;
    }
};
KITH_EXPORT Status status(const std::string& folder);

// A unit that run() has finished.
struct UnitDone {
    WorkUnit unit;
    double pairs = 0;
    double seconds = 0;
};

struct RunOptions {
    Options search{};        // device, threads, memory, path, isa of the searches; the metric is the job's
    std::int64_t units = 0;  // stop after this many; 0: when all are done
    bool wait = true;        // for units that other workers hold, in case they die
    double lease = 60;       // seconds without a report after which others take this worker for dead, 0.5 to 86,400
    bool strict = false;     // throws bad_file if the job has files_outside()
    OnStep on_step{};
    std::function<void(const UnitDone&)> on_unit{};
};

struct RunResult {
    Status status;                // of the job, at the end
    std::int64_t units = 0;       // done here
    std::int64_t taken_over = 0;  // units done here that were taken over from workers taken for dead
    std::int64_t repeated = 0;    // units that another worker finished meanwhile as well
    double pairs = 0;             // of the units done here
    double seconds = 0;           // that these took, reading included
    double waited_seconds = 0;    // for rows
};
// A worker: runs units until none is left, concurrently with any number of others. Throws bad_file if an input has
// changed since init, or if the folder is not writable; invalid_argument if an option is out of range; cancelled, with
// the unit released.
KITH_EXPORT RunResult run(const std::string& folder, const RunOptions& options = {});

// Runs one unit, for external schedulers: anywhere, in any order, any number of times. Returns false if it was already
// done. Reads the rows of its shard and of its block; run() keeps rows that the next unit shares. Uses the options
// `search`, `lease`, `strict` and `on_step`. Throws what run() throws, and invalid_argument for an invalid unit.
KITH_EXPORT bool run_unit(const std::string& folder, const WorkUnit& unit, const RunOptions& options = {});

struct VerifyOptions {
    std::int64_t sample = 0;  // number of queries, evenly spaced, that are recomputed by a full scan
    Options search{};         // device, threads, memory, path, isa
    bool strict = false;      // throws bad_file if the job has files_outside()
    OnStep on_step{};
};

struct Verification {
    std::int64_t missing = 0;          // units not done
    std::vector<std::string> damaged;  // units that are not whole: the fault, and the fate of the file
    std::int64_t computed = 0;         // sampled queries that were compared
    std::int64_t left_out = 0;         // sampled queries in incomplete blocks
    std::vector<std::int64_t> wrong;   // sampled queries with ids or keys that differ in any bit
    bool is_exact() const { return damaged.empty() && wrong.empty(); }
    bool is_complete() const { return missing == 0 && damaged.empty(); }
};
// Reads every finished unit. A damaged one is renamed, so that run() repeats it. With a sample, also reads all points.
// Throws bad_file if an input has changed or a unit cannot be read.
KITH_EXPORT Verification verify(const std::string& folder, const VerifyOptions& options = {});

struct MergeOptions {
    bool f64 = false;  // distances as f64
    OnStep on_step{};
};
// Passes the neighbours to `take`, one block of queries after the other, in order. Examines all units, then throws
// bad_file if some are missing or damaged; blocks before the first such one have been passed on.
KITH_EXPORT void merge(const std::string& folder, const std::function<void(const Neighbors&)>& take,
                       const MergeOptions& options = {});
// Likewise, all at once. Throws out_of_memory if the result does not fit.
KITH_EXPORT Neighbors merge(const std::string& folder, const MergeOptions& options = {});

}  // namespace kith::groundtruth
