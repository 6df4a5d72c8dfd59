// The goals of certified search on an H100 with 80 GB: Gaussian data by size, then data that a filter finds harder.
// Those of ordinary data are relative, and hold everywhere.
#include "search/goals.h"

#include <algorithm>
#include <string>
#include <utility>

#include "kith/plan.h"

namespace kith::bench {

namespace {

constexpr std::int64_t graph_points = std::int64_t{1} << 17;
// At least half of the Gaussian rate.
const std::vector<Goal> half = {{10, 0.5}, {100, 0.5}};

GoalSet special(const std::string& name, Data data, ElementType type, MetricId metric, std::int64_t d = 128) {
    return {.name = name,
            .data = data,
            .type = type,
            .metric = metric,
            .d = d,
            .kind = GoalKind::of_gaussian,
            .goals = half};
}

GoalSet images(const std::string& name, bool graph) {
    return {.name = name, .graph = graph, .of_file = true, .kind = GoalKind::of_gaussian, .goals = half};
}

// For images, shifted and mirrored to as many points as the other sets have.
GoalSet many_images() {
    GoalSet set = images("images-million", false);
    set.copies_to = set.n;
    set.kind = GoalKind::rate;
    set.goals = {{10, 1300}, {100, 900}};
    return set;
}

GoalSet spectrum(std::int64_t d, std::vector<Goal> goals) {
    return {.name = "spectrum-" + std::to_string(d), .data = Data::spectrum, .d = d, .goals = std::move(goals)};
}

// Ten million quantised embeddings.
GoalSet many_bytes() {
    GoalSet set = spectrum(128, {{10, 3300}, {100, 2300}});
    set.name += "-u8";
    set.type = ElementType::u8;
    set.n = 10'000'000;
    set.q = 10'000;
    return set;
}

// Uniform points in space, all of them among themselves.
GoalSet graph_of_coordinates() {
    return {.name = "graph-3",
            .data = Data::uniform,
            .n = 1'000'000,
            .d = 3,
            .graph = true,
            .kind = GoalKind::milliseconds,
            .goals = {{10, 30}}};
}

// Metrics in their direct form, and kl_divergence: k 100 within 15 % of k 10.
GoalSet direct(const std::string& name, MetricId metric, double rate) {
    return {.name = name, .metric = metric, .n = graph_points, .q = 4096, .goals = {{10, rate}, {100, 0.85 * rate}}};
}

GoalSet powers(const std::string& name, double p, double rate) {
    GoalSet set = direct(name, MetricId::minkowski, rate);
    set.p = p;
    return set;
}

GoalSet counted(const std::string& name, bool packed_bits, double rate) {
    GoalSet set = direct(name, MetricId::hamming, rate);
    set.data = Data::uniform;
    set.type = ElementType::u8;
    set.packed_bits = packed_bits;
    return set;
}

// For uniform values, which have roots.
GoalSet of_formula(const std::string& name, const std::string& text, double rate) {
    GoalSet set = direct(name, MetricId::formula, rate);
    set.data = Data::uniform;
    set.formula = text;
    return set;
}

GoalSet fallback(double rate) {
    GoalSet set = direct("direct-sqeuclidean", MetricId::sqeuclidean, rate);
    set.path = kith::name(Path::direct_f32);
    return set;
}

}  // namespace

const std::vector<GoalSet>& search_goals() {
    using enum MetricId;
    static const std::vector<GoalSet> all = {
        {.name = "gaussian-16", .d = 16, .goals = {{10, 4500}, {100, 1500}, {1000, 500}}},
        {.name = "gaussian-64", .d = 64, .goals = {{10, 3300}, {100, 1200}, {1000, 450}}},
        {.name = "gaussian-128", .d = 128, .goals = {{10, 2300}, {100, 1000}, {1000, 400}}},
        {.name = "gaussian-256", .d = 256, .goals = {{10, 800}, {100, 700}, {1000, 350}}},
        {.name = "gaussian-768", .d = 768, .goals = {{10, 350}, {100, 320}, {1000, 200}}},
        {.name = "few-queries", .q = 128, .goals = {{10, 600}, {100, 500}}},
        {.name = "one-query", .q = 1, .kind = GoalKind::milliseconds, .goals = {{10, 0.12}, {100, 0.15}}},
        {.name = "one-query-768", .q = 1, .d = 768, .kind = GoalKind::milliseconds, .goals = {{10, 0.62}}},
        {.name = "one-query-20000", .n = 20000, .q = 1, .kind = GoalKind::milliseconds, .goals = {{10, 0.06}}},
        {.name = "square-4096", .n = 4096, .q = 4096, .kind = GoalKind::milliseconds, .goals = {{10, 0.15}}},
        {.name = "graph", .n = graph_points, .graph = true, .goals = {{10, 1500}, {100, 1000}}},
        graph_of_coordinates(),
        images("images-graph", true),
        images("images", false),
        many_images(),
        spectrum(128, {{10, 2600}, {100, 1900}}),
        spectrum(768, {{10, 1100}, {100, 800}}),
        spectrum(1536, {{10, 900}, {100, 600}}),
        many_bytes(),
        // 2.5 ms at k 10.
        {.name = "clusters", .data = Data::clusters, .goals = {{10, 3436}, {100, 834}}},
        special("unit-sqeuclidean", Data::unit, ElementType::f32, sqeuclidean),
        special("unit-cosine", Data::unit, ElementType::f32, cosine),
        special("unit-inner-product", Data::unit, ElementType::f32, inner_product),
        special("bytes-u8", Data::uniform, ElementType::u8, sqeuclidean),
        special("bytes-i8", Data::uniform, ElementType::i8, sqeuclidean),
        special("uniform-16", Data::uniform, ElementType::f32, sqeuclidean, 16),
        direct("cityblock", cityblock, 110),
        direct("chebyshev", chebyshev, 110),
        fallback(110),
        counted("hamming-bytes", false, 110),
        counted("hamming-bits", true, 100),
        powers("minkowski-3", 3, 45),
        powers("minkowski-2.5", 2.5, 9),
        direct("canberra", canberra, 20),
        direct("braycurtis", braycurtis, 45),
        direct("jensenshannon", jensenshannon, 18),
        direct("kl-divergence", kl_divergence, 300),
        of_formula("formula-cityblock", "a + fabs(q - x)", 75),
        of_formula("formula-hellinger", "a + (sqrt(q) - sqrt(x)) * (sqrt(q) - sqrt(x))", 55),
        of_formula("formula-quotients", "a + fabs(q - x) / (1 + fabs(q) + fabs(x))", 20),
        of_formula("formula-powers", "a + pow(fabs(q - x), 1.5)", 10),
        {.name = "one-shot", .kind = GoalKind::of_parts, .goals = {{10, 1.3}}},
    };
    return all;
}

std::vector<GoalSet> ordinary_goals(OrdinaryShape shape, bool gpu) {
    constexpr std::int64_t points_gpu = std::int64_t{1} << 20, points_cpu = std::int64_t{1} << 17, graph_part = 8;
    constexpr double of_gaussian = 1.0 / 3, most_scanned = 1e-3;
    if (shape.n == 0) shape.n = gpu ? points_gpu : points_cpu;
    std::vector<GoalSet> sets;
    for (const OrdinarySet& set : ordinary_sets())
        sets.push_back({.name = set.name,
                        .type = set.type,
                        .metric = set.metric,
                        .n = set.graph ? std::max<std::int64_t>(1, shape.n / graph_part) : shape.n,
                        .q = shape.q,
                        .d = set.d,
                        .graph = set.graph,
                        .ordinary = &set,
                        .packed_bits = set.packed_bits,
                        .kind = GoalKind::of_gaussian,
                        .goals = {{shape.k, of_gaussian}},
                        .most_scanned = most_scanned});
    return sets;
}

}  // namespace kith::bench
