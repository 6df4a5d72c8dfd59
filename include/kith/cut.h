// How many points and queries are in memory at once, so that their search stays within a memory limit. Public because
// kith::io and the command line, which sees public headers alone, divide their work alike (docs/adr/0007).
#pragma once

#include <cstdint>
#include <string>

#include "kith/export.h"
#include "kith/types.h"

namespace kith {

// The share of the memory for the workspace of a search on the CPU.
inline constexpr double workspace_share = 0.25;
// Memory of the process besides, libraries included.
inline constexpr std::int64_t process_bytes = std::int64_t{40} << 20;

// A search of blocks of queries among shards of points.
struct RowSizes {
    std::int64_t memory = 0;  // bytes of the whole process
    std::int64_t cols = 0, k = 0;
    ElementType points = ElementType::f32, queries = ElementType::f32;  // as in the files
    int shards_held = 1, blocks_held = 1;                               // 2: the next one is read while one is searched
    std::int64_t most_queries = 0;                                      // in a block
    bool fixed_queries = false;                                         // exactly that many, regardless of their size
    std::int64_t process = process_bytes;                               // memory of the process besides
};
struct RowCut {
    std::int64_t queries = 0, points = 0;  // upper limits, at once
    std::int64_t workspace = 0;            // bytes, for Options::memory
};
// Bytes of a process that holds this many points, queries besides them, and results of this many queries, and searches
// on the CPU.
KITH_EXPORT double held_bytes(const RowSizes& sizes, std::int64_t points, std::int64_t queries, std::int64_t results);
// Likewise for a search of all points at once that hands on its results unchanged, with the least workspace at which it
// is fast.
KITH_EXPORT double whole_bytes(const RowSizes& sizes, std::int64_t points, std::int64_t queries, std::int64_t results);
// Bytes of the results of this many queries.
KITH_EXPORT double result_bytes(std::int64_t queries, std::int64_t k);
// Throws out_of_memory if one row of each does not fit; `who` needs them ("a worker").
KITH_EXPORT RowCut cut_by_memory(const RowSizes& sizes, const std::string& who);

// Bytes of an element as read and searched: wide integers are converted.
KITH_EXPORT double element_bytes(ElementType type);

// "512 B", "10.9 MiB", "1.50 GiB".
KITH_EXPORT std::string bytes_text(double bytes);

}  // namespace kith
