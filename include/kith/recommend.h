// Recommendations: items of users with similar preferences that a user lacks. Kato and Hosino 2009 compute the
// neighbours of all users for this purpose; their paper leaves the prediction open.
//
//     kith::RecommendOptions options;  options.hold_out = true;
//     kith::Recommendations r =
//         kith::recommend(kith::SparseView{users, items, offsets, ids, values}, 100, 10, options);
//     r.items[u * 10 + j];   r.hit_rate;
#pragma once

#include <cstdint>
#include <vector>

#include "kith/export.h"
#include "kith/types.h"

namespace kith {

// A sparse matrix by rows (CSR), in host memory; never owns. Row r has the columns ids[offsets[r]] ... ids[offsets[r +
// 1] - 1], ascending, with their values at the same indices.
struct SparseView {
    std::int64_t rows = 0, cols = 0;
    const std::int64_t* offsets = nullptr;  // rows + 1, the first 0
    const std::int64_t* ids = nullptr;
    const double* values = nullptr;
};

// The vector form of a user's preferences.
enum class PreferenceForm : std::uint8_t {
    shares,    // each value over the user's sum, in binary64, rounded to f32; for counts, not negative
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
    // Holds out one item of each user that has two or more, and looks for it among the recommendations. It is the item
    // at place z mod m of the user's m items, where z is number `user` of SplitMix64 from `seed` on.
    bool hold_out = false;
    std::uint64_t seed = 0;
    // The number of users that are dense at once, as queries and as points. Never changes the answer. 0: all users, if
    // their vectors and neighbours take no more than search.memory bytes (or, if that is 0, half of the free memory);
    // else as many as fit. With fewer than all, each search is of one block among another. It forgoes the symmetry of
    // graph() and paths for graphs only (kato). Each block of points is prepared once and searched for k neighbours of
    // every user, so few users at once take several times as long. seuclidean and mahalanobis then need given
    // parameters.
    std::int64_t users_at_once = 0;
    // The default metric is hellinger. f64 and include_self are ignored. Several devices share the graph, or the
    // queries of each block.
    Options search;
};

struct Recommendations {
    std::int64_t users = 0, count = 0;
    // users x count. Items that the user lacks, with the highest predictions above 0, ordered by (prediction
    // descending, smaller item); item -1 at prediction 0 for missing ones.
    std::vector<std::int64_t> items;
    std::vector<double> predictions;
    // With hold_out: held_out is each user's held-out item, -1 if none. hit_rate is the share of these that are among
    // the user's items. popular_hit_rate is the share if all users were recommended the items they lack with the
    // largest sums of preferences.
    std::vector<std::int64_t> held_out;
    std::int64_t judged = 0;
    double hit_rate = 0, popular_hit_rate = 0;
    Report report;  // of the neighbours' search; summed over blocks
};

// For each user (a row of `preferences`, with a nonzero value for each item that the user has), finds the k nearest
// others by an exact search of the vectors. From them it computes the prediction of item i,
//     sum of w_j v_j[i] over the neighbours j / sum of w_j,
// where v_j[i] is the f32 of the neighbour's vector and w_j the weight of its distance in binary64. Both sums take the
// neighbours in order, in binary64, the first by fused multiply-add: bit-identical on all devices. 0 if all weights are
// 0.
//   k >= 1; 1 <= count <= items. Complexity: a graph of the vectors; the neighbours' stored cells. Progress counts
//   pairs of users, or users with predicted or judged items.
// Throws invalid_argument (also for columns out of order, and values that f32 does not hold), device, out_of_memory,
// cancelled.
KITH_EXPORT Recommendations recommend(const SparseView& preferences, std::int64_t k, std::int64_t count,
                                      const RecommendOptions& options = {});
// Likewise from dense rows of any searchable type, in host or device memory; 0 for items that a user lacks.
KITH_EXPORT Recommendations recommend(const MatrixView& preferences, std::int64_t k, std::int64_t count,
                                      const RecommendOptions& options = {});

}  // namespace kith
