// How far a job is: the units that are done, the workers, their rate and the time that is left.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "groundtruth/claims.h"
#include "groundtruth/job.h"

namespace kith::cli::groundtruth {

struct ClaimedUnit {
    Seen claim;
    std::int64_t unit = 0;
};

struct Survey {
    std::vector<bool> done;  // by the unit's number
    std::int64_t units_done = 0;
    double pairs_done = 0;  // those of units that are under way included
    double pairs = 0;
    std::vector<ClaimedUnit> claimed;  // those that are done left out; stale claims last
    double rate = 0;                   // pairs a second, of all workers whose claims are not stale

    bool is_complete() const { return units_done == static_cast<std::int64_t>(done.size()); }
    std::optional<double> seconds_left() const;  // none while no rate is known
};

// Looks at the folder of a job, again and again: what it found whole once, it does not open again.
class Surveyor {
public:
    Surveyor(const Job& job, Claims& claims) : job_(job), claims_(claims) {}
    // `tidy`: removes claims of units that are done, which workers left when they were killed.
    Survey look(bool tidy);

private:
    const Job& job_;
    Claims& claims_;
    std::unordered_set<std::int64_t> whole_;
};

// "17 of 120 units are done, 3 workers at 1.2 G distances/s, 0:12:30 left"
std::string described(const Survey& survey);

}  // namespace kith::cli::groundtruth
