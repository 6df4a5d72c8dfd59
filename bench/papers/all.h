// Every figure and table of the papers, one after the other.
#pragma once

#include "papers/study.h"
#include "papers/table.h"

namespace kith::bench::papers {

// For Table I of Kato and Hosino 2009, the most points on one core.
inline constexpr std::int64_t kato_points = 80000, kato_quick_points = 10000;

// Those of whole searches, cell by cell.
std::vector<PaperTable> paper_tables();
// One of `kith-bench search --table` or `select --table`. True if all that is compared has the same bits.
bool run_elsewhere(const std::string& table, const PaperStudy& study, const Options& options);

// A file of study.json, a folder, for each, and then the drawings. Parts that this machine or build lacks are left out,
// and said. True if all others were measured, and found the same neighbours. Throws kith::Error, and TimeIsUp.
bool run_all(const PaperStudy& study, const Options& options);

}  // namespace kith::bench::papers
