// See retries.h.
#include "gpu/search/tile/retries.h"

#include <algorithm>
#include <cmath>

#include "gpu/points/prepare_filter.h"
#include "gpu/points/repeats.h"
#include "gpu/primitives/f32.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/with_room.h"
#include "gpu/search/tuning.h"

namespace kith::gpu {

namespace {

// Reads `values` as the stream comes to it.
Buffer<std::int64_t> on_device(const std::vector<std::int64_t>& values, cudaStream_t stream) {
    Buffer<std::int64_t> out(static_cast<std::int64_t>(values.size()), stream);
    check(cudaMemcpyAsync(out.get(), values.data(), values.size() * sizeof(std::int64_t),
                          cudaMemcpyDefault, stream),
          "cudaMemcpy");
    return out;
}

std::vector<std::int64_t> rows_of(const LeftQueries& queries) {
    std::vector<std::int64_t> rows;
    rows.reserve(queries.size());
    for (const LeftQuery& query : queries) rows.push_back(query.row);
    return rows;
}

// Queries that a step takes, and those that it does not.
struct Share {
    LeftQueries taken, others;
};
template <class Takes>
Share share(const LeftQueries& left, Takes takes) {
    Share share;
    for (const LeftQuery& query : left)
        (takes(query) ? share.taken : share.others).push_back(query);
    return share;
}
LeftQueries together(const LeftQueries& a, const LeftQueries& b) {
    LeftQueries all;
    all.reserve(a.size() + b.size());
    std::ranges::merge(a, b, std::back_inserter(all), {}, &LeftQuery::row, &LeftQuery::row);
    return all;
}

// Filters `which` by the choice, `at_once` at a time, and writes their neighbours into the tile's
// result. thresholds: a certain one of each, or none at all, which takes them from samples.
LeftQueries filter_again(const RetryTile& tile, Step step, TileFilterChoice choice,
                         const LeftQueries& which, std::int64_t at_once,
                         const std::vector<float>& thresholds = {}) {
    const SearchContext& context = tile.context;
    LeftQueries left;
    const std::vector<std::int64_t> rows = rows_of(which);
    const InFlight reading(context.stream);
    const GatheredQueries again(context, tile.queries.rows, on_device(rows, context.stream),
                                tile.self);
    const std::int64_t count = std::ssize(rows);
    for (std::int64_t first = 0; first < count; first += at_once) {
        const std::int64_t some = std::min(at_once, count - first);
        choice.thresholds = thresholds.empty() ? nullptr : thresholds.data() + first;
        FilterOutcome found = filter_tile(context, tile.chunk, choice, again.tile(first, some));
        scatter_result(context, found.result, again.index.get() + first, some, tile.result);
        for (LeftQuery query : left_by(found, context.report.candidates, context.stream)) {
            query.row = rows[static_cast<std::size_t>(first + query.row)];
            left.push_back(query);
        }
        cancel_if_asked(context);
    }
    for (const std::int64_t row : rows) context.log.took(step, tile.first + row);
    for (const LeftQuery& query : left)
        context.log.left(step, thresholds.empty() ? query.cause : exact::Cause::alike);
    context.log.lap(step);
    return left;
}

// Queries of a retry with thresholds from samples that are filtered at a time.
std::int64_t sampled_at_once(const RetryTile& tile, const FilterVectors& filter,
                             const LeftQueries& which) {
    const SearchContext& context = tile.context;
    const std::int64_t most =
        std::min<std::int64_t>(std::ssize(which), context.plan.query_tile / 4 + 1);
    if (!filter.form.is_direct()) return most;
    const double cost = tuning::direct_cost(traits_of(context.points.metric).direct);
    return std::min(
        most, tuning::responsive_queries(tile.chunk.points.rows.count, context.points.d, cost));
}

LeftQueries filter_sampled(const RetryTile& tile, Step step, const TileFilterChoice& choice,
                           const LeftQueries& which) {
    return filter_again(tile, step, choice, which, sampled_at_once(tile, choice.filter, which));
}

// Queries for which a projection left more candidates than there is room for: by all coordinates,
// as if there were no projection, since their thresholds follow from few of the points.
LeftQueries by_all_coordinates(const RetryTile& tile, const LeftQueries& left) {
    const auto [projected, others] =
        share(left, [](const LeftQuery& query) { return query.cause == exact::Cause::directions; });
    if (projected.empty()) return left;
    return together(
        others,
        filter_sampled(tile, Step::own, {.filter = tile.own, .repeats = known_repeats(tile.chunk)},
                       projected));
}

// A threshold that is a little wider: its values may have been computed with the other side of the
// pair as query.
float widened(float threshold) {
    return std::min(threshold + std::abs(threshold) * 0x1p-20f, largest_f32);
}

// Queries with a certain threshold: the same filter, with the longest lists.
LeftQueries with_thresholds(const RetryTile& tile, const LeftQueries& left) {
    const SearchContext& context = tile.context;
    const auto [certain, others] =
        share(left, [](const LeftQuery& query) { return std::isfinite(query.threshold); });
    LeftQueries still;
    if (!certain.empty()) {
        std::vector<float> thresholds;
        for (const LeftQuery& query : certain) thresholds.push_back(widened(query.threshold));
        const std::int64_t at_once = std::min<std::int64_t>(
            std::ssize(certain),
            tuning::retry_step(static_cast<double>(context.plan.workspace_bytes)));
        still = filter_again(tile, Step::again,
                             {.filter = tile.own, .repeats = known_repeats(tile.chunk)}, certain,
                             at_once, thresholds);
    }
    still = together(others, still);
    for (const LeftQuery& query : still)
        context.log.mark(tile.first + query.row, AttemptLog::retried, exact::Cause::alike);
    return still;
}

// Without the duplicate rows beyond those that can be neighbours, where these have not been left
// out before.
LeftQueries without_duplicates(const RetryTile& tile, const LeftQueries& left) {
    const SearchContext& context = tile.context;
    const bool known = known_repeats(tile.chunk) != nullptr;
    const bool many = std::ssize(left) >= tuning::repeats_queries;
    const Repeats* const repeats =
        counted_repeats(tile.chunk, context.points.d, many ? spare(context) : 0);
    if (!repeats || known) return left;
    LeftQueries still = filter_sampled(tile, Step::without_duplicates,
                                       {.filter = tile.own, .repeats = repeats}, left);
    for (const LeftQuery& query : left)
        if (!std::ranges::binary_search(still, query.row, {}, &LeftQuery::row))
            context.log.mark(tile.first + query.row, AttemptLog::retried, exact::Cause::equal_rows);
    return still;
}

// Queries whose neighbours the tile's filter cannot tell apart.
LeftQueries by_finer_filter(const RetryTile& tile, Step step, const LeftQueries& left) {
    const SearchContext& context = tile.context;
    if (!finer_pays(context, tile.chunk, tile.own, step, std::ssize(left))) return left;
    const FilterVectors& finer = filter_of(tile.chunk, context.points.metric, finer_kind(step));
    if (is_coarse(tile.own.form) &&
        tuning::misled_by_queries(tile.queries.rows.count, std::ssize(left)))
        context.learned.coarse_misleads = true;
    return filter_sampled(tile, step, {.filter = finer, .repeats = known_repeats(tile.chunk)},
                          left);
}

// The canonical distance of every pair.
void scan(const RetryTile& tile, const LeftQueries& left) {
    const SearchContext& context = tile.context;
    const std::vector<std::int64_t> rows = rows_of(left);
    InFlight reading(context.stream);
    const GatheredQueries again(context, tile.queries.rows, on_device(rows, context.stream),
                                tile.self);
    const std::int64_t count = std::ssize(rows);
    const strategy::Tile rescan =
        tuning::rescan_tile(static_cast<double>(context.plan.workspace_bytes), count,
                            context.points.d, context.k, device_attributes().multiprocessors);
    const std::int64_t step = std::min(count, rescan.queries);
    for (std::int64_t first = 0; first < count; first += step) {
        const std::int64_t some = std::min(step, count - first);
        const TileResult found =
            scan_tile(tile.chunk, context.points.metric, again.tile(first, some), context.k,
                      rescan.points, context.stream);
        scatter_result(context, found, again.index.get() + first, some, tile.result);
        if (first + some < count) {
            check(cudaStreamSynchronize(context.stream), "scan of queries without a certificate");
            cancel_if_asked(context);
        }
    }
    reading.wait("scan of queries without a certificate");
    context.report.candidates +=
        static_cast<double>(count) * static_cast<double>(tile.chunk.points.rows.count);
    for (const std::int64_t row : rows) {
        context.log.took(Step::exact, tile.first + row);
        context.log.mark(tile.first + row, AttemptLog::scanned, exact::Cause::none);
    }
    context.log.lap(Step::exact);
}

}  // namespace

bool finer_pays(const SearchContext& context, const Chunk& chunk, const FilterVectors& own,
                Step step, std::int64_t queries) {
    const bool coarse = is_coarse(own.form), direct = step == Step::finer_direct;
    return (context.plan.path != Path::direct_f32 || (coarse && direct)) &&
           has_filter(context.points.metric, chunk.points.rows.type, finer_kind(step)) &&
           queries >= tuning::finer_queries(direct, coarse) &&
           tuning::finer_bytes(direct, coarse ? own.form.width : 0, chunk.points.rows.count,
                               context.points.d) <= spare(context);
}

LeftQueries take(Step step, const RetryTile& tile, LeftQueries left) {
    const auto with_memory = [&](auto answer) {
        LeftQueries still;
        return with_room([&] { still = answer(); }) ? still : left;
    };
    switch (step) {
        case Step::own:
            return with_memory([&] { return by_all_coordinates(tile, left); });
        case Step::again:  // within the plan's workspace
            return with_thresholds(tile, left);
        case Step::without_duplicates:
            return with_memory([&] { return without_duplicates(tile, left); });
        case Step::two_terms:
        case Step::finer_direct:
            return with_memory([&] { return by_finer_filter(tile, step, left); });
        default:
            scan(tile, left);
            return {};
    }
}

}  // namespace kith::gpu
