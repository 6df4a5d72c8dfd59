// Strategy rows: compares a few queries with the caller's own f32 rows, with nothing packed.
#include "cpu/search/filter_search.h"

namespace kith::cpu {

namespace {

const char* nearest(NearestCall& call, const strategy::Queries& queries, strategy::Numbers& left) {
    return nearest_by_rows(call, queries, left);
}

}  // namespace

constinit const Strategy strategies::rows{
    .facts = {.name = "rows",
              .path = Path::gemm_f32,
              .what =
                  "one pass over the points' own rows in f32 for a few queries, nothing packed"},
    .nearest = nearest};

}  // namespace kith::cpu
