// `kith-bench search --goals` and `--ordinary`: runs the goals, prints and records what was measured.
#pragma once

#include <string>
#include <vector>

#include "search/goal_runner.h"

namespace kith::bench {

struct GoalStudy {
    bool goals = false, ordinary = false;  // one of them
    OrdinaryShape shape;                   // of `ordinary`
    std::vector<std::string> only;         // names of sets; empty: all
    GoalInputs inputs;
    std::string json;  // file; "": none

    bool asked() const { return goals || ordinary; }
};

// The sets that there are, for a person to read.
std::string goal_names(const std::vector<GoalSet>& sets);

// True if every search that ran was exact, and none failed. Throws kith::Error; device where `goals` has no GPU.
bool run(const GoalStudy& study, const Options& options);

}  // namespace kith::bench
