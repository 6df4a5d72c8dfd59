// Passes that count pairs in place of listing them: those whose values prove enough.
#pragma once

#include "gpu/filter/pass.h"

namespace kith::gpu {

// Per query: values of covered points (above -inf) that are at most `up_to` are counted, not
// listed. Null: none is.
struct SurePairs {
    const float* up_to = nullptr;
    std::int32_t* counts = nullptr;  // added to
};

// As filter_pass; where there is no kernel that counts, all pairs are listed.
void filter_pass_counting(const FilterPass& pass, const SurePairs& sure, FilterIsa isa,
                          cudaStream_t stream);
void direct_pass_counting(const FilterPass& pass, const SurePairs& sure, cudaStream_t stream);
void filter_pass_counting_sm_90a(const FilterPass& pass, const SurePairs& sure,
                                 cudaStream_t stream);

}  // namespace kith::gpu
