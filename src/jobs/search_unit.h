// A unit's search: reads the rows that it needs, keeps those that the next unit needs too, prepared
// where they are points, and reads its others ahead.
#pragma once

#include <functional>
#include <optional>

#include "jobs/job.h"
#include "jobs/piece_reader.h"
#include "kith/index.h"
#include "kith/shards.h"

namespace kith::groundtruth {

class UnitSearch {
public:
    // `options`: device, threads, memory, path, isa of the searches; the metric is the job's.
    UnitSearch(const Job& job, Options options, Stop& stop);

    // `next`: the unit that will probably be next, whose rows are read meanwhile, where the job's
    // memory holds them beside this one's. Throws bad_file where the rows have changed; what a
    // search throws, with the rows named.
    PartialNeighbors run(const WorkUnit& unit, const std::optional<WorkUnit>& next,
                         const std::function<bool(const Progress&)>& progress);
    // Whether the shard is in memory, or about to be.
    bool has_shard(std::int64_t shard) const { return shards_.has(shard); }
    double waited_seconds() const {
        return shards_.waited_seconds() + blocks_.waited_seconds();
    }  // for rows

private:
    const Job& job_;
    Options options_;
    bool reads_ahead_;
    PieceReader shards_, blocks_;
    std::int64_t prepared_shard_ = -1;
    std::optional<Index> prepared_;  // reads what shards_ holds
};

// Whether the job's memory holds the rows of two units while one is searched.
bool holds_two(const Job& job);

// How a job is searched: the job's metric; on a CPU a workspace by the job's memory, unless
// `options` has one.
Options unit_options(const Job& job, Options options);

}  // namespace kith::groundtruth
