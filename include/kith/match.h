// Matching: which rows of two sets of features belong together.
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
    // Lowe's test (2004): the nearest row of b is kept where its distance is below `ratio` times that of the second
    // nearest; decided in binary64. In (0, 1]; 1 keeps what has no equal.
    std::optional<double> ratio;
    bool mutual = false;  // row i of a is to be the nearest of its match as well
    // A metric that is left alone is euclidean: a ratio of squared distances is another one. inner_product, whose
    // larger products are nearer, takes no ratio; seuclidean and mahalanobis are given their parameters. f64 is not
    // read.
    Options search;
};

// Of the rows of a that have a match, ascending: the row, its nearest row of b (of equally near ones the first), and
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
