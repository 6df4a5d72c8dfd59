// The full scan (path "exact"): the canonical distance of every pair.
#pragma once

#include "cpu/points/points.h"
#include "cpu/search/results.h"
#include "cpu/simd/isa.h"
#include "exact/report/progress.h"

namespace kith::cpu {

// The neighbours of the `count` queries with these numbers, as cpu::search writes them. Stops early
// when `progress` is cancelled.
void scan(const Points& points, const MatrixView& queries, const std::int64_t* numbers,
          std::int64_t count, bool graph, Isa isa, int threads, ProgressMeter& progress,
          const Results& results);

}  // namespace kith::cpu
