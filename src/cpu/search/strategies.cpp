// The order of the steps: see strategies.h.
#include "cpu/search/strategies.h"

#include <algorithm>

#include "cpu/search/row_filter.h"
#include "cpu/tuning.h"

namespace kith::cpu {

namespace {

using strategy::CauseSet;

constexpr const Strategy* tree = listed("tree");
constexpr const Strategy* int8 = listed("gemm_i8");
constexpr const Strategy* rows = listed("rows");
constexpr const Strategy* bf16 = listed("gemm_bf16");
constexpr const Strategy* f32 = listed("gemm_f32");
constexpr const Strategy* direct = listed("direct_f32");

ChainStep step(const Strategy* strategy, When when) {
    return {strategy, when, strategy ? strategy->facts.takes : CauseSet::all()};
}

bool has_products(const metric::Traits& traits) {
    return metric::product_form(traits) != metric::Gemm::none;
}

bool has_direct(const metric::Traits& traits) {
    return traits.direct != metric::Direct::none;
}

void add_last(const Outline& o, Steps& steps) {
    if (o.plan.path == Path::tree || o.plan.tries_tree || o.has_tree)
        steps.add(step(tree, When::made));
    steps.add(step(&strategies::exact, When::last));
}

// Adds the filters for queries that products, or the filter `own`, have left.
void add_finer(const Outline& o, const Strategy* own, Steps& steps) {
    if (!own) return;
    const bool products = has_products(o.traits);
    if (own == bf16) steps.add(step(f32, When::finer));
    else if (own == direct && products) steps.add(step(f32, When::uncovered));
    if (products && has_direct(o.traits) && own != direct)
        steps.add(step(direct, When::differences));
}

void add_nearest(const Outline& o, Path path, Steps& steps) {
    const Strategy* own = find_strategy(name(path));
    const bool coarse = path == Path::projected || path == Path::gemm_i8;
    if (coarse) {
        steps.add(step(own, When::sample));
        if (path == Path::projected && o.bytes) steps.add(step(int8, When::instead));
        steps.add({own, When::unlimited, CauseSet::of(exact::Cause::directions)});
        own = o.bf16 && o.d >= min_bf16_dimensions && is_listed(bf16) ? bf16 : f32;
    }
    // They stand in for the panels of the next step.
    const bool in_place = own && row_filter_serves(o.metric, o.type, o.d);
    if (in_place && (coarse || o.queries <= max_row_queries))
        steps.add(step(rows, When::few_queries));
    steps.add(step(own, coarse ? When::all_coordinates : When::first));
    steps.add(step(own, When::without_repeats));
    if (in_place && !coarse && o.queries > max_row_queries)
        steps.add(step(rows, When::few_queries));
    add_finer(o, own, steps);
    steps.add(step(own, When::without_repeats));
}

}  // namespace

const Strategy* find_strategy(std::string_view name) {
    for (const Listed& each : all_strategies)
        if (name == each.strategy->facts.name) return each.strategy;
    return nullptr;
}

const char* text(When when) {
    switch (when) {
        case When::first:
            return "";
        case When::boxes:
            return "where a sample of the points says that boxes leave out most of them";
        case When::few_keys:
            return "where a few of the queries look at few enough of the points";
        case When::sample:
            return "where a sample says that it pays";
        case When::instead:
            return "where the one before does not pay";
        case When::unlimited:
            return "again, for the few queries that have read too many rows, without a limit";
        case When::few_queries:
            return "for up to 16 queries, where the next is not packed";
        case When::all_coordinates:
            return "what coarse panels leave";
        case When::without_repeats:
            return "again, where ties say that rows repeat, without those";
        case When::finer:
            return "what the error of bf16 hides";
        case When::uncovered:
            return "where the one before covers too few points";
        case When::differences:
            return "what the error of products hides";
        case When::made:
            return "all that is left, where the tree has been made";
        case When::last:
            return "all that is left";
    }
    return "";
}

bool rows_serve(MetricId metric, ElementType type, std::int64_t queries, std::int64_t d) {
    return queries <= max_row_queries && row_filter_serves(metric, type, d);
}

Path path_behind_tree(const metric::Traits& traits, std::int64_t d) {
    const bool differences = is_listed(direct) && has_direct(traits) &&
                             (!has_products(traits) || d <= direct_dimensions || !is_listed(f32));
    return differences ? Path::direct_f32 : Path::gemm_f32;
}

Steps steps_of(const Outline& o) {
    Steps steps;
    if (!o.plan.first.empty()) steps.add(step(find_strategy(o.plan.first), When::first));
    if (!o.plan.selector.empty() || o.plan.path == Path::exact) {
        steps.add(step(&strategies::exact, When::first));
        return steps;
    }
    const bool within = o.task == strategy::Task::within;
    Path path = o.plan.path;
    if (path == Path::tree) {
        steps.add(step(tree, When::few_keys));
        path = within ? (has_direct(o.traits) ? Path::direct_f32 : Path::gemm_f32)
                      : path_behind_tree(o.traits, o.d);
    } else if (o.plan.tries_tree && !o.plan.forced && !within) {
        steps.add(step(tree, When::boxes));
    }
    if (within) {
        const Strategy* const own = find_strategy(name(path));
        steps.add(step(own, When::first));
        add_finer(o, own, steps);
    } else {
        add_nearest(o, path, steps);
    }
    add_last(o, steps);
    return steps;
}

}  // namespace kith::cpu
