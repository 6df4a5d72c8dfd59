// How many points and queries are held at once, so that a search of them stays within a given memory. Public because
// kith::io and the command line, which sees public headers alone, cut their work alike (docs/adr/0007).
#pragma once

#include <cstdint>
#include <string>

#include "kith/export.h"
#include "kith/types.h"

namespace kith {

// The share of the memory that is for the workspace of a search on the CPU.
inline constexpr double workspace_share = 0.25;
// What the process takes besides, the libraries included.
inline constexpr std::int64_t process_bytes = std::int64_t{40} << 20;

// A search of blocks of queries among shards of points.
struct RowSizes {
    std::int64_t memory = 0;  // bytes of the whole process
    std::int64_t cols = 0, k = 0;
    ElementType points = ElementType::f32, queries = ElementType::f32;  // as the files have them
    int shards_held = 1, blocks_held = 1;                               // 2: while one is searched, the next is read
    std::int64_t most_queries = 0;                                      // in a block
    bool fixed_queries = false;                                         // so many, whatever they take
    std::int64_t process = process_bytes;                               // what the process takes besides
};
struct RowCut {
    std::int64_t queries = 0, points = 0;  // at most, at once
    std::int64_t workspace = 0;            // bytes, for Options::memory
};
// Bytes of a process that holds so many points, queries beside them, and results of so many, and searches on the CPU.
KITH_EXPORT double held_bytes(const RowSizes& sizes, std::int64_t points, std::int64_t queries, std::int64_t results);
// The same of a search of all points at once, whose results are handed on as they are, with the least workspace that it
// is quick with.
KITH_EXPORT double whole_bytes(const RowSizes& sizes, std::int64_t points, std::int64_t queries, std::int64_t results);
// Bytes of results of so many queries.
KITH_EXPORT double result_bytes(std::int64_t queries, std::int64_t k);
// Throws out_of_memory where not one of each fits; `who` needs them ("a worker").
KITH_EXPORT RowCut cut_by_memory(const RowSizes& sizes, const std::string& who);

// Bytes of an element as it is read and searched: wide integers are converted.
KITH_EXPORT double element_bytes(ElementType type);

// "512 B", "10.9 MiB", "1.50 GiB".
KITH_EXPORT std::string bytes_text(double bytes);

}  // namespace kith
