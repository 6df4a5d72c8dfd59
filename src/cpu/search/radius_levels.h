// The levels of a search by radius: what a strategy is to it, over all waves of queries.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "cpu/search/radius_block.h"
#include "cpu/search/strategies.h"
#include "exact/progress.h"

namespace kith::cpu {

struct RadiusSchedule {
    std::int64_t block, blocks;  // queries per block, blocks
    std::int64_t tiles, ranges;  // of the points; ranges of tiles, for few blocks
};

// One way of answering queries, over all waves. A level asks whether to go on after it has listed
// `grain` neighbours, at the latest.
class RadiusLevel {
public:
    explicit RadiusLevel(std::int64_t grain) : grain_(grain) {}
    virtual ~RadiusLevel() = default;
    virtual RadiusSchedule schedule(std::int64_t q, int threads) const = 0;
    // Offers tiles [begin, end) to a block; go_on(pairs) after some of them, and after `grain`
    // neighbours were listed.
    virtual void evaluate(RadiusBlock& block, std::int64_t count, std::int64_t begin,
                          std::int64_t end, const std::function<bool(double)>& go_on) const = 0;
    // Whether it has given up most of enough queries.
    bool hopeless() const { return tried >= min_tried && 2 * given_up > tried; }
    std::int64_t tried = 0, given_up = 0;

protected:
    static constexpr std::int64_t min_tried = 64;
    std::int64_t grain_;
};

// What a strategy makes its level of.
struct RadiusCall {
    const Points& points;
    Isa isa;
    int threads;
    std::int64_t query_tile, grain;
    ProgressMeter& progress;
    When when = When::first;  // of the step
};

// Panels of that rounding against packed queries; null where points have none. Throws where the
// call is cancelled.
std::unique_ptr<RadiusLevel> filter_level(const RadiusCall& call, Rounding rounding);
// Leaves of a tree, which gives up queries with more keys in vain than n / share; null without a
// tree.
std::unique_ptr<RadiusLevel> tree_level(const RadiusCall& call, const Tree* tree, double share);
// Every pair in binary64.
std::unique_ptr<RadiusLevel> scan_level(const RadiusCall& call);

}  // namespace kith::cpu
