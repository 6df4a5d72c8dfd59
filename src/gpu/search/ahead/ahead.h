// Strategies that take all queries of a call at once, ahead of its tiles: one file each.
#pragma once

#include "gpu/search/context.h"

namespace kith::gpu {

// Queries [first, first + count) of a request.
struct QueryRange {
    std::int64_t first = 0, count = 0;
};

struct Ahead {
    // True if it takes the queries of the call. If the plan has it, but it does not, the reason is
    // logged.
    bool (*takes)(const SearchContext&);
    // Delivers the neighbours of all queries outside of the returned range, whose rows are void:
    // all queries or none of a graph. Counts what it has answered.
    QueryRange (*answer)(const SearchContext&);
    // The path whose tiles answer the queries left.
    Path (*behind)(const Plan&);
    // Report::path of a search that it took part in; null: that of the tiles.
    const char* reported;
    // For the report, if queries are left: why, and what would help. {}: the path that follows.
    const char *left, *wish;
};

extern const Ahead tree_ahead, host_int8_ahead;
inline constexpr const Ahead* all_ahead[] = {&tree_ahead, &host_int8_ahead};

}  // namespace kith::gpu
