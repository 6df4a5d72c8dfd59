// Range search by a tree: looks at the points of those leaves only that may be within. Counting
// skips even the points of boxes that are within as a whole.
#pragma once

#include <vector>

#include "gpu/search/radius/radius_tile.h"
#include "gpu/tree/search.h"

namespace kith::gpu {

class RadiusTree {
public:
    // True if the points have a tree, or if making one may pay.
    static bool serves(const SearchContext& context, const RadiusRequest& request);

    RadiusTree(const SearchContext& context, const RadiusRequest& request);

    // The number of queries per call of count() and list().
    std::int64_t tile() const;
    // Counts the points within for each of the queries [first, first + count), into totals(). False
    // if they open too many boxes: a filter then serves them better. Waits.
    bool count(std::int64_t first, std::int64_t count);
    const std::int64_t* totals() const { return totals_.get(); }
    // Writes the points within for those queries, from `offsets` on, unordered. Waits.
    void list(const std::int64_t* offsets, std::uint64_t* keys, std::int64_t* ids);

private:
    // Means per query, and the number of queries that were stopped at the limit of steps.
    struct Tallies {
        double points = 0, steps = 0;
        std::int64_t stopped = 0;
    };

    double most_steps() const;
    // True if the queries are all points of a graph: then they lie in the tree, in order.
    bool are_its_points(std::int64_t first, std::int64_t count) const {
        return request_.graph && request_.first_own + first == 0 && count == context_.points.n;
    }
    void visit(BallTask task);
    Tallies tallied(std::int64_t queries) const;

    const SearchContext& context_;
    const RadiusRequest& request_;
    cudaStream_t stream_;
    const DeviceMetric& metric_;
    const Tree& tree_;
    TreeSearch search_;
    Buffer<unsigned long long> tallies_;
    // For the queries of the last count().
    BallTask task_;
    double expected_ = 0;  // expected points per query, counting a step as leaf_points
    DeviceRows rows_;
    Buffer<double> mapped_, outer_;
    Buffer<std::uint32_t> order_;
    Buffer<std::int64_t> totals_;
};

}  // namespace kith::gpu
