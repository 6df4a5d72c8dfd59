// The studies of `kith-bench select`, besides one selection: the papers' tables, the goals, the planner's regret, small
// batches.
#pragma once

#include <string>
#include <vector>

#include "deadline.h"
#include "kith/types.h"

namespace kith::bench {

struct Study {
    std::string table;                                  // name of a paper's table
    bool goals = false, regret = false, small = false;  // at most one of the four
    std::vector<std::string> selectors = {};            // of the last three; empty: their own
    bool quick = false;
    int repeat = 5;
    bool mean = false;       // of tables: means of ten runs after ten that warm up, with their deviations, not medians
    bool rule = false;       // of regret: Hanak's rule is judged, not the planner
    std::string times = {};  // of regret: a file of an earlier run, whose times take the place of new ones
    std::string json = {};   // file, of a table written as cases are measured; "": none
    bool resume = false;     // of a table: go on from `json`
    Deadline deadline = {};  // of a table

    bool asked() const { return goals || regret || small || !table.empty(); }
};

// The tables that there are.
std::string table_names();
std::vector<std::string> tables_of_papers();
// "", or why a table cannot be measured: it needs a GPU, or a build that counts operations.
std::string missing(const std::string& table, const Options& options);

// Prints, and writes the JSON. Throws kith::Error; device where there is no GPU that it needs.
void run(const Study& study, const Options& options);

}  // namespace kith::bench
