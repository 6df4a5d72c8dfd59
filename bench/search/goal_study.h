// `kith-bench search --goals`: runs the goals, prints and records what was measured.
#pragma once

#include <string>
#include <vector>

#include "search/goal_runner.h"

namespace kith::bench {

struct GoalStudy {
    bool asked = false;
    std::vector<std::string> only;  // names of sets; empty: all
    GoalInputs inputs;
    std::string json;  // file; "": none
};

// The sets that there are, for a person to read.
std::string goal_names();

// Whether every search that ran was exact, and none failed. Throws kith::Error; device where there is no GPU.
bool run(const GoalStudy& study, const Options& options);

}  // namespace kith::bench
