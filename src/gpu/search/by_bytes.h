// Searches of points of which numbers of 8 bits alone are on the device (points/listed_vectors.h).
#pragma once

#include "gpu/search/context.h"

namespace kith::gpu {

// Queries [first, first + count) of a request.
struct QueryRange {
    std::int64_t first = 0, count = 0;
};

// Whether the points' bytes are there and serve such a search.
bool serves_by_bytes(const SearchContext& context);
// Delivers the neighbours of all queries, but for those without a certificate, whose rows are void, and says which
// queries these lie among: all of them where there is no memory for that.
QueryRange search_by_bytes(const SearchContext& context);

}  // namespace kith::gpu
