// How far a job is: the units that are done, the workers, their rate and the time that is left.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "jobs/claims.h"
#include "jobs/job.h"

namespace kith::groundtruth {

// Looks at the folder of a job, again and again: what it found whole once, it does not open again.
class Surveyor {
public:
    Surveyor(const Job& job, Claims& claims) : job_(job), claims_(claims) {}
    // `tidy`: removes claims of units that are done, which workers left when they were killed.
    Status look(bool tidy);

private:
    const Job& job_;
    Claims& claims_;
    std::unordered_set<std::int64_t> whole_;
};

}  // namespace kith::groundtruth
