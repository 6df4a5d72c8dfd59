// Range search of a block of queries on one thread, from filter values to the points within the
// radius. Points that the bound can neither accept nor reject are candidates, whose canonical
// distances decide. It is no Shortlist (shortlist.h): its thresholds are fixed, so no candidate is
// dropped later, no list overflows, and no upper value is remembered. They share DistanceKeys and
// ScatteredKeys.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "cpu/metric/distance_keys.h"
#include "cpu/points/points.h"
#include "cpu/primitives/top_k.h"
#include "cpu/search/scattered_keys.h"
#include "cpu/search/tree/ball.h"
#include "cpu/search/tree/ball_traversal.h"
#include "exact/report/fallbacks.h"

namespace kith::cpu {

// The request of a range search, shared by all its blocks.
struct RadiusSearch {
    const Points& points;
    const MatrixView& queries;
    const double* radii;  // one per query
    bool open;
    bool graph;  // query i excludes id first_own + i, if that point exists
    std::int64_t first_own;
    bool counts;  // counts only, no lists
    Isa isa;
    // The candidates that a query may rescore in vain in one range of the points. Beyond, the query
    // is left to the next filter.
    double max_needless = std::numeric_limits<double>::infinity();
};

class RadiusBlock {
public:
    RadiusBlock(const RadiusSearch& search, const std::int64_t* numbers, std::int64_t count);

    const RowBlock& rows() const { return rows_; }
    // Appends the terms of the next query: call it for each query in order.
    void add_query(const QueryTerms& terms);
    bool has_nan(std::int64_t i) const { return rows_.nan()[i] != 0; }
    // True if the filter answers the query. A query with a NaN, or with a radius that no key is
    // within, is answered at once.
    bool answered(std::int64_t i) const { return answered_[static_cast<std::size_t>(i)] != 0; }
    exact::Cause cause(std::int64_t i) const { return causes_[static_cast<std::size_t>(i)]; }
    // One per query: values up to it must be offered.
    const float* thresholds() const { return thresholds_.data(); }

    void offer(std::int64_t i, float value, float slack, std::int64_t id) {
        const auto at = static_cast<std::size_t>(i);
        if (id == own_[at]) return;
        if (exact_[at] && value == value) {
            if (balls_[at].within(static_cast<double>(value)))
                take(i, static_cast<double>(value), id);
            return;
        }
        // A value of NaN or -inf: the bound does not cover the point.
        if (search_.counts && value > -std::numeric_limits<float>::infinity() &&
            value + slack <= accepted_[at]) {
            ++counts_[at];
            return;
        }
        pending_[at].push_back(id);
        if (pending_[at].size() >= refined_at_once) refine(i);
    }
    // Rescores the remaining candidates.
    void finish();
    // Instead of a filter: compares query i with points [first, first + count) in binary64. `keys`:
    // scratch memory for count keys.
    void scan(std::int64_t i, RowBlock& tile, std::int64_t first, std::int64_t count, double* keys);
    // Instead of a filter: visits all points of a tree that may be within the radius of query i.
    // Gives the query up after more than `most_needless` keys in vain. Polls go_on() now and then.
    template <class GoOn>
    void visit(std::int64_t i, BallTraversal& traversal, double most_needless, const GoOn& go_on);

    // The neighbours, unordered.
    std::vector<Neighbor>& found(std::int64_t i) { return found_[static_cast<std::size_t>(i)]; }
    std::int64_t count(std::int64_t i) const { return counts_[static_cast<std::size_t>(i)]; }
    // The number of neighbours in all lists.
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
    std::vector<std::int64_t> own_;  // per query: the point that it excludes, or -1
    DistanceKeys distance_keys_;
    RowBlock rows_;
    ScatteredKeys scattered_keys_;
    std::vector<Ball> balls_;
    std::vector<float> thresholds_, accepted_;
    std::vector<char> exact_;  // set if the filter's values are the keys themselves
    std::vector<char> answered_;
    std::vector<exact::Cause> causes_;
    std::vector<double> needless_;
    std::vector<std::vector<std::int64_t>> pending_;
    std::vector<std::vector<Neighbor>> found_;
    std::vector<std::int64_t> counts_;
    std::int64_t listed_ = 0;
    double evaluated_ = 0;  // distance keys computed
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
    // Whole boxes are counted for finite queries only. Such a query has key 0 to its own point,
    // which is therefore within: it was either met, or is in a counted box.
    if (own_is_counted && !own_is_met) --count;
    evaluated_ += traversal.distance_keys() - before;
    if (needless() > most_needless) give_up(i, exact::Cause::boxes);
}

}  // namespace kith::cpu
