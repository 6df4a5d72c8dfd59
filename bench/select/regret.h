// The planner's regret: its time over that of the best forced selector, on a grid of shapes.
#pragma once

#include <string>
#include <vector>

#include "select/report.h"

namespace kith::bench {

// The candidates of selectors.def.
std::vector<std::string> candidates();

// `selectors` empty: the candidates of selectors.def. Prints; the result holds every time.
Json regret(Runner& runner, std::vector<std::string> selectors, bool quick);

// The regret of this build's planner on the times of an earlier result; cells without a time of its choice are left out
// and counted. Needs no GPU.
Json regret_of(Json result);

}  // namespace kith::bench
