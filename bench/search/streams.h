// `kith-bench search --table sismanis-fig5` and `--streamed`: points in host memory that pass through a GPU.
#pragma once

#include <string>

#include "deadline.h"
#include "kith/types.h"

namespace kith::bench {

inline constexpr const char* streams_table = "sismanis-fig5";

struct StreamStudy {
    std::string table = {};  // of a paper: streams_table
    bool streamed = false;   // kith's own searches, next to the bus and next to resident points
    bool quick = false;      // an eighth of the points
    int repeat = 7;
    std::string json = {};  // file; "": none
    bool resume = false;    // of the table: go on from `json`
    Deadline deadline = {};

    bool asked() const { return streamed || !table.empty(); }
};

// Prints, and writes the JSON, of one of the two. True if kith's answers, streamed and resident, have the same bits.
// Throws kith::Error; device where there is no GPU.
bool run(const StreamStudy& study, const Options& options);

}  // namespace kith::bench
