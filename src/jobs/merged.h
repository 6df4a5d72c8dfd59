// The results of a job, merged block by block from the finished units.
#pragma once

#include <string>
#include <vector>

#include "jobs/job.h"
#include "jobs/stop.h"
#include "kith/shards.h"

namespace kith::groundtruth {

// Reads units and records damaged ones, which are set aside so that a worker does them again.
class Merger {
public:
    Merger(const Job& job, Stop& stop) : job_(job), stop_(stop) {}

    // The block's neighbours among all points; none if a unit is missing or damaged.
    std::optional<PartialNeighbors> block(std::int64_t block);

    // The faults found, and the fate of each file.
    const std::vector<std::string>& damaged() const { return damaged_; }
    std::int64_t missing() const { return missing_; }

private:
    const Job& job_;
    Stop& stop_;
    std::vector<std::string> damaged_;
    std::int64_t missing_ = 0;
};

}  // namespace kith::groundtruth
