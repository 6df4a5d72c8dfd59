// What a result lacks, and why.
#pragma once

#include <cstdint>
#include <string>

#include "kith/types.h"

namespace kith::cli {

struct Gaps {
    std::int64_t nan_queries = 0;  // queries with a NaN coordinate: they have no neighbours
    std::int64_t missing = 0;      // neighbours that are missing in the rows of the others
};
// `queries` in host memory, row-major.
Gaps gaps_of(const Neighbors& neighbors, const MatrixView& queries);
// A sentence for each kind that there is, one a line.
std::string gaps_text(const Gaps& gaps, std::int64_t k);

}  // namespace kith::cli
