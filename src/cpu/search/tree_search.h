// The path "tree": distance keys of the points of those leaves alone that may hold a neighbour.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/points/points.h"
#include "cpu/search/results.h"
#include "exact/progress.h"

namespace kith::cpu {

// As cpu::search, for a monotone metric (metric::Traits), `tile` queries at a time (0: all). False
// where it would look at too many of the points: a filter serves these queries better, and answers
// them all.
bool tree_search(const Points& points, const MatrixView& queries, bool graph, Isa isa, int threads,
                 std::int64_t tile, ProgressMeter& progress, const Results& results,
                 Report& report);

// Answers the queries of those numbers, whatever it looks at, by the tree of the points, which has
// been made.
void search_tree(const Points& points, const MatrixView& queries,
                 const std::vector<std::int64_t>& numbers, bool graph, Isa isa, int threads,
                 ProgressMeter& progress, const Results& results, Report& report);

}  // namespace kith::cpu
