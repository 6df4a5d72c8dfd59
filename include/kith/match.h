// Matching: pairs corresponding rows of two sets of features.
//
//     kith::MatchOptions options;  options.ratio = 0.8;  options.mutual = true;
//     kith::Matches m = kith::match(kith::view(a.data(), na, 128), kith::view(b.data(), nb, 128), options);
//     m.first[i], m.second[i], m.distances[i];
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kith/export.h"
#include "kith/types.h"

namespace kith {

struct MatchOptions {
    // Lowe's ratio test (2004): the nearest row of b is accepted if its distance is below `ratio` times that of the
    // second nearest, in binary64. In (0, 1]; 1 accepts rows without an equally near one.
    std::optional<double> ratio;
    bool mutual = false;  // row i of a must also be the nearest of its match
    // The default metric is euclidean, because a ratio of squared distances differs. inner_product, where larger
    // products are nearer, supports no ratio; seuclidean and mahalanobis need given parameters. f64 is ignored.
    Options search;
};

// For the rows of a that have a match, ascending: the row, its nearest row of b (the first of equally near ones), and
// their distance.
struct Matches {
    std::vector<std::int64_t> first, second;
    std::vector<double> distances;
    Report report;  // of the search of a in b
};

// a n x d, b m x d: as search() takes them; n and m may be 0. With a ratio b has no rows or at least two. A row with a
// NaN coordinate has no match. Throws invalid_argument, device, out_of_memory, cancelled.
KITH_EXPORT Matches match(const MatrixView& a, const MatrixView& b, const MatchOptions& options = {});

}  // namespace kith
