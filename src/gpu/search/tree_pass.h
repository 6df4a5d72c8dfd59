// The strategy `tree` on a GPU: distance keys of the points in the leaves that may hold a
// neighbour.
#pragma once

#include "gpu/search/context.h"

namespace kith::gpu {

// Answers all queries of a search of resident points by their tree, for a monotone metric
// (metric::Traits). False if pilot queries compare too many points: then a filter has to answer all
// queries. A forced path always answers them.
bool search_by_tree(const SearchContext& context);

}  // namespace kith::gpu
