// Plans of composed paths, "NAME+SELECTOR" (composed.cpp).
#pragma once

#include <string>

#include "plan/planner.h"

namespace kith::planner {

bool is_composed(const std::string& path);
// Throws as make() does.
Plan composed(const Request& request, const Machine& machine);

}  // namespace kith::planner
