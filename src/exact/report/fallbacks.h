// Why queries were retried or scanned: counted where that is decided, and described at the end.
#pragma once

#include <array>
#include <cstdint>

#include "kith/types.h"

namespace kith::exact {

// The cause for one query; for several queries the largest.
enum class Cause : std::uint8_t {
    none,          // answered at the first try, or by a plan without a filter
    full_list,     // more candidates than a list holds
    not_tried,     // the filter had already given up on most queries
    directions,    // a PCA projection, or int8, leaves too many candidates
    alike,         // too many points within the filter's error of the k-th neighbour to rescore
    boxes,         // a tree prunes too few of the points
    ties,          // like `alike`, most of them exact ties
    equal_rows,    // like `alike`, until duplicate rows were left out
    out_of_range,  // the bound does not cover the query
    no_filter,     // no bound covers the points
};
inline constexpr int cause_count = static_cast<int>(Cause::no_filter) + 1;
// A name of one or two words, for traces: "full list", "ties", ...
const char* name(Cause cause);

class Fallbacks {
public:
    void add(Cause cause, bool scanned, std::int64_t queries = 1) {
        counts_[static_cast<std::size_t>(cause)][scanned ? 1 : 0] += queries;
    }
    // Appends to Report::fallbacks, the causes of most queries first.
    void describe(Report& report) const;

private:
    std::array<std::array<std::int64_t, 2>, cause_count> counts_{};  // retried, scanned
};

}  // namespace kith::exact
