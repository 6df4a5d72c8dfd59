// Recommending: what users with much the same preferences have, and a user lacks (Kato and Hosino 2009, for whom the
// neighbours of all users were computed; how to predict from them their paper leaves open).
//
//     kith::RecommendOptions options;  options.hold_out = true;
//     kith::Recommendations r = kith::recommend(kith::SparseView{users, items, offsets, ids, values}, 100, 10,
//     options); r.items[u * 10 + j];   r.hit_rate;
#pragma once

#include <cstdint>
#include <vector>

#include "kith/export.h"
#include "kith/types.h"

namespace kith {

// A matrix of which only some cells are stored, by rows (CSR), in host memory; never owns. Row r has the columns
// ids[offsets[r]] ... ids[offsets[r + 1] - 1], ascending, and their values beside them.
struct SparseView {
    std::int64_t rows = 0, cols = 0;
    const std::int64_t* offsets = nullptr;  // rows + 1, the first 0
    const std::int64_t* ids = nullptr;
    const double* values = nullptr;
};

// What a user's preferences are as a vector.
enum class PreferenceForm : std::uint8_t {
    shares,    // each value over the sum of the user's, in binary64, rounded to f32; for counts, none below 0
    as_given,  // the values, rounded to f32
};

// The weight of a neighbour at distance x.
enum class NeighborWeight : std::uint8_t {
    inverse,  // 1 / (max(x, 0) + epsilon)
    uniform,  // 1
};

struct RecommendOptions {
    PreferenceForm form = PreferenceForm::shares;
    NeighborWeight weight = NeighborWeight::inverse;
    double epsilon = 1e-3;  // at least 1e-240
    // One item of each user that has two or more is left out of all that follows, and looked for among what is
    // recommended: the one at place z mod m of the user's m items, z being number `user` of SplitMix64 from `seed` on.
    bool hold_out = false;
    std::uint64_t seed = 0;
    // Users that are dense at once, as queries, and as many as points. 0: all, where their vectors and neighbours take
    // no more than search.memory bytes, or where that is 0 half of what memory is free; else as many as do. Of fewer
    // than all each search is one of a block among a block, which forgoes what graph() saves by symmetry, and takes no
    // path of graphs alone (kato): each block of points is prepared once, and asked for k neighbours of every user, so
    // that few users at once take several times as long; seuclidean and mahalanobis are then given their parameters.
    // Never changes the answer.
    std::int64_t users_at_once = 0;
    // A metric that is left alone is hellinger. f64 and include_self are not read. Several devices share the graph, or
    // the queries of each block.
    Options search;
};

struct Recommendations {
    std::int64_t users = 0, count = 0;
    // users x count. Of the items that the user lacks, those of the highest predictions above 0, by (prediction
    // descending, smaller item); item -1 at prediction 0 where there are no more.
    std::vector<std::int64_t> items;
    std::vector<double> predictions;
    // With hold_out: of each user the item that was left out, -1 where there was none; the share of those that are
    // among the user's items; and the share that would be if all users were told the items of the largest sum of
    // preferences that they lack.
    std::vector<std::int64_t> held_out;
    std::int64_t judged = 0;
    double hit_rate = 0, popular_hit_rate = 0;
    Report report;  // of the neighbours' search; where that was of blocks, their counts together
};

// Of each user (a row of `preferences`, a value that is not 0 for each item that the user has) the k nearest others, by
// exact search of the vectors, and from them the prediction of item i,
//     sum of w_j v_j[i] over the neighbours j / sum of w_j,
// v_j[i] the f32 of the neighbour's vector, w_j the weight of its distance in binary64. Both sums take the neighbours
// in their order, in binary64, the first by fused multiply-add: the same bits on any device. 0 where all weights are.
//   k >= 1; 1 <= count <= items. Complexity: a graph of the vectors; the neighbours' stored cells. Progress counts
// pairs of users, or those whose items are predicted or judged.
// Throws invalid_argument (also for columns out of order, values that f32 does not hold), device, out_of_memory,
// cancelled.
KITH_EXPORT Recommendations recommend(const SparseView& preferences, std::int64_t k, std::int64_t count,
                                      const RecommendOptions& options = {});
// The same of dense rows of any searchable type, in host or device memory; 0 for what a user lacks.
KITH_EXPORT Recommendations recommend(const MatrixView& preferences, std::int64_t k, std::int64_t count,
                                      const RecommendOptions& options = {});

}  // namespace kith
