// Passes of a tile of queries over augmented vectors (filter/augmented.h), where these pay.
#pragma once

#include "gpu/filter/fused/augmented.h"
#include "gpu/filter/lists/candidate_lists.h"
#include "gpu/metric/filter_form.h"
#include "gpu/runtime/memory/device_memory.h"

namespace kith::gpu {

class AugmentedPass {
public:
    explicit AugmentedPass(cudaStream_t stream) : stream_(stream) {}

    // True if vectors of that form are augmented for this many queries and points.
    static bool serves(const FilterForm& form, FilterIsa isa, std::int64_t q, std::int64_t n);
    // Adds the bias columns of points and queries to a pass. Raises the lists' thresholds and
    // errors by the rounding of the longer sums. The first call makes the columns of all points
    // from their half norms. Enqueues.
    FilterPass of(FilterPass pass, const FilterForm& form, float* error, float* threshold);

private:
    cudaStream_t stream_;
    Buffer<char> point_terms_, query_terms_;
    Buffer<float> base_error_;  // per query: E without thresholds
};

}  // namespace kith::gpu
