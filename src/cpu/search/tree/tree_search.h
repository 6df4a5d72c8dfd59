// The path "tree": computes distance keys in those leaves only that may hold a neighbour.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/points/points.h"
#include "cpu/search/results.h"
#include "exact/report/progress.h"

namespace kith::cpu {

// As cpu::search, for a monotone metric (metric::Traits), `tile` queries at a time (0: all).
// Returns false if a trial would look at too many of the points: a filter then has to answer all
// queries.
bool tree_search(const Points& points, const MatrixView& queries, bool graph, Isa isa, int threads,
                 std::int64_t tile, ProgressMeter& progress, const Results& results,
                 Report& report);

// Answers the queries with these numbers by the points' tree, however much of it they visit.
void search_tree(const Points& points, const MatrixView& queries,
                 const std::vector<std::int64_t>& numbers, bool graph, Isa isa, int threads,
                 ProgressMeter& progress, const Results& results, Report& report);

}  // namespace kith::cpu
