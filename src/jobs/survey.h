// Progress of a job: finished units, workers, their rate and the remaining time.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "jobs/files/claims.h"
#include "jobs/job.h"

namespace kith::groundtruth {

// Examines the folder of a job repeatedly: units once found whole are not opened again.
class Surveyor {
public:
    Surveyor(const Job& job, Claims& claims) : job_(job), claims_(claims) {}
    // `tidy`: removes claims of finished units, which killed workers have left.
    Status look(bool tidy);

private:
    const Job& job_;
    Claims& claims_;
    std::unordered_set<std::int64_t> whole_;
};

}  // namespace kith::groundtruth
