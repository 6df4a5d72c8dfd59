// A block of queries on one thread, from filter values to the points within the radius: those that
// the bound leaves open are candidates, whose canonical distances decide. Not a Shortlist
// (shortlist.h): its threshold stands still, so that nothing is dropped once it was kept, no list
// is full, and no upper value is remembered; what both do is DistanceKeys and ScatteredKeys.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "cpu/metric/distance_keys.h"
#include "cpu/points/points.h"
#include "cpu/primitives/top_k.h"
#include "cpu/search/ball.h"
#include "cpu/search/ball_traversal.h"
#include "cpu/search/scattered_keys.h"
#include "exact/fallbacks.h"

namespace kith::cpu {

// What a radius search asks for, the same for all its blocks.
struct RadiusSearch {
    const Points& points;
    const MatrixView& queries;
    const double* radii;  // of each query
    bool open;
    bool graph;  // query i excludes id first_own + i, if there is such a point
    std::int64_t first_own;
    bool counts;  // no lists
    Isa isa;
    // Of each query in one range of the points, candidates up to here are refined in vain; beyond,
    // the query is left to the next filter.
    double max_needless = std::numeric_limits<double>::infinity();
};

class RadiusBlock {
public:
    RadiusBlock(const RadiusSearch& search, const std::int64_t* numbers, std::int64_t count);

    const RowBlock& rows() const { return rows_; }
    // The terms of query i, for every i in order.
    void add_query(const QueryTerms& terms);
    bool has_nan(std::int64_t i) const { return rows_.nan()[i] != 0; }
    // Whether the filter answers it; one with a NaN and one that nothing is within reach of it does
    // at once.
    bool answered(std::int64_t i) const { return answered_[static_cast<std::size_t>(i)] != 0; }
    exact::Cause cause(std::int64_t i) const { return causes_[static_cast<std::size_t>(i)]; }
    // One per query: values not above it are to be offered.
    const float* thresholds() const { return thresholds_.data(); }

    void offer(std::int64_t i, float value, float slack, std::int64_t id) {
        const auto at = static_cast<std::size_t>(i);
        if (id == own_[at]) return;
        if (exact_[at] && value == value) {
            if (balls_[at].within(static_cast<double>(value)))
                take(i, static_cast<double>(value), id);
            return;
        }
        // NaN and -inf are of points that the bound does not cover.
        if (search_.counts && value > -std::numeric_limits<float>::infinity() &&
            value + slack <= accepted_[at]) {
            ++counts_[at];
            return;
        }
        pending_[at].push_back(id);
        if (pending_[at].size() >= refined_at_once) refine(i);
    }
    // Refines what is left.
    void finish();
    // All pairs with points [first, first + count) in binary64, instead of a filter.
    void scan(std::int64_t i, RowBlock& tile, std::int64_t first, std::int64_t count, double* keys);
    // All points of a tree that may be within, instead: gives up where more than `most_needless`
    // keys were evaluated in vain. go_on() is asked now and then.
    template <class GoOn>
    void visit(std::int64_t i, BallTraversal& traversal, double most_needless, const GoOn& go_on);

    // In no order.
    std::vector<Neighbor>& found(std::int64_t i) { return found_[static_cast<std::size_t>(i)]; }
    std::int64_t count(std::int64_t i) const { return counts_[static_cast<std::size_t>(i)]; }
    // Neighbours in all lists.
    std::int64_t listed() const { return listed_; }
    DistanceKeys& distance_keys() { return distance_keys_; }
    double evaluated() const { return evaluated_; }

private:
    static constexpr std::size_t refined_at_once = 256;

    void refine(std::int64_t i);
    void take(std::int64_t i, double key, std::int64_t id) {
        const auto at = static_cast<std::size_t>(i);
        ++counts_[at];
        if (search_.counts) return;
        found_[at].push_back({key, id});
        ++listed_;
    }
    void give_up(std::int64_t i, exact::Cause cause);

    const RadiusSearch& search_;
    std::int64_t count_;
    std::vector<std::int64_t> own_;  // the point that each query leaves out, or -1
    DistanceKeys distance_keys_;
    RowBlock rows_;
    ScatteredKeys scattered_keys_;
    std::vector<Ball> balls_;
    std::vector<float> thresholds_, accepted_;
    std::vector<char> exact_;  // whether the filter's values are the keys
    std::vector<char> answered_;
    std::vector<exact::Cause> causes_;
    std::vector<double> needless_;
    std::vector<std::vector<std::int64_t>> pending_;
    std::vector<std::vector<Neighbor>> found_;
    std::vector<std::int64_t> counts_;
    std::int64_t listed_ = 0;
    double evaluated_ = 0;  // distance keys
};

template <class GoOn>
void RadiusBlock::visit(std::int64_t i, BallTraversal& traversal, double most_needless,
                        const GoOn& go_on) {
    const Ball& ball = balls_[static_cast<std::size_t>(i)];
    if (has_nan(i) || ball.empty()) return;
    const std::int64_t own = own_[static_cast<std::size_t>(i)];
    const double before = traversal.distance_keys();
    std::int64_t& count = counts_[static_cast<std::size_t>(i)];
    const auto needless = [&] {
        return traversal.distance_keys() - before -
               (search_.counts ? 0 : static_cast<double>(count));
    };
    bool own_is_counted = false, own_is_met = false;
    traversal.visit(
        rows_.row(i), ball.outer(),
        search_.counts ? ball.inner() : std::numeric_limits<double>::quiet_NaN(),
        [&](double key, std::int64_t id) {
            if (id == own) own_is_met = true;
            else if (ball.within(key)) take(i, key, id);
        },
        [&](std::int64_t whole) {
            count += whole;
            own_is_counted = own >= 0;
        },
        [&] { return needless() <= most_needless && go_on(); });
    // Boxes are counted of finite queries alone, whose own key is 0: within, in one of the boxes or
    // met.
    if (own_is_counted && !own_is_met) --count;
    evaluated_ += traversal.distance_keys() - before;
    if (needless() > most_needless) give_up(i, exact::Cause::boxes);
}

}  // namespace kith::cpu
