// The order of the steps: see strategies.h.
#include "cpu/search/strategies.h"

#include <algorithm>

#include "cpu/search/row_filter.h"
#include "cpu/tuning.h"

namespace kith::cpu {

namespace {

using strategy::CauseSet;

const Strategy& of_path(Path path) {
    switch (path) {
        case Path::tree:
            return strategies::tree;
        case Path::projected:
            return strategies::projected;
        case Path::gemm_i8:
            return strategies::gemm_i8;
        case Path::gemm_bf16:
            return strategies::gemm_bf16;
        case Path::direct_f32:
            return strategies::direct_f32;
        case Path::exact:
            return strategies::exact;
        default:
            return strategies::gemm_f32;
    }
}

ChainStep step(const Strategy& strategy, When when) {
    return {&strategy, when, strategy.facts.takes};
}

bool has_products(const metric::Traits& traits) {
    return metric::product_form(traits) != metric::Gemm::none;
}

bool has_direct(const metric::Traits& traits) {
    return traits.direct != metric::Direct::none;
}

void add_last(const Outline& o, Steps& steps) {
    if (o.plan.path == Path::tree || o.plan.tries_tree || o.has_tree)
        steps.add(step(strategies::tree, When::made));
    steps.add(step(strategies::exact, When::last));
}

// Adds the filters for queries that products, or the filter `own`, have left.
void add_finer(const Outline& o, const Strategy& own, Steps& steps) {
    const bool products = has_products(o.traits);
    if (&own == &strategies::gemm_bf16) steps.add(step(strategies::gemm_f32, When::finer));
    else if (&own == &strategies::direct_f32 && products)
        steps.add(step(strategies::gemm_f32, When::uncovered));
    if (products && has_direct(o.traits) && &own != &strategies::direct_f32)
        steps.add(step(strategies::direct_f32, When::differences));
}

void add_nearest(const Outline& o, Path path, Steps& steps) {
    const Strategy* own = &of_path(path);
    const bool coarse = path == Path::projected || path == Path::gemm_i8;
    if (coarse) {
        steps.add(step(*own, When::sample));
        if (path == Path::projected && o.bytes) steps.add(step(strategies::gemm_i8, When::instead));
        steps.add({own, When::unlimited, CauseSet::of(exact::Cause::directions)});
        own = o.bf16 && o.d >= min_bf16_dimensions ? &strategies::gemm_bf16 : &strategies::gemm_f32;
    }
    const bool rows = row_filter_serves(o.metric, o.type, o.d);
    if (rows && (coarse || o.queries <= max_row_queries))
        steps.add(step(strategies::rows, When::few_queries));
    steps.add(step(*own, coarse ? When::all_coordinates : When::first));
    steps.add(step(*own, When::without_repeats));
    if (rows && !coarse && o.queries > max_row_queries)
        steps.add(step(strategies::rows, When::few_queries));
    add_finer(o, *own, steps);
    steps.add(step(*own, When::without_repeats));
}

}  // namespace

const Strategy* find_strategy(std::string_view name) {
    for (const Strategy* const each : all_strategies)
        if (name == each->facts.name) return each;
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
    const bool direct = has_direct(traits) && (!has_products(traits) || d <= direct_dimensions);
    return direct ? Path::direct_f32 : Path::gemm_f32;
}

Steps steps_of(const Outline& o) {
    Steps steps;
    if (const Strategy* const first = o.plan.first.empty() ? nullptr : find_strategy(o.plan.first))
        steps.add(step(*first, When::first));
    if (!o.plan.selector.empty() || o.plan.path == Path::exact) {
        steps.add(step(strategies::exact, When::first));
        return steps;
    }
    const bool within = o.task == strategy::Task::within;
    Path path = o.plan.path;
    if (path == Path::tree) {
        steps.add(step(strategies::tree, When::few_keys));
        path = within ? (has_direct(o.traits) ? Path::direct_f32 : Path::gemm_f32)
                      : path_behind_tree(o.traits, o.d);
    } else if (o.plan.tries_tree && !o.plan.forced && !within) {
        steps.add(step(strategies::tree, When::boxes));
    }
    if (within) {
        steps.add(step(of_path(path), When::first));
        add_finer(o, of_path(path), steps);
    } else {
        add_nearest(o, path, steps);
    }
    add_last(o, steps);
    return steps;
}

}  // namespace kith::cpu
