// Plans of searches with a forced selector (Options::selector): all distances of a tile of queries,
// then the nearest of each by that selector. On a GPU such a plan has a composed path of the
// papers' component, on a CPU path exact.
#pragma once

#include <string>

#include "plan/planner.h"

namespace kith::planner {

// True if a search has to use another selector than "threshold", which its paths have anyway.
inline bool forces_selector(const std::string& selector) {
    return !selector.empty() && selector != "threshold";
}
// The plan of such a search. Throws as make() does.
Plan by_selector(const Request& request, const Machine& machine);
// Names of the CPU's selectors, for messages: "vector, heap".
std::string cpu_selector_names();

}  // namespace kith::planner
