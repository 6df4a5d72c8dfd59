// The search of a unit: reads its rows, keeps those that the next unit shares (points stay
// prepared), and reads the next unit's others ahead.
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

    // `next`: the probable next unit. Its rows are read meanwhile, if the job's memory holds them
    // in addition to this one's. Throws bad_file if the rows have changed; errors of a search name
    // the rows.
    PartialNeighbors run(const WorkUnit& unit, const std::optional<WorkUnit>& next,
                         const std::function<bool(const Progress&)>& progress);
    // True if the shard is in memory, or being read.
    bool has_shard(std::int64_t shard) const { return shards_.has(shard); }
    // Time spent waiting for rows.
    double waited_seconds() const { return shards_.waited_seconds() + blocks_.waited_seconds(); }

private:
    const Job& job_;
    Options options_;
    bool reads_ahead_;
    PieceReader shards_, blocks_;
    std::int64_t prepared_shard_ = -1;
    std::optional<Index> prepared_;  // borrows the rows that shards_ holds
};

// True if the job's memory holds the rows of two units during a search.
bool holds_two(const Job& job);

// Options for a unit's search: the job's metric and, on a CPU, a workspace derived from the job's
// memory unless `options` sets one.
Options unit_options(const Job& job, Options options);

}  // namespace kith::groundtruth
