// Searches of a tree: launches for each way of accumulating keys.
#pragma once

#include "gpu/tree/tree.h"

namespace kith::gpu {

// The most neighbours that a warp keeps; equal to the limit in gpu/search/tuning.h.
inline constexpr std::int64_t most_tree_k = 128;

// Queries of a tree: its own points, by place, or separate rows.
struct TreeTask {
    TreeView tree;
    // q x d, as the metric maps them; null: query i is the point at place i.
    const double* queries = nullptr;
    const std::uint8_t* nan = nullptr;     // of those rows
    const std::uint32_t* order = nullptr;  // processing order of the queries; null: their own
    // Processes `count` queries from `first` on (in that order), `step` apart.
    std::int64_t first = 0, count = 0, step = 1;
    // The id that query 0 leaves out; query i leaves out self + i, a point of the tree itself; -1:
    // none.
    std::int64_t self = -1;
    std::int64_t k = 0;                       // at most most_tree_k
    std::uint32_t most_leaves = 0xffffffffu;  // limit of the leaves that a query visits
    // q x k ordered keys (exact/order.h; all ones: missing); null: no results are written.
    std::uint64_t* keys = nullptr;
    std::int64_t* ids = nullptr;  // q x k, -1: missing
    // Added to tree_tallies pairs: points visited, and queries that reached `most_leaves`.
    unsigned long long* tallies = nullptr;
};
inline constexpr int tree_tallies = 64;

// Range search: all points of a tree with distance keys up to a bound. Queries are as in TreeTask.
struct BallTask {
    TreeView tree;
    const double* queries = nullptr;
    const std::uint8_t* nan = nullptr;
    const std::uint32_t* order = nullptr;
    std::int64_t first = 0, count = 0, step = 1;
    bool graph = false;  // query i leaves out id first_own + i, if there is such a point
    std::int64_t first_own = 0;
    // Per query: keys up to it are within; NaN: none is. When counting, boxes entirely within are
    // not opened.
    const double* outer = nullptr;
    std::uint32_t most_steps = 0xffffffffu;  // limit of the nodes and leaves that a query opens
    std::int64_t* totals = nullptr;          // per query, over what it opened
    // Output of query i from offsets[i] on, as many as its total: ordered keys and ids, in no
    // order. Null: count only.
    const std::int64_t* offsets = nullptr;
    std::uint64_t* keys = nullptr;
    std::int64_t* ids = nullptr;
    // Added to tree_tallies triples: points visited, nodes and leaves opened, queries that reached
    // `most_steps`.
    unsigned long long* tallies = nullptr;
};
// The dimension limit of a range search.
inline constexpr std::int64_t most_ball_dimensions = 8;

struct TreeSearch {
    void (*visit)(const TreeTask& task, cudaStream_t stream);
    // Writes the apparently nearest leaf of each query of task.queries.
    void (*homes)(const TreeTask& task, std::uint32_t* leaves, cudaStream_t stream);
    // Range search, up to most_ball_dimensions.
    void (*balls)(const BallTask& task, cudaStream_t stream);
};

// Requires a monotone metric.
TreeSearch tree_search_of(const metric::Traits& traits);

TreeSearch tree_of_squares();
TreeSearch tree_of_sums();
TreeSearch tree_of_maxima();

}  // namespace kith::gpu
