// The path "exact": every pair in binary64.
#pragma once

#include "cpu/isa.h"
#include "cpu/points.h"
#include "cpu/results.h"
#include "exact/progress.h"

namespace kith::cpu {

// Neighbours of queries [first, first + count) as in cpu::search, into rows 0 and up of `results`. Stops early when
// `progress` is cancelled.
void scan(const Points& points, const MatrixView& queries, std::int64_t first, std::int64_t count, bool graph, Isa isa,
          int threads, ProgressMeter& progress, const Results& results);

}  // namespace kith::cpu
