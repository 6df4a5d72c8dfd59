// Filter, refine in binary64, certified by the bound: what the strategies with a filter are made
// of.
#pragma once

#include "cpu/search/nearest_call.h"

namespace kith::cpu {

// As Strategy::nearest. Panels of that rounding, but those of coarse ones whose candidates' rows
// are read.
const char* nearest_by_panels(NearestCall& call, const Strategy& strategy, Rounding rounding,
                              const strategy::Queries& queries, strategy::Numbers& left);
// Coarse panels of a path, of many queries for a few first.
const char* nearest_by_coarse_panels(NearestCall& call, const Strategy& strategy, Path path,
                                     const strategy::Queries& queries, strategy::Numbers& left);
// A few queries against the caller's rows.
const char* nearest_by_rows(NearestCall& call, const strategy::Queries& queries,
                            strategy::Numbers& left);

// Whether rows as they are serve what is left, as nothing is packed with that rounding.
bool rows_serve(const NearestCall& call, Rounding rounding);

}  // namespace kith::cpu
