// `kith-bench papers`: tables and figures of the papers, cell by cell, with files that a later run goes on from.
#pragma once

#include <string>
#include <vector>

#include "deadline.h"
#include "kith/types.h"

namespace kith::bench {

struct PaperStudy {
    std::string table;                 // name; dashes do not count
    bool list = false;                 // only the names
    bool all = false;                  // every one, `json` being a folder
    bool quick = false;                // a smaller grid
    bool resume = false;               // go on from `json`
    std::vector<std::string> methods;  // only these columns; empty: all
    std::string times;                 // a file of another table, whose cells count
    double limit = 180;                // seconds: cells that are expected to take longer are left out
    int repeat = 5;                    // most runs of a cell
    bool mean = false;                 // means of ten runs after ten that warm up, with deviations, not medians
    std::string json;                  // file, written after every cell; "": none
    Deadline deadline = {};
};

// Prints, and writes the JSON. True if every method found kith's neighbours. Throws kith::Error, and TimeIsUp.
bool run(const PaperStudy& study, const Options& options);

}  // namespace kith::bench
