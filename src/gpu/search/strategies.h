// A GPU's strategies, and the order in which a search asks them: a plan lists these steps, and a
// search records them (gpu/search/attempts.h). Plain host code: plans are made without CUDA, too.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "kith/plan.h"
#include "metric/metric.h"
#include "strategy/facts.h"

namespace kith::gpu {

namespace strategies {
#define KITH_GPU_STRATEGY(identifier, ...) extern const strategy::Facts identifier;
#include "gpu/search/strategies.def"
#undef KITH_GPU_STRATEGY
}  // namespace strategies

inline constexpr std::array all_strategies = {
#define KITH_GPU_STRATEGY(identifier, ...) &strategies::identifier,
#include "gpu/search/strategies.def"
#undef KITH_GPU_STRATEGY
};
// Null if no strategy has that name.
const strategy::Facts* find_strategy(std::string_view name);

// The attempts at a query, in the order in which a search makes them: no query goes back to an
// earlier one.
enum class Step : std::uint8_t {
    noop,
    tree,
    host_int8,
    nearest_partition,
    clustered,
    projected,
    gemm_i8,
    dense,
    own,                 // the full-dimensional filter of the plan's path
    again,               // own, with the certain thresholds that it found, and the longest lists
    without_duplicates,  // own, without duplicate rows
    two_terms,
    finer_direct,  // the metric in f32, after products or its coarse form
    exact,
};
inline constexpr int step_count = static_cast<int>(Step::exact) + 1;
// Those that take what a tile's first ones leave, in their order. A search takes them, and a plan
// lists them, by this list alone.
inline constexpr std::array later_steps = {
    Step::own,       Step::again,        Step::without_duplicates,
    Step::two_terms, Step::finer_direct, Step::exact};
constexpr bool is_finer(Step step) {
    return step == Step::two_terms || step == Step::finer_direct;
}
// The strategy of a step in a search by that plan.
const strategy::Facts& strategy_of(Step step, const Plan& plan);

// The path of the filter that a plan falls back on: the one after a tree; fp16 for int8,
// projections and clusters.
Path own_path(const Plan& plan);

// The condition on which a step is taken.
enum class When : std::uint8_t {
    first,         // at once
    boxes,         // if a sample of the points says that boxes leave out most of them
    few_points,    // if a few of the queries look at few enough of the points
    radii,         // within a radius: if boxes leave out enough of the points
    held_int8,     // if int8 serves the points
    one_cluster,   // if a sample finds clusters that hardly overlap
    clusters,      // if a sample finds clusters
    components,    // if a sample says that few principal components pay
    int8,          // if a sample says that int8 pays
    int8_instead,  // if int8 pays, but principal components do not
    no_clusters,   // if a sample finds no clusters
    otherwise,     // for queries that the steps before leave, or if those do not pay
    longer_lists,  // again, with longer lists
    duplicates,    // again, without duplicate rows
    finer,         // for queries that the error of fp16 hides
    differences,   // for queries that the error of products hides
    full_words,    // again in f32, what a coarse form leaves
    last,          // whatever is left
};
// The condition in words, for plans.
const char* text(When when);

struct PlannedStep {
    const strategy::Facts* strategy = nullptr;
    When when = When::first;
    strategy::Tile tile;
};

class Steps {
public:
    static constexpr std::size_t most = 16;
    explicit Steps(strategy::Tile tile) : tile_(tile) {}
    // With the plan's tile.
    void add(const strategy::Facts& strategy, When when) { add(strategy, when, tile_); }
    void add(const strategy::Facts& strategy, When when, strategy::Tile tile) {
        steps_[static_cast<std::size_t>(count_++)] = {&strategy, when, tile};
    }
    const PlannedStep* begin() const { return steps_.data(); }
    const PlannedStep* end() const { return steps_.data() + count_; }
    std::int64_t size() const { return count_; }

private:
    strategy::Tile tile_;
    std::array<PlannedStep, most> steps_{};
    std::int64_t count_ = 0;
};

// The facts that decide about the steps.
struct Outline {
    strategy::Task task = strategy::Task::nearest;
    const Plan& plan;
    metric::Traits traits;
    bool user = false;  // formula or functor
    Shape shape;
    int multiprocessors = 0;
};
Steps steps_of(const Outline& outline);

// True if each tile of pairs can serve its rows and its columns in a graph of that shape, provided
// that there is memory for it.
bool symmetric_may_serve(const Shape& shape, const metric::Traits& traits);
// True if tiles of `queries` queries are compared with the nearest of the clusters of n points
// alone, provided that a sample finds clusters.
bool nearest_partition_may_serve(std::int64_t n, std::int64_t queries, std::int64_t k);

}  // namespace kith::gpu
