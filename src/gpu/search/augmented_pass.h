// Passes of a tile of queries over augmented vectors (filter/augmented.h), where these pay.
#pragma once

#include "gpu/filter/augmented.h"
#include "gpu/filter/candidate_lists.h"
#include "gpu/metric/filter_form.h"
#include "gpu/runtime/device_memory.h"

namespace kith::gpu {

class AugmentedPass {
public:
    explicit AugmentedPass(cudaStream_t stream) : stream_(stream) {}

    // Whether vectors of that form are augmented for so many queries and points of a search.
    static bool serves(const FilterForm& form, FilterIsa isa, std::int64_t q, std::int64_t n);
    // The pass with the terms of its points and queries. Raises the lists' thresholds and errors by
    // what the sums of terms cost. The first call makes the terms of all points from their half
    // norms.
    FilterPass of(FilterPass pass, const FilterForm& form, float* error, float* threshold);

private:
    cudaStream_t stream_;
    Buffer<char> point_terms_, query_terms_;
    Buffer<float> base_error_;  // per query: E without thresholds
};

}  // namespace kith::gpu
