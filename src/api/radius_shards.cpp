// Points within a radius in shards of the points, and the merge of what is found.
#include "api/guard.h"
#include "api/radius.h"
#include "api/radius_merge.h"
#include "api/request.h"
#include "api/rows.h"
#include "api/validate.h"
#include "exact/refuse.h"
#include "kith/shards.h"

namespace kith {

namespace {

std::int64_t own_of(std::int64_t first_point, std::int64_t first_query, const Options& options) {
    if (first_query < 0) refuse("first_query: {}; expected an id of at least 0", first_query);
    if (options.include_self)
        refuse("include_self: true; expected a graph without the points themselves");
    return first_query - first_point;
}

Report list(const MatrixView& shard, std::int64_t first_point, const MatrixView& queries,
            const Radius& r, const Options& options, const TakeRadiusRows& take,
            std::optional<std::int64_t> own) {
    std::vector<std::int64_t> ids;
    const TakeRadiusRows among_all = [&](const RadiusRows& rows) {
        ids.assign(rows.ids, rows.ids + rows.offsets[rows.count]);
        for (std::int64_t& id : ids) id += first_point;
        RadiusRows given = rows;
        given.ids = ids.data();
        machine::for_caller(take)(given);
    };
    return api::radius_once(shard, &queries, r, options,
                            {.take = &among_all, .own = own, .keys = true});
}

RadiusCounts count(const MatrixView& shard, const MatrixView& queries, const Radius& r,
                   const Options& options, std::optional<std::int64_t> own) {
    return api::collect_counts(queries.rows, [&](std::int64_t* counts) {
        return api::radius_once(shard, &queries, r, options, {.counts = counts, .own = own});
    });
}

}  // namespace

Report radius_shard(const MatrixView& shard, std::int64_t first_point, const MatrixView& queries,
                    const Radius& r, const Options& options, const TakeRadiusRows& take) {
    return api::guarded([&] {
        api::check_shard(shard, first_point, queries, options.metric);
        return list(shard, first_point, queries, r, options, take, {});
    });
}

Report radius_graph_shard(const MatrixView& shard, std::int64_t first_point,
                          const MatrixView& queries, std::int64_t first_query, const Radius& r,
                          const Options& options, const TakeRadiusRows& take) {
    return api::guarded([&] {
        api::check_shard(shard, first_point, queries, options.metric);
        return list(shard, first_point, queries, r, options, take,
                    own_of(first_point, first_query, options));
    });
}

RadiusCounts radius_shard_counts(const MatrixView& shard, const MatrixView& queries,
                                 const Radius& r, const Options& options) {
    return api::guarded([&] {
        api::check_shard(shard, 0, queries, options.metric);
        return count(shard, queries, r, options, {});
    });
}

RadiusCounts radius_graph_shard_counts(const MatrixView& shard, std::int64_t first_point,
                                       const MatrixView& queries, std::int64_t first_query,
                                       const Radius& r, const Options& options) {
    return api::guarded([&] {
        api::check_shard(shard, first_point, queries, options.metric);
        return count(shard, queries, r, options, own_of(first_point, first_query, options));
    });
}

RadiusNeighbors merge_radius(const std::vector<RadiusRows>& shards, std::int64_t dimensions,
                             const Options& options) {
    return api::guarded([&] {
        if (shards.empty()) refuse("shards: none; expected the rows of one at least");
        const std::int64_t rows = shards.front().count;
        for (const RadiusRows& s : shards) {
            if (s.first != shards.front().first || s.count != rows)
                refuse("shards: {} rows from {} on; expected {} from {} on, as the first has",
                       s.count, s.first, rows, shards.front().first);
            if (s.offsets[rows] > 0 && !s.distances64)
                refuse("shards: no distances of f64; expected the keys of radius_shard()");
        }
        const Metric metric = api::named_or(options.metric, api::usual_radius_metric);
        return api::merged(shards, rows, api::distances_of_shards(metric, dimensions), options.f64,
                           api::threads_of(options));
    });
}

}  // namespace kith
