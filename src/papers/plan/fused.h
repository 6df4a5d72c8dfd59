// Plans of fused paths, "hanak-fused" (fused.cpp).
#pragma once

#include <string>

#include "plan/planner.h"

namespace kith::planner {

bool is_fused(const std::string& path);
// Throws as make() does.
Plan fused(const Request& request, const Machine& machine);

}  // namespace kith::planner
