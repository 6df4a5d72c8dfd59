// What the planner and the CPU's filters both go by.
#pragma once

#include <cstdint>

#include "exact/ceil_div.h"

namespace kith::cpu {

// Up to so many dimensions differences are as fast as products, and tell more.
inline constexpr std::int64_t direct_dimensions = 8;
// Below so many dimensions bf16 gains less than its looser bound costs.
inline constexpr std::int64_t min_bf16_dimensions = 32;
// The most directions of a projection, and the dimensions that one is looked for in.
inline constexpr std::int64_t max_directions = 127, max_projected_dimensions = 4096;
// What a point has before its words in a panel, in words: its half norm and slack, or a scale.
inline constexpr std::int64_t point_terms = 2;
// Tiles in matrix registers (isa amx) take the queries of a block so many at a time, the words of
// 32 bits of a query or a point likewise, and up to as many before a query's own: what Tiles::rows,
// run and header of them are.
inline constexpr std::int64_t register_queries = 16, register_run = 16;
inline constexpr std::int64_t in_registers(std::int64_t words) {
    return exact::ceil_div(words, register_run) * register_run;
}
// Queries that are filtered together: of panels of all coordinates, and of a projection, where they
// share the rows that they read.
inline constexpr std::int64_t max_query_block = 192, coarse_query_block = 1024;
// A query that has read more than this share of the rows behind coarse panels is left to the filter
// of all coordinates: so many take up to twice what a pass through panels of all coordinates does.
// Of whole rows, so many times as many.
inline constexpr double most_read_share = 1.0 / 6, most_whole_read = 2;

}  // namespace kith::cpu
