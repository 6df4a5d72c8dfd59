// A value pass with its memory: in place of samples and lists where queries are very few.
#pragma once

#include "gpu/filter/value_pass.h"
#include "gpu/points/points.h"

namespace kith::gpu {

struct ValueCandidates {
    Buffer<std::uint32_t> words;  // what `pass` leaves
    ValuePass pass;
};

// Whether it serves a pass over all points with that filter, for k neighbours.
bool value_pass_serves(const FilterPass& pass, const FilterForm& form, std::int64_t k);
// Enqueues it.
ValueCandidates pass_over_values(const FilterPass& pass, const CandidateLists& lists, cudaStream_t stream);

}  // namespace kith::gpu
