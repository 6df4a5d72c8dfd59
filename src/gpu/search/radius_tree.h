// Radii by a tree: points of those leaves alone that may be within are looked at, and counting not
// even those of boxes that are within as a whole.
#pragma once

#include <vector>

#include "gpu/search/radius_tile.h"
#include "gpu/tree/search.h"

namespace kith::gpu {

class RadiusTree {
public:
    // Whether the points have a tree, or making one may pay.
    static bool serves(const SearchContext& context, const RadiusRequest& request);

    RadiusTree(const SearchContext& context, const RadiusRequest& request);

    // So many of the queries at a time.
    std::int64_t tile() const;
    // How many points are within of each of the queries [first, first + count), in totals(). False
    // where they open too many boxes: a filter serves these queries better.
    bool count(std::int64_t first, std::int64_t count);
    const std::int64_t* totals() const { return totals_.get(); }
    // The points of those queries, from `offsets` on, in no order.
    void list(const std::int64_t* offsets, std::uint64_t* keys, std::int64_t* ids);

private:
    // Of a query on average, and how many queries came to the most steps.
    struct Tallies {
        double points = 0, steps = 0;
        std::int64_t stopped = 0;
    };

    double most_steps() const;
    // Of a graph whose queries are all there: they lie in the tree, in order.
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
    // Of the last queries.
    BallTask task_;
    double expected_ = 0;  // points that a query looks at, or steps' worth of them
    DeviceRows rows_;
    Buffer<double> mapped_, outer_;
    Buffer<std::uint32_t> order_;
    Buffer<std::int64_t> totals_;
};

}  // namespace kith::gpu
