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
// Delivers the neighbours of all queries but those of the range that it returns, whose rows are
// void: from the first without a certificate to the last, or, where memory runs out, to the end; of
// a graph all or none. Progress is that of the others, once they are certain: of a graph at the
// end.
QueryRange search_by_bytes(const SearchContext& context);

}  // namespace kith::gpu
