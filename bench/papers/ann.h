// The ANN library of Mount and Arya: exact search in its k-d tree, on one core. Absent where libann-dev is not
// installed.
#pragma once

#include <cstdint>
#include <string>

#include "papers/clocks.h"

namespace kith::bench::papers {

struct AnnSeconds {
    Clocks build, search;
};

// "", or why there is none in this build.
std::string ann_missing();

// The k nearest of n x d points for q x d queries, row-major, without error (epsilon 0). ids: q x k. Seconds without
// those of making ANN's own copies in binary64. Throws device where it is missing.
AnnSeconds ann_search(const float* points, std::int64_t n, const float* queries, std::int64_t q, std::int64_t d,
                      std::int64_t k, std::int64_t* ids);

}  // namespace kith::bench::papers
