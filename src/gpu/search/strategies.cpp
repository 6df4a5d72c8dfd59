// Facts of a GPU's strategies, and the order of the steps.
#include "gpu/search/strategies.h"

#include <algorithm>
#include <optional>

#include "gpu/filter/dense/value_groups.h"
#include "gpu/filter/levels.h"
#include "gpu/search/tuning.h"

namespace kith::gpu {

namespace {

// Bytes that a strategy keeps for n points of d dimensions.

double coordinates(const Shape& s) {
    return static_cast<double>(s.n) * static_cast<double>(s.d);
}
double fp16_bytes(const Shape& s, const std::string&) {
    return 2 * coordinates(s);
}
// Includes the fp16 vectors for rescoring.
double int8_bytes(const Shape& s, const std::string&) {
    return 3 * coordinates(s);
}
double f32_bytes(const Shape& s, const std::string&) {
    return 4 * coordinates(s);
}
double projected_bytes(const Shape& s, const std::string&) {
    return tuning::vector_bytes(Path::projected, s.d) * static_cast<double>(s.n);
}

}  // namespace

#define KITH_GPU_STRATEGY(identifier, ...) \
    constinit const strategy::Facts strategies::identifier{__VA_ARGS__};
#include "gpu/search/strategies.def"
#undef KITH_GPU_STRATEGY

const strategy::Facts* find_strategy(std::string_view name) {
    for (const strategy::Facts* const each : all_strategies)
        if (name == each->name) return each;
    return nullptr;
}

Path own_path(const Plan& plan) {
    const Path path = plan.path == Path::tree ? tuning::behind_tree(plan) : plan.path;
    return tuning::takes_products(path) ? Path::gemm_f16 : path;
}

const strategy::Facts& strategy_of(Step step, const Plan& plan) {
    const bool direct = own_path(plan) == Path::direct_f32;
    const strategy::Facts& plain = direct ? strategies::direct_f32 : strategies::gemm_f16;
    switch (step) {
        case Step::noop:
            return strategies::noop;
        case Step::tree:
            return strategies::tree;
        case Step::host_int8:
            return strategies::host_int8;
        case Step::nearest_partition:
            return strategies::nearest_partition;
        case Step::clustered:
            return strategies::clustered;
        case Step::projected:
            return strategies::projected;
        case Step::gemm_i8:
            return strategies::gemm_i8;
        case Step::dense:
            return strategies::dense;
        case Step::own:
            if (!plan.distances.empty()) return strategies::papers;
            return plan.symmetric ? strategies::symmetric : plain;
        case Step::without_duplicates:
            return plan.distances.empty() ? plain : strategies::papers;
        case Step::again:
            return plain;
        case Step::two_terms:
            return strategies::gemm_f16x2;
        case Step::finer_direct:
            return strategies::direct_f32;
        case Step::exact:
            break;
    }
    return strategies::exact;
}

const char* text(When when) {
    switch (when) {
        case When::first:
            return "";
        case When::boxes:
            return "if a sample of the points says that boxes leave out most of them";
        case When::few_points:
            return "if a few of the queries look at few enough of the points";
        case When::radii:
            return "if boxes leave out enough of the points for these radii";
        case When::held_int8:
            return "if a sample of the points says that int8 serves them";
        case When::one_cluster:
            return "if a sample of the points finds clusters that hardly overlap";
        case When::clusters:
            return "if a sample of the points finds clusters";
        case When::components:
            return "if a sample of the points says that a few principal components pay";
        case When::int8:
            return "if a sample of the points says that int8 pays";
        case When::int8_instead:
            return "if a sample says that int8 pays, and principal components do not";
        case When::no_clusters:
            return "if a sample of the points finds no clusters";
        case When::otherwise:
            return "what these leave, or if they do not pay";
        case When::longer_lists:
            return "again, with longer lists, where thresholds are certain";
        case When::duplicates:
            return "again, without duplicate rows, if many rows are equal";
        case When::finer:
            return "what the error of fp16 hides";
        case When::differences:
            return "what the error of products hides";
        case When::full_words:
            return "again, in f32, what a coarser form leaves";
        case When::last:
            return "all that is left";
    }
    return "";
}

namespace {

// Adds the strategies ahead of the full-dimensional filter: they compare fewer points, or fewer
// coordinates.
void add_less(const Outline& o, Steps& steps) {
    const Plan& plan = o.plan;
    const bool held = plan.host_points == HostPoints::bytes;
    const auto unless_forced = [&](When when) { return plan.forced ? When::first : when; };
    switch (plan.path) {
        case Path::clustered:
            if (nearest_partition_may_serve(o.shape.n, std::min(plan.query_tile, o.shape.q),
                                            o.shape.k)) {
                steps.add(strategies::nearest_partition, When::one_cluster);
                steps.add(strategies::clustered, plan.forced ? When::otherwise : When::clusters);
            } else {
                steps.add(strategies::clustered, unless_forced(When::clusters));
            }
            if (!plan.forced) steps.add(strategies::gemm_i8, When::int8);
            break;
        case Path::projected:
            steps.add(strategies::projected, unless_forced(When::components));
            if (!plan.forced && plan.isa == "sm_90a")
                steps.add(strategies::gemm_i8, When::int8_instead);
            break;
        case Path::gemm_i8:
            if (held) steps.add(strategies::host_int8, When::held_int8);
            else steps.add(strategies::gemm_i8, unless_forced(When::int8));
            break;
        default:
            break;
    }
}

// Adds the steps for points without clusters: the search is then planned as if no sample had been
// asked.
void add_without_clusters(const Outline& o, Steps& steps) {
    const Shape& s = o.shape;
    if (o.plan.path != Path::clustered || o.plan.forced) return;
    if (symmetric_may_serve(s, o.traits)) steps.add(strategies::symmetric, When::no_clusters);
    const std::int64_t wanted = std::min(s.n, s.k + (s.graph ? 1 : 0));
    if (value_pass_serves(s.q, s.n, filter_width(s.d, 1), wanted, o.multiprocessors))
        steps.add(strategies::dense, When::no_clusters);
}

// On which condition a search by that plan takes a later step; nothing: never. `first`: no step is
// ahead of it.
std::optional<When> later_when(Step step, const Outline& o, bool first) {
    const bool filters = own_path(o.plan) != Path::exact;
    const bool products = own_path(o.plan) != Path::direct_f32;
    const bool nearest = o.task == strategy::Task::nearest;
    const bool has_direct =
        !o.user && o.traits.direct != metric::Direct::none && o.plan.distances.empty();
    const auto when = [](bool taken, When condition) {
        return taken ? std::optional(condition) : std::nullopt;
    };
    switch (step) {
        case Step::own:
            return when(filters, first ? When::first : When::otherwise);
        case Step::again:
            return when(filters && nearest, When::longer_lists);
        case Step::without_duplicates:
            return when(filters && nearest, When::duplicates);
        case Step::two_terms:
            return when(filters && products, When::finer);
        case Step::finer_direct:
            return when(filters && has_direct, products ? When::differences : When::full_words);
        default:
            return When::last;
    }
}

// The tile of a later step: queries that are left are fewer than a tile's, and may need longer
// lists.
strategy::Tile later_tile(Step step, const Outline& o) {
    const Plan& plan = o.plan;
    const auto workspace = static_cast<double>(plan.workspace_bytes);
    if (step == Step::own) return {plan.query_tile, plan.point_tile};
    if (step == Step::exact)
        return tuning::rescan_tile(workspace, o.shape.q, o.shape.d, o.shape.k, o.multiprocessors);
    return {step == Step::again ? tuning::retry_step(workspace) : plan.query_tile / 4 + 1,
            plan.point_tile};
}

}  // namespace

bool symmetric_may_serve(const Shape& s, const metric::Traits& traits) {
    const metric::Gemm form = metric::product_form(traits);
    return s.graph && s.n >= tuning::symmetric_points && s.n <= tuning::symmetric_most_points &&
           s.d >= tuning::symmetric_dimensions && s.d <= tuning::symmetric_most_dimensions &&
           !traits.factored && (form == metric::Gemm::l2 || form == metric::Gemm::cosine);
}

bool nearest_partition_may_serve(std::int64_t n, std::int64_t queries, std::int64_t k) {
    return queries > listed_queries && 2 * k * tuning::least_clusters <= n;
}

Steps steps_of(const Outline& o) {
    const Plan& plan = o.plan;
    const bool within = o.task == strategy::Task::within;
    Steps steps({plan.query_tile, plan.point_tile});
    if (const strategy::Facts* const first =
            plan.first.empty() ? nullptr : find_strategy(plan.first))
        steps.add(*first, When::first);
    if (plan.path == Path::exact) {
        steps.add(strategies::exact, When::first);
        return steps;
    }
    const std::int64_t before = steps.size();
    if (within && o.traits.monotone && !plan.forced) steps.add(strategies::tree, When::radii);
    else if (plan.path == Path::tree)
        steps.add(strategies::tree, plan.forced ? When::first : When::few_points);
    else if (plan.tries_tree) steps.add(strategies::tree, When::boxes);
    if (!within) add_less(o, steps);
    if (!within) add_without_clusters(o, steps);
    const auto is_first = [&] { return steps.size() == before; };
    if (plan.distances.empty() && plan.matrix_queries > 0)
        steps.add(strategies::dense, is_first() ? When::first : When::otherwise);
    for (const Step step : later_steps)
        if (const std::optional<When> when = later_when(step, o, is_first()))
            steps.add(strategy_of(step, plan), *when, later_tile(step, o));
    return steps;
}

}  // namespace kith::gpu
