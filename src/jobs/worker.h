// A worker: runs units one after the other until none is left.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jobs/files/claims.h"
#include "jobs/search_unit.h"
#include "jobs/stop.h"
#include "jobs/survey.h"

namespace kith::groundtruth {

class UnitWorker {
public:
    // The job, options and `stop` must outlive it.
    UnitWorker(const Job& job, const RunOptions& options, Stop& stop);

    // Runs units until all are done, or the requested number is reached.
    RunResult all();
    // Runs that unit even if another worker holds it; false if it was already done.
    bool one(const WorkUnit& unit);

private:
    bool ends() const;
    bool is_last() const;  // whether the current unit is the last requested one
    bool run_free_units();
    std::vector<std::int64_t> free_units() const;
    void run_unit(const WorkUnit& unit, Claim* claim);
    Step standing(double pairs, double rate) const;
    void rest();

    const Job& job_;
    const RunOptions& options_;
    Stop& stop_;
    Claims claims_;
    Surveyor surveyor_;
    UnitSearch search_;
    RunResult result_;
    std::int64_t next_;  // the unit after the current one, unless another worker takes it
    double share_ = 0;
    double look_seconds_ = 0;
};

}  // namespace kith::groundtruth
