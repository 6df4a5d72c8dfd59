// What a result lacks, and why.
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
// Rows with a NaN; of a matrix in host memory, row-major.
std::int64_t nan_rows(const MatrixView& matrix);
// `queries` likewise. The points are not looked at.
Gaps gaps_of(const Neighbors& neighbors, const MatrixView& queries);
// A sentence for each kind that there is, one a line; of a search by radius, where no neighbour is missing.
std::string gaps_text(const Gaps& gaps, std::int64_t k);
std::string radius_gaps_text(const Gaps& gaps);

}  // namespace kith::cli
