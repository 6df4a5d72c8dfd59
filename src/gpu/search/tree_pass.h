// The path "tree" on a GPU: distance keys of the points of those leaves alone that may hold a
// neighbour.
#pragma once

#include "gpu/search/context.h"

namespace kith::gpu {

// All queries of a search of resident points, for a monotone metric (metric::Traits), by their
// tree. False where some of them look at too many of the points: a filter serves these queries
// better, and answers them all. A path that was forced answers them whatever it looks at.
bool search_by_tree(const SearchContext& context);

}  // namespace kith::gpu
