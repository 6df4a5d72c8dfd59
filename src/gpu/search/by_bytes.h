// The strategy `host-int8`: the points are in host memory, their int8 form is on the device
// (points/listed_vectors.h).
#pragma once

#include "gpu/search/context.h"

namespace kith::gpu {

// Queries [first, first + count) of a request.
struct QueryRange {
    std::int64_t first = 0, count = 0;
};

// True if the points' int8 form exists and serves the search.
bool serves_by_bytes(const SearchContext& context);
// Delivers the neighbours of all queries outside of the returned range. The range goes from the
// first query without a certificate to the last one, or to the end where memory runs out; for a
// graph it has all queries or none. Its rows are void. Progress counts the queries outside of it as
// soon as they are certain, for a graph at the end.
QueryRange search_by_bytes(const SearchContext& context);

}  // namespace kith::gpu
