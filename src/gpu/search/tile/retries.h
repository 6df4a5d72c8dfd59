// The later strategies of a search: each answers what it can of the queries that those before have
// left, in the order of later_steps (strategies.h). The last leaves none.
#pragma once

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

// Answers queries by the step, into the tile's result, and waits for it. Returns those that it
// leaves: all of them where the step does not pay, or has no memory.
LeftQueries take(Step step, const RetryTile& tile, LeftQueries left);
// True if the step compares by the filter of the plan's path, so that candidates beyond the
// ordinary ones tell of the points, or of the filter.
constexpr bool is_of_own_filter(Step step) {
    return step == Step::own || step == Step::again || step == Step::without_duplicates;
}

// True if the step's filter, which is finer than `own`, exists, is worth its preparation for this
// number of queries, and has room. step: two_terms or finer_direct.
bool finer_pays(const SearchContext& context, const Chunk& chunk, const FilterVectors& own,
                Step step, std::int64_t queries);
constexpr FilterKind finer_kind(Step step) {
    return step == Step::finer_direct ? FilterKind::direct : FilterKind::two_terms;
}

}  // namespace kith::gpu
