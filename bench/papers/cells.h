// Tables and figures of whole searches, cell by cell.
#pragma once

#include "papers/study.h"
#include "papers/table.h"

namespace kith::bench::papers {

// True if the study's methods and the options' device are the method's.
bool wanted(const Method& method, const PaperStudy& study, const Options& options);

// Prints, and writes the JSON. True if every method found kith's neighbours. Throws kith::Error, and TimeIsUp.
bool run_cells(const PaperTable& table, const PaperStudy& study, const Options& options);

}  // namespace kith::bench::papers
