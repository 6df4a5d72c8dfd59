// Searches of a tree: launches for each way in which keys are summed up.
#pragma once

#include "gpu/tree/tree.h"

namespace kith::gpu {

// The most neighbours that a warp keeps, as gpu/search/tuning.h has it.
inline constexpr std::int64_t most_tree_k = 128;

// Queries of a tree: its own points, by place, or rows of their own.
struct TreeTask {
    TreeView tree;
    const double* queries =
        nullptr;  // q x d, as the metric maps them; null: query i is the point at place i
    const std::uint8_t* nan = nullptr;     // of those rows
    const std::uint32_t* order = nullptr;  // which query comes when; null: as they are
    // Which are looked at: `count` of them from `first` on (in that order), `step` apart.
    std::int64_t first = 0, count = 0, step = 1;
    std::int64_t self = -1;  // the id that query 0 leaves out, of the next one the next; -1: none
    std::int64_t k = 0;      // at most most_tree_k
    std::uint32_t most_leaves = 0xffffffffu;  // that a query looks at
    std::uint64_t* keys =
        nullptr;  // q x k ordered keys (exact/order.h; all ones: missing); null: not wanted
    std::int64_t* ids = nullptr;  // q x k, -1: missing
    // Added to tree_tallies pairs: points looked at, and queries that came to `most_leaves`.
    unsigned long long* tallies = nullptr;
};
inline constexpr int tree_tallies = 64;

// All points of a tree with distance keys up to a bound. Queries are those of a TreeTask.
struct BallTask {
    TreeView tree;
    const double* queries = nullptr;
    const std::uint8_t* nan = nullptr;
    const std::uint32_t* order = nullptr;
    std::int64_t first = 0, count = 0, step = 1;
    bool graph = false;  // query i leaves out id first_own + i, where there is such a point
    std::int64_t first_own = 0;
    // Of each query: keys up to it are within; NaN: none is. Boxes whose keys all are are counted,
    // not looked into.
    const double* outer = nullptr;
    std::uint32_t most_steps = 0xffffffffu;  // nodes and leaves that a query opens
    std::int64_t* totals = nullptr;          // of each query, of as much as it opened
    // Of query i from offsets[i] on, as many as its total: ordered keys and ids, in no order. Null:
    // they are counted.
    const std::int64_t* offsets = nullptr;
    std::uint64_t* keys = nullptr;
    std::int64_t* ids = nullptr;
    // Added to tree_tallies triples: points looked at, nodes and leaves opened, queries that came
    // to `most_steps`.
    unsigned long long* tallies = nullptr;
};
// The most dimensions of points that it serves.
inline constexpr std::int64_t most_ball_dimensions = 8;

struct TreeSearch {
    void (*visit)(const TreeTask& task, cudaStream_t stream);
    // The leaf that looks nearest to each query of task.queries.
    void (*homes)(const TreeTask& task, std::uint32_t* leaves, cudaStream_t stream);
    // Up to most_ball_dimensions.
    void (*balls)(const BallTask& task, cudaStream_t stream);
};

// Of a monotone metric.
TreeSearch tree_search_of(const metric::Traits& traits);

TreeSearch tree_of_squares();
TreeSearch tree_of_sums();
TreeSearch tree_of_maxima();

}  // namespace kith::gpu
