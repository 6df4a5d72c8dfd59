// Queries that a tile's filter left without a certificate, tried again: each function answers some
// of them into the tile's result, returns the others, and logs what it did.
#pragma once

#include <vector>

#include "gpu/search/context.h"

namespace kith::gpu {

// A tile of queries in a chunk. Below, a query's number is its row among `queries`.
struct RetryTile {
    const SearchContext& context;
    const Chunk& chunk;
    const FilterVectors& own;   // the filter of the plan's path
    const DeviceRows& queries;  // all queries of the tile
    std::int64_t first;         // the number of row 0 in the log
    const std::int64_t* self;   // per query: the id that it leaves out; or null
    TileResult& result;
};

// Retries the queries for which a projection left more candidates than there is room for: by all
// coordinates, as if there were no projection, since their thresholds follow from few of the
// points. Returns what is left of all; all of them where memory is short.
Uncertain retry_unprojected(const RetryTile& tile, const Uncertain& uncertain);

// Retries the queries with a certain threshold: the same filter, with the longest lists.
std::vector<std::int64_t> retry(const RetryTile& tile, const Uncertain& uncertain);

// Retries queries whose neighbours the tile's filter cannot tell apart: without the duplicate rows
// beyond those that can be neighbours, then with finer filters.
std::vector<std::int64_t> retry_finer(const RetryTile& tile, std::vector<std::int64_t> which);

// True if a filter finer than `own` exists, is worth its preparation for this many queries, and has
// room.
bool finer_pays(const SearchContext& context, const Chunk& chunk, const FilterVectors& own,
                FilterKind kind, std::int64_t queries);

// The full scan for queries without a certificate: the canonical distance of every pair. None are
// left.
void full_scan(const RetryTile& tile, const std::vector<std::int64_t>& which);

}  // namespace kith::gpu
