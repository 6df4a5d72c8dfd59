// The neighbours that a result lacks, and why.
#pragma once

#include <cstdint>
#include <string>

#include "kith/types.h"

namespace kith::cli {

struct Gaps {
    std::int64_t nan_queries = 0;  // queries with a NaN coordinate: they have no neighbours
    std::int64_t nan_points = 0;   // points with one, where they are no queries: they are nobody's neighbours
    std::int64_t missing = 0;      // neighbours that are missing in the rows of the others
};
// For a search for `queries` (host memory, row-major). The points are not looked at.
Gaps gaps_of(const Neighbors& neighbors, const MatrixView& queries);
// Says how many neighbours are missing, in a line; "" where none is. Rows with a NaN are said of the inputs (inputs.h).
std::string gaps_text(const Gaps& gaps, std::int64_t k);

}  // namespace kith::cli
