// The CPU's strategies, and the order in which a search asks them. One function, steps_of(), makes
// both the list in a plan and the steps of a search.
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
    // Finds the k nearest points of some queries, and appends the numbers of those that it leaves
    // to the last argument. Returns null, or why it declines; then no query is answered. A null
    // function: it serves range searches only.
    const char* (*nearest)(NearestCall&, const strategy::Queries&, strategy::Numbers&) = nullptr;
    // Makes its level of a range search; null if the points have none. A null function: it serves k
    // nearest neighbours only.
    std::unique_ptr<RadiusLevel> (*within)(const RadiusCall&) = nullptr;
};

namespace strategies {
#define KITH_CPU_STRATEGY(name) extern const Strategy name;
#include "cpu/search/strategies.def"
#undef KITH_CPU_STRATEGY
}  // namespace strategies

struct Listed {
    std::string_view identifier;
    const Strategy* strategy;
};
inline constexpr Listed all_strategies[] = {
#define KITH_CPU_STRATEGY(name) {#name, &strategies::name},
#include "cpu/search/strategies.def"
#undef KITH_CPU_STRATEGY
};
// The strategy with that identifier in the list; null if the list lacks it. Every line but the last
// may be deleted, with its file: searches then go without.
constexpr const Strategy* listed(std::string_view identifier) {
    for (const Listed& each : all_strategies)
        if (each.identifier == identifier) return each.strategy;
    return nullptr;
}
constexpr bool is_listed(const Strategy* strategy) {
    return strategy != nullptr;
}
// Null if no strategy has that name.
const Strategy* find_strategy(std::string_view name);

// The condition on which a step is taken.
enum class When : std::uint8_t {
    first,            // unconditionally
    boxes,            // if a sample of the points says that boxes leave out most of them
    few_keys,         // if a few of the queries look at few enough of the points
    sample,           // if a sample says that it pays
    instead,          // if the step before does not pay
    unlimited,        // again without a limit, for queries that read too many rows
    few_queries,      // for a few queries, if the panels of the next step are not packed
    all_coordinates,  // for queries that coarse panels leave
    without_repeats,  // again, without duplicate rows
    finer,            // for queries that a coarser rounding leaves
    uncovered,        // if the step before covers too few points
    differences,      // for queries that products leave
    made,             // if the tree has been made by now: answers all that is left
    last,             // answers all that is left
};
// The condition in words, for plans.
const char* text(When when);

struct ChainStep {
    const Strategy* strategy = nullptr;
    When when = When::first;
    strategy::CauseSet takes = strategy::CauseSet::all();  // causes of the queries that it takes
};

class Steps {
public:
    static constexpr std::size_t most = 16;
    // Nothing, if the list lacks its strategy.
    void add(const ChainStep& step) {
        if (step.strategy) steps_[static_cast<std::size_t>(count_++)] = step;
    }
    const ChainStep* begin() const { return steps_.data(); }
    const ChainStep* end() const { return steps_.data() + count_; }

private:
    std::array<ChainStep, most> steps_{};
    std::int64_t count_ = 0;
};

// The facts that decide about the steps.
struct Outline {
    strategy::Task task = strategy::Task::nearest;
    const Plan& plan;  // reads path, first, selector, forced, tries_tree
    MetricId metric = MetricId::sqeuclidean;
    metric::Traits traits;
    ElementType type = ElementType::f32;  // of points and queries; f64 if they differ
    std::int64_t queries = 0, d = 0;
    bool bf16 = false, bytes = false;  // the plan's instruction set has such products
    bool has_tree = false;             // the points' tree has been made
};
Steps steps_of(const Outline& outline);

// True if so few queries are compared with the points' own rows, provided that nothing is packed
// for them.
bool rows_serve(MetricId metric, ElementType type, std::int64_t queries, std::int64_t d);

// The filter that answers queries which a tree leaves.
Path path_behind_tree(const metric::Traits& traits, std::int64_t d);

}  // namespace kith::cpu
