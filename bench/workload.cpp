// Workloads: seeded data, warm-up, timed runs.
#include "workload.h"

#include <memory>

#include "api/check/validate.h"
#include "arrays.h"

namespace kith::bench {

Plan plan_of(const Workload& w, const Options& options) {
    return w.select ? plan_select(w.q, w.n, w.k, ElementType::f32, options)
                    : plan({w.n, w.graph ? w.n : w.q, w.d, w.k, w.type, w.graph}, options);
}

Workload served(Workload w, MetricId metric) {
    const metric::Traits traits = api::traits_of(metric);
    if (!w.select && traits.dimensions) w.d = traits.dimensions;
    return w;
}

Result run(const Workload& w, const Options& options, int repeat) {
    Result result;
    result.workload = w;
    const int device = plan_of(w, options).device;
    const Output out(w.graph ? w.n : w.q, w.k, device);
    const metric::Traits traits = api::traits_of(options.metric.id);
    // One limit for all coordinates: the least that the metric has.
    Recipe recipe{w.data, !w.select && traits.non_negative, points_seed, w.select ? 0 : traits.limits[0].largest};
    if (w.select) {
        const Rows rows = rows_of(recipe, w.q, w.n, ElementType::f32, device);
        result.once = repeated(repeat, [&] { return select_into(rows.view, w.k, options, out.view); });
        return result;
    }
    const Rows points = rows_of(recipe, w.n, w.d, w.type, device);
    recipe.seed = queries_seed;
    const Rows queries = w.graph ? points : rows_of(recipe, w.q, w.d, w.type, device);
    result.once = repeated(repeat, [&] {
        return w.graph ? graph_into(points.view, w.k, options, out.view)
                       : search_into(points.view, queries.view, w.k, options, out.view);
    });
    std::unique_ptr<Index> index;
    result.prepare_seconds = timed([&] { index = std::make_unique<Index>(points.view, options); });
    result.indexed = repeated(repeat, [&] {
        return w.graph ? index->graph_into(w.k, options, out.view)
                       : index->search_into(queries.view, w.k, options, out.view);
    });
    return result;
}

std::vector<Workload> suite(bool quick) {
    const std::int64_t part = quick ? 10 : 1;
    return {
        {"images", false, 60'000, 10'000 / part, 784, 10},
        {"narrow", false, 100'000, 10'000 / part, 16, 10},
        {"middle", false, 100'000, 10'000 / part, 128, 10},
        {"middle-k100", false, 100'000, 10'000 / part, 128, 100},
        {"wide", false, 100'000, 10'000 / part, 768, 10},
        {"one-query", false, 1'000'000, 1, 128, 10},
        {"select", true, 1 << 20, 1024 / part / 8, 1, 32},
        {"select-k2048", true, 1 << 20, 1024 / part / 8, 1, 2048},
        {"select-short", true, 1 << 15, 8192 / part / 2, 1, 32},
    };
}

}  // namespace kith::bench
