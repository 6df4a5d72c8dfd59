// A value pass with its memory: in place of samples and lists where queries are very few.
#pragma once

#include "gpu/filter/value_pass.h"
#include "gpu/points/points.h"
#include "gpu/points/projection.h"

namespace kith::gpu {

struct ValueCandidates {
    Buffer<std::uint32_t>
        words;  // what `pass` leaves; of `coarse` also what the pass compares, and its errors
    ValuePass pass;
    CoarseValues coarse;
};

// Whether it serves a pass over all points with that filter, for k neighbours.
bool value_pass_serves(const FilterPass& pass, const FilterForm& form, std::int64_t k);
// Enqueues it: of all coordinates or, where `projected` is not null, for at most most_coarse_k
// neighbours, of what that holds.
ValueCandidates pass_over_values(const FilterPass& pass, const CandidateLists& lists,
                                 const ProjectedVectors* projected, std::int64_t k,
                                 cudaStream_t stream);

}  // namespace kith::gpu
