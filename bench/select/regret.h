// The planner's regret: its time over that of the best forced selector, on a grid of shapes.
#pragma once

#include <string>
#include <vector>

#include "select/report.h"

namespace kith::bench {

// `selectors` empty: those that can win somewhere. Prints; the result holds every time.
Json regret(Runner& runner, std::vector<std::string> selectors, bool quick);

}  // namespace kith::bench
