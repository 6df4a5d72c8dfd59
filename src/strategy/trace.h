// Sums of traces (Report::trace).
#pragma once

#include <vector>

#include "kith/types.h"

namespace kith::strategy {

// Adds the attempts of one part of a search to those of all parts: one entry per strategy.
void add(const std::vector<TraceEntry>& part, std::vector<TraceEntry>& all);

// Records that a scan has answered this many queries again. They no longer count as certified by
// the last attempts that had certified them, and are left for `cause` there.
void answer_again(std::int64_t queries, const char* cause, std::vector<TraceEntry>& trace);

}  // namespace kith::strategy
