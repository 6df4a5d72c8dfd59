// A symmetric pass of which several devices each compute a part.
#pragma once

#include "gpu/filter/pass.h"

namespace kith::gpu {

// Of a pass with column_threshold (compute capability 9.0) the pairs of every row group that is dealt to `part` of
// `parts` (exact/deal.h); a group is as many rows as a tile has points, or a block queries. All parts together find
// what the pass finds, each pair once.
void shared_pass(const FilterPass& pass, int part, int parts, cudaStream_t stream);

}  // namespace kith::gpu
