// Why queries were retried or scanned: counted where it is decided, said in words at the end.
#pragma once

#include <array>
#include <cstdint>

#include "kith/types.h"

namespace kith::exact {

// Of one query; of several the largest.
enum class Cause : std::uint8_t {
    none,        // answered at the first try, or by a plan without a filter
    full_list,   // more candidates than a list holds
    not_tried,   // the filter had given up most of the queries before
    directions,  // those of a projection leave too many candidates
    alike,  // more points within the filter's error of the k-th neighbour than refining pays for
    boxes,  // a tree leaves out too few of the points
    ties,   // the same, most of them exactly as near
    equal_rows,    // the same, until rows that repeat others were left out
    out_of_range,  // the bound does not cover the query
    no_filter,     // nor the points
};
inline constexpr int cause_count = static_cast<int>(Cause::no_filter) + 1;
// In a word or two, as traces have it: "full list", "ties", ...
const char* name(Cause cause);

class Fallbacks {
public:
    void add(Cause cause, bool scanned, std::int64_t queries = 1) {
        counts_[static_cast<std::size_t>(cause)][scanned ? 1 : 0] += queries;
    }
    // To Report::fallbacks, what concerns most queries first.
    void describe(Report& report) const;

private:
    std::array<std::array<std::int64_t, 2>, cause_count> counts_{};  // retried, scanned
};

}  // namespace kith::exact
