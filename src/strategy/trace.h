// Sums of traces (Report::trace), and what stands in for one that was not recorded.
#pragma once

#include <vector>

#include "kith/types.h"

namespace kith::strategy {

// The attempts of one part of a search to those of all parts: strategies of one name are one entry.
void add(const std::vector<TraceEntry>& part, std::vector<TraceEntry>& all);

// So many queries have been answered again, by a scan, whatever attempt had answered them.
void answer_again(std::int64_t queries, const char* cause, std::vector<TraceEntry>& trace);

// Of a backend that does not record its attempts, the GPU's: its path, and what that has left to
// the full scan.
void infer(Report& report);

}  // namespace kith::strategy
