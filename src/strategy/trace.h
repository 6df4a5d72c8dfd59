// Sums of traces (Report::trace).
#pragma once

#include <vector>

#include "kith/types.h"

namespace kith::strategy {

// The attempts of one part of a search to those of all parts: strategies of one name are one entry.
void add(const std::vector<TraceEntry>& part, std::vector<TraceEntry>& all);

// So many queries have been answered again, by a scan, whatever attempt had answered them.
void answer_again(std::int64_t queries, const char* cause, std::vector<TraceEntry>& trace);

}  // namespace kith::strategy
