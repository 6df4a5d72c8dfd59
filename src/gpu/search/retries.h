// Queries that a tile's filter left without a certificate, tried again: each function takes the
// tile's queries, answers some of them into `result`, by their numbers, and returns those that are
// left.
#pragma once

#include <vector>

#include "gpu/search/context.h"

namespace kith::gpu {

// Retries those for which more passed a projection than there is room for: by all coordinates, as
// if there were none, since their thresholds follow from few of the points. Returns what is left of
// all; all of them where memory lacks.
Uncertain retry_unprojected(const SearchContext& context, const Chunk& chunk,
                            const FilterVectors& own, const DeviceRows& queries,
                            const std::int64_t* self, const Uncertain& uncertain,
                            TileResult& result);

// Retries the queries with a certain threshold: the filter once more, with the largest lists.
std::vector<std::int64_t> retry(const SearchContext& context, const Chunk& chunk,
                                const FilterVectors& own, const DeviceRows& queries,
                                const std::int64_t* self, const Uncertain& uncertain,
                                TileResult& result);

// Retries queries whose neighbours the chunk's filter cannot tell apart: without the rows that are
// equal to more others than can be neighbours, then with finer filters. `first`: the first of the
// queries.
std::vector<std::int64_t> retry_finer(const SearchContext& context, const Chunk& chunk,
                                      const FilterVectors& own, const DeviceRows& queries,
                                      std::int64_t first, const std::int64_t* self,
                                      std::vector<std::int64_t> which, TileResult& result);

// Whether a filter finer than a tile's own (`own`) is there, is worth its preparation for so many
// queries, and has room.
bool finer_pays(const SearchContext& context, const Chunk& chunk, const FilterVectors& own,
                FilterKind kind, std::int64_t queries);

// The full scan for queries without a certificate: the canonical distance of every pair. None are
// left.
void full_scan(const SearchContext& context, const Chunk& chunk, const DeviceRows& queries,
               const std::int64_t* self, const std::vector<std::int64_t>& which,
               TileResult& result);

}  // namespace kith::gpu
