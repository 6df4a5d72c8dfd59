// Constants shared by the planner and the CPU's filters.
#pragma once

#include <cstdint>

#include "exact/ceil_div.h"

namespace kith::cpu {

// Up to this dimension differences are as fast as products, and bound more tightly.
inline constexpr std::int64_t direct_dimensions = 8;
// Below this dimension bf16 gains less than its looser bound costs.
inline constexpr std::int64_t min_bf16_dimensions = 32;
// The most components of a PCA projection, and the largest dimension that one is fitted in.
inline constexpr std::int64_t max_directions = 127, max_projected_dimensions = 4096;
// Words of a point before its coordinates in a panel: its half norm and its slack or scale.
inline constexpr std::int64_t point_terms = 2;
// Tiles in matrix registers (isa amx): Tiles::rows is register_queries and Tiles::run is
// register_run, in 32-bit words. A query's header has at most as many words.
inline constexpr std::int64_t register_queries = 16, register_run = 16;
inline constexpr std::int64_t in_registers(std::int64_t words) {
    return exact::ceil_div(words, register_run) * register_run;
}
// Queries that are filtered together: against full-dimensional panels, and against projected
// panels, where candidates of several queries share the rows that are read.
inline constexpr std::int64_t max_query_block = 192, coarse_query_block = 1024;
// A query that reads more than this share of the rows behind coarse panels falls back to the
// full-dimensional filter: reading them costs up to twice a full-dimensional pass. For integer rows
// (WholeRows) the share is most_whole_read times as large.
inline constexpr double most_read_share = 1.0 / 6, most_whole_read = 2;

}  // namespace kith::cpu
