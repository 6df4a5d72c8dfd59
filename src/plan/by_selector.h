// Plans of searches by a selector that was asked for (Options::selector): all distances of some
// queries at a time, and of each its nearest by that selector. On a GPU a composed path of the
// papers' component, on a CPU path exact.
#pragma once

#include <string>

#include "plan/planner.h"

namespace kith::planner {

// Whether a search is to take another selector than its paths' own, "threshold".
inline bool forces_selector(const std::string& selector) {
    return !selector.empty() && selector != "threshold";
}
// The plan of a search that is. Throws as make() does.
Plan by_selector(const Request& request, const Machine& machine);
// Those of the CPU, for messages: "vector, heap".
std::string cpu_selector_names();

}  // namespace kith::planner
