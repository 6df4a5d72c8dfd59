// What distance kernels of the expanded form (DistanceKernel::expanded) take in place of the direct
// filter's terms.
#pragma once

#include "gpu/runtime/device_memory.h"
#include "papers/distance/distance.h"

namespace kith::gpu {

// The direct filter's words of both sides, with its terms: of points half_norm and point_error, of
// queries query_error and unfit, Fitness.
struct DirectSides {
    const float *queries = nullptr, *points = nullptr;
    std::int64_t width = 0, q = 0, n = 0;
    const float *half_norm = nullptr, *point_error = nullptr, *query_error = nullptr;
    float growth = 1;               // of the lists (CandidateLists)
    std::uint8_t* unfit = nullptr;  // a query whose square is too large is scanned
};

// The same terms of the expanded form. A threshold from them is one of the direct filter, too.
struct ExpandedTerms {
    Buffer<float> half_norm;  // the square of a point less its share of the bound; infinities stay
    Buffer<float> point_error;  // its share
    Buffer<float> query_square, query_error;
};
ExpandedTerms expanded_terms(const DirectSides& sides, cudaStream_t stream);

}  // namespace kith::gpu
