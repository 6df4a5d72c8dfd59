// Papers' tables and figures of whole searches and of distance kernels, by name: `kith-bench search --table NAME` and
// `kith-bench papers NAME`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "deadline.h"
#include "kith/types.h"

namespace kith::bench {

struct TableStudy {
    std::string table;            // a name of search_table_names(), or empty
    bool quick = false;           // fewer cells, or points
    int repeat = 7;               // timed runs
    std::string json;             // file; "": none
    std::int64_t cpu_points = 0;  // kato: the most on one core of the CPU
    bool mean = false;            // where has_mean: means of ten runs after ten, not medians
    bool resume = false;          // but for the radius: go on from `json`
    Deadline deadline = {};       // of what can be resumed

    bool asked() const { return !table.empty(); }
};

// "kato, ...", and whether a name is one of them.
std::string search_table_names();
bool is_search_table(const std::string& name);
bool has_mean(const std::string& name);
// Those of the papers, the others being the project's own.
std::vector<std::string> search_tables_of_papers();

// True if all that is compared has the same bits. Throws kith::Error.
bool run(const TableStudy& study, const Options& options);

}  // namespace kith::bench
