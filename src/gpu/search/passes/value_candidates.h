// A dense pass with its memory: for very few queries it replaces samples and lists.
#pragma once

#include "gpu/filter/dense/value_pass.h"
#include "gpu/points/pca/projection.h"
#include "gpu/points/points.h"

namespace kith::gpu {

struct ValueCandidates {
    Buffer<std::uint32_t>
        words;  // the results of `pass`; with `coarse` also its queries and their errors
    ValuePass pass;
    CoarseValues coarse;
};

// True if a dense pass over all points with that filter serves k neighbours.
bool value_pass_serves(const FilterPass& pass, const FilterForm& form, std::int64_t k);
// Enqueues the pass, over all coordinates. If `projected` is not null, it compares the projected
// vectors, for at most most_coarse_k neighbours.
ValueCandidates pass_over_values(const FilterPass& pass, const CandidateLists& lists,
                                 const ProjectedVectors* projected, std::int64_t k,
                                 cudaStream_t stream);

}  // namespace kith::gpu
