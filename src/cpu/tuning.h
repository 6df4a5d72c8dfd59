// Constants of the CPU's searches by which the planner, too, decides or estimates.
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
// A query for which coarse panels rescore more than this share of the rows falls back to the
// full-dimensional filter: reading them costs up to twice a full-dimensional pass. For integer rows
// (WholeRows) the share is most_whole_read times as large.
inline constexpr double most_read_share = 1.0 / 6, most_whole_read = 2;
// Points per panel, of a filter, and per leaf, of a tree.
inline constexpr std::int64_t panel_points = 32, leaf_points = 32;

// Estimated microseconds of a filter on one thread, within a factor of two. Zen 5, AVX-512,
// November 2026: n 1,000 to 100,000, d 16 and 128, q 1 to 100, k 10.
inline double filter_microseconds(double n, double q, double d) {
    constexpr double per_query = 3, per_pair = 0.3e-3, per_value = 0.015e-3;
    return q * (per_query + n * (per_pair + per_value * d));
}
// Below this cost one thread takes about as long as two would.
inline constexpr double least_shared_microseconds = 8;
// Tasks for each thread, where queries are too few for as many blocks and the points are cut into
// ranges: of a filter, and of the full scan.
inline constexpr std::int64_t tasks_of_thread = 2, scan_tasks_of_thread = 4;
// Up to this number of queries a pass over the points' own rows costs less than packing them.
inline constexpr std::int64_t max_row_queries = 16;
// Tiles of queries in a block of a filter of all coordinates.
inline constexpr std::int64_t max_block_tiles = 16;
// The full scan: bytes of converted queries, and of converted points, that a thread works on at a
// time (two of them fit into 1 MiB), and limits of their numbers.
inline constexpr std::int64_t scan_block_bytes = 256 << 10;
inline constexpr std::int64_t max_scan_queries = 64, least_scan_points = 8, max_scan_points = 512;
// Rows that a PCA projection is fitted to: one in sampled_share within these limits, and at most
// sampled_values numbers; int8 panels use the fewest.
inline constexpr std::int64_t sampled_share = 16, least_sample = 1024, most_sample = 4096,
                              sampled_values = 1 << 22;

}  // namespace kith::cpu
