// The CPU's strategies, and the order in which a search asks them: what a plan lists and what a
// search does is one function, steps_of().
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "kith/plan.h"
#include "strategy/chain.h"
#include "strategy/facts.h"

namespace kith::cpu {

struct NearestCall;  // cpu/search/nearest_call.h
struct RadiusCall;   // cpu/search/radius/radius_levels.h
class RadiusLevel;

struct Strategy {
    strategy::Facts facts;
    // The k nearest of some queries; those that it leaves come into the last. Null, or why it
    // declines, with nothing answered. No function: it serves radii alone.
    const char* (*nearest)(NearestCall&, const strategy::Queries&, strategy::Numbers&) = nullptr;
    // Its level of a search within radii; null where the points have none. No function: it serves
    // the nearest alone.
    std::unique_ptr<RadiusLevel> (*within)(const RadiusCall&) = nullptr;
};

namespace strategies {
#define KITH_CPU_STRATEGY(name) extern const Strategy name;
#include "cpu/search/strategies.def"
#undef KITH_CPU_STRATEGY
}  // namespace strategies

inline constexpr std::array all_strategies = {
#define KITH_CPU_STRATEGY(name) &strategies::name,
#include "cpu/search/strategies.def"
#undef KITH_CPU_STRATEGY
};
// Null where none has that name.
const Strategy* find_strategy(std::string_view name);

// On which condition a step is made.
enum class When : std::uint8_t {
    first,            // at once
    boxes,            // where a sample of the points says that boxes leave out most of them
    few_keys,         // where a few of the queries look at few enough of the points
    sample,           // where a sample says that it pays
    instead,          // where the one before does not pay
    unlimited,        // again, for what has read too many rows
    few_queries,      // where these are few, and nothing is packed for them
    all_coordinates,  // of what coarse panels leave
    without_repeats,  // again, without rows that equal others
    finer,            // of what a coarser rounding leaves
    uncovered,        // where the one before covers too few points
    differences,      // of what products leave
    made,             // the tree, where there is one by now: answers whatever is left
    last,             // answers whatever is left
};
// In words, behind the strategy's name.
const char* text(When when);

struct ChainStep {
    const Strategy* strategy = nullptr;
    When when = When::first;
    strategy::CauseSet takes = strategy::CauseSet::all();  // of what is left
};

class Steps {
public:
    static constexpr std::size_t most = 16;
    void add(const ChainStep& step) { steps_[static_cast<std::size_t>(count_++)] = step; }
    const ChainStep* begin() const { return steps_.data(); }
    const ChainStep* end() const { return steps_.data() + count_; }

private:
    std::array<ChainStep, most> steps_{};
    std::int64_t count_ = 0;
};

// What decides about the steps.
struct Outline {
    strategy::Task task = strategy::Task::nearest;
    const Plan& plan;  // path, first, selector, forced, tries_tree
    MetricId metric = MetricId::sqeuclidean;
    metric::Traits traits;
    ElementType type = ElementType::f32;  // of points and queries
    std::int64_t queries = 0, d = 0;
    bool bf16 = false, bytes = false;  // the instruction set of the plan has products of these
    bool has_tree = false;             // made before
};
Steps steps_of(const Outline& outline);

// Whether so few queries are compared with the points' own rows, where nothing is packed for them.
bool rows_serve(MetricId metric, ElementType type, std::int64_t queries, std::int64_t d);

// The filter that takes the place of a tree.
Path path_behind_tree(const metric::Traits& traits, std::int64_t d);

}  // namespace kith::cpu
