// Passes that count certain hits (sure pairs) instead of listing them: values that prove a pair.
#pragma once

#include "gpu/filter/pass.h"

namespace kith::gpu {

// Per query: values of covered points (above -inf) up to `up_to` are counted, not listed. Null: no
// pair is counted.
struct SurePairs {
    const float* up_to = nullptr;
    std::int32_t* counts = nullptr;  // added to
};

// Like filter_pass(); if no counting kernel exists, all pairs are listed.
void filter_pass_counting(const FilterPass& pass, const SurePairs& sure, FilterIsa isa,
                          cudaStream_t stream);
void direct_pass_counting(const FilterPass& pass, const SurePairs& sure, cudaStream_t stream);
void filter_pass_counting_sm_90a(const FilterPass& pass, const SurePairs& sure,
                                 cudaStream_t stream);

}  // namespace kith::gpu
