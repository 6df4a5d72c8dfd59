// The results of a job, merged block by block from the units that are done.
#pragma once

#include <string>
#include <vector>

#include "jobs/job.h"
#include "jobs/stop.h"
#include "kith/shards.h"

namespace kith::groundtruth {

// Reads units and remembers those that are damaged, which are set aside so that a worker does them
// again.
class Merger {
public:
    Merger(const Job& job, Stop& stop) : job_(job), stop_(stop) {}

    // The block's neighbours among all points; none where a unit is not there or damaged.
    std::optional<PartialNeighbors> block(std::int64_t block);

    const std::vector<std::string>& damaged() const {
        return damaged_;
    }  // what was wrong, and what became of it
    std::int64_t missing() const { return missing_; }

private:
    const Job& job_;
    Stop& stop_;
    std::vector<std::string> damaged_;
    std::int64_t missing_ = 0;
};

}  // namespace kith::groundtruth
