// Filter, rescore in binary64, certify by the bound: the functions that the strategies with a
// filter are made of.
#pragma once

#include "cpu/search/nearest_call.h"

namespace kith::cpu {

// As Strategy::nearest: filters with the panels of `rounding`.
const char* nearest_by_panels(NearestCall& call, const Strategy& strategy, Rounding rounding,
                              const strategy::Queries& queries, strategy::Numbers& left);
// As Strategy::nearest: filters with the coarse panels of `path`. If there are many queries, a few
// pilots go first.
const char* nearest_by_coarse_panels(NearestCall& call, const Strategy& strategy, Path path,
                                     const strategy::Queries& queries, strategy::Numbers& left);
// As Strategy::nearest: compares a few queries with the caller's own rows (row_filter.h).
const char* nearest_by_rows(NearestCall& call, const strategy::Queries& queries,
                            strategy::Numbers& left);

// True if the caller's own rows serve the queries that are left: there are few, and no panels of
// `rounding` have been packed.
bool rows_serve(const NearestCall& call, Rounding rounding);

}  // namespace kith::cpu
