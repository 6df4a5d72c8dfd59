// The levels of a range search: a level is a strategy's implementation, used for all waves of
// queries.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "cpu/search/radius/radius_block.h"
#include "cpu/search/strategies.h"
#include "exact/report/progress.h"

namespace kith::cpu {

struct RadiusSchedule {
    std::int64_t block, blocks;  // queries per block, number of blocks
    std::int64_t tiles, ranges;  // tiles of points; ranges of tiles, more than one if there are few
                                 // blocks
};

// One way of answering queries, over all waves. It calls go_on() after listing about `grain`
// neighbours.
class RadiusLevel {
public:
    explicit RadiusLevel(std::int64_t grain) : grain_(grain) {}
    virtual ~RadiusLevel() = default;
    virtual RadiusSchedule schedule(std::int64_t q, int threads) const = 0;
    // Compares tiles [begin, end) of the points with the `count` queries of a block. Calls
    // go_on(pairs) with the pairs done since the last call, and returns early if that returns
    // false.
    virtual void evaluate(RadiusBlock& block, std::int64_t count, std::int64_t begin,
                          std::int64_t end, const std::function<bool(double)>& go_on) const = 0;
    // True if it has given up most of at least min_tried queries.
    bool hopeless() const { return tried >= min_tried && 2 * given_up > tried; }
    std::int64_t tried = 0, given_up = 0;

protected:
    static constexpr std::int64_t min_tried = 64;
    std::int64_t grain_;
};

// The arguments with which a strategy makes its level.
struct RadiusCall {
    const Points& points;
    Isa isa;
    int threads;
    std::int64_t query_tile, grain;
    ProgressMeter& progress;
    When when = When::first;  // the condition of the step
};

// Panels of a rounding against packed queries. Null if the points have no such panels. Throws if
// the call is cancelled.
std::unique_ptr<RadiusLevel> filter_level(const RadiusCall& call, Rounding rounding);
// The leaves of a tree. Gives up queries that compute more than n / share keys in vain. Null
// without a tree.
std::unique_ptr<RadiusLevel> tree_level(const RadiusCall& call, const Tree* tree, double share);
// The full scan: every pair in binary64.
std::unique_ptr<RadiusLevel> scan_level(const RadiusCall& call);

}  // namespace kith::cpu
