// A ground-truth job: the manifest in its folder describes the search and its division into units.
//
//     DIR/manifest.json   written once, by init
//     DIR/metric-ID.npy   the matrix or the variances of the metric, if it has one
//     DIR/claims/         a file per unit that a worker is at (claims.h)
//     DIR/units/          a file per unit that is done (unit_file.h)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jobs/rows.h"
#include "kith/groundtruth.h"
#include "kith/types.h"

namespace kith::groundtruth {

struct Job {
    std::string folder;
    std::string id;       // 16 random hex digits: distinguish files of other jobs
    std::string version;  // of the kith that created it
    bool graph = false;
    std::int64_t k = 0;
    std::int64_t memory = 0;  // bytes for a worker, by which the job was divided
    Metric metric;
    std::vector<double> numbers;  // the parameter that the metric points to
    bool estimated = false;       // the numbers were not given, but estimated from all points
    Rows base;
    Rows queries;  // of a graph, the base again in blocks

    Job() = default;
    Job(Job&&) = default;
    Job& operator=(Job&&) = default;

    std::int64_t shards() const { return static_cast<std::int64_t>(base.pieces.size()); }
    std::int64_t blocks() const { return static_cast<std::int64_t>(queries.pieces.size()); }
    std::int64_t units() const { return shards() * blocks(); }
    const RowPiece& shard(const WorkUnit& unit) const {
        return base.pieces[static_cast<std::size_t>(unit.shard)];
    }
    const RowPiece& block(const WorkUnit& unit) const {
        return queries.pieces[static_cast<std::size_t>(unit.block)];
    }
    // Units are numbered shard by shard.
    WorkUnit unit(std::int64_t number) const { return {number / blocks(), number % blocks()}; }
    std::int64_t number(const WorkUnit& unit) const { return unit.shard * blocks() + unit.block; }
    double pairs(const WorkUnit& unit) const {
        return static_cast<double>(shard(unit).rows) * static_cast<double>(block(unit).rows);
    }
    double pairs() const {
        return static_cast<double>(base.count) * static_cast<double>(queries.count);
    }

    std::string unit_path(const WorkUnit& unit) const { return folder + "/units/" + name(unit); }
    std::string claims() const { return folder + "/claims"; }
};

// Creates the folder and writes the manifest. Throws invalid_argument if it already has one.
void write_job(const Job& job);
// Throws bad_file if the folder has no manifest, or a damaged one; if `strict`, what
// require_inside() throws.
Job read_job(const std::string& folder, bool strict = false);
// Throws bad_file, naming the first, if the job has files outside its folder.
void require_inside(const Job& job);
// The public description of a job.
JobInfo info_of(const Job& job);

}  // namespace kith::groundtruth
