// A unit's search: reads the rows that it needs, and keeps those that the next unit needs too.
#pragma once

#include <functional>
#include <string>

#include "groundtruth/job.h"
#include "kith/shards.h"

namespace kith::cli::groundtruth {

class UnitSearch {
public:
    // `options`: device, threads, memory, path, isa of the searches; the metric is the job's.
    UnitSearch(const Job& job, Options options);

    // Throws bad_file where the rows have changed; what a search throws, with the rows named.
    PartialNeighbors run(const WorkUnit& unit, const std::function<bool(const Progress&)>& progress);

private:
    struct Held {
        std::int64_t piece = -1;
        Matrix rows;
    };
    const Matrix& hold(Held& held, const Rows& rows, std::int64_t piece);

    const Job& job_;
    Options options_;
    Held shard_, block_;
};

// How a job is searched: the job's metric; on a CPU a workspace by the job's memory, unless `options` has one.
Options unit_options(const Job& job, Options options);

}  // namespace kith::cli::groundtruth
