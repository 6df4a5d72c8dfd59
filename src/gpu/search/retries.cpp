// See retries.h.
#include "gpu/search/retries.h"

#include <algorithm>
#include <cmath>

#include "gpu/points/prepare_filter.h"
#include "gpu/points/repeats.h"
#include "gpu/primitives/f32.h"
#include "gpu/runtime/device.h"
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

// Retries queries with a choice of filter, with thresholds from samples. Returns those that are
// left, by the queries' numbers.
Uncertain retry_with(const SearchContext& context, const Chunk& chunk,
                     const TileFilterChoice& choice, const DeviceRows& queries,
                     const std::int64_t* self, const std::vector<std::int64_t>& which,
                     TileResult& result) {
    Uncertain left;
    const InFlight reading(context.stream);
    const GatheredQueries again(context, queries.rows, on_device(which, context.stream), self);
    const auto count = static_cast<std::int64_t>(which.size());
    std::int64_t step = std::min(count, context.plan.query_tile / 4 + 1);
    if (choice.filter.form.is_direct()) {
        const double cost = tuning::direct_cost(traits_of(context.points.metric).direct);
        step = std::min(
            step, tuning::responsive_queries(chunk.points.rows.count, context.points.d, cost));
    }
    for (std::int64_t first = 0; first < count; first += step) {
        const std::int64_t some = std::min(step, count - first);
        FilterOutcome found =
            filter_tile(chunk, choice, context.points.metric, again.tile(first, some), context.k,
                        context.plan, context.stream);
        scatter_result(context, found.result, again.index.get() + first, some, result);
        const Uncertain of_step = uncertain_rows(found, context.report.candidates, context.stream);
        for (std::size_t i = 0; i < of_step.rows.size(); ++i) {
            left.rows.push_back(which[static_cast<std::size_t>(first + of_step.rows[i])]);
            left.thresholds.push_back(of_step.thresholds[i]);
            left.causes.push_back(of_step.causes[i]);
        }
        cancel_if_asked(context);
    }
    return left;
}

}  // namespace

Uncertain retry_unprojected(const SearchContext& context, const Chunk& chunk,
                            const FilterVectors& own, const DeviceRows& queries,
                            const std::int64_t* self, const Uncertain& uncertain,
                            TileResult& result) {
    Uncertain projected, others;
    for (std::size_t i = 0; i < uncertain.rows.size(); ++i) {
        Uncertain& to = uncertain.causes[i] == exact::Cause::directions ? projected : others;
        to.rows.push_back(uncertain.rows[i]);
        to.thresholds.push_back(uncertain.thresholds[i]);
        to.causes.push_back(uncertain.causes[i]);
    }
    if (projected.rows.empty()) return uncertain;
    Uncertain left;
    try {
        left = retry_with(context, chunk, {.filter = own, .repeats = known_repeats(chunk)}, queries,
                          self, projected.rows, result);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::out_of_memory) throw;
        return uncertain;
    }
    others.rows.insert(others.rows.end(), left.rows.begin(), left.rows.end());
    others.thresholds.insert(others.thresholds.end(), left.thresholds.begin(),
                             left.thresholds.end());
    others.causes.insert(others.causes.end(), left.causes.begin(), left.causes.end());
    return others;
}

bool finer_pays(const SearchContext& context, const Chunk& chunk, const FilterVectors& own,
                FilterKind kind, std::int64_t queries) {
    const bool coarse = is_coarse(own.form), direct = kind == FilterKind::direct;
    return (context.plan.path != Path::direct_f32 || (coarse && direct)) &&
           has_filter(context.points.metric, chunk.points.rows.type, kind) &&
           queries >= tuning::finer_queries(direct, coarse) &&
           tuning::finer_bytes(direct, coarse ? own.form.width : 0, chunk.points.rows.count,
                               context.points.d) <= spare(context);
}

std::vector<std::int64_t> retry(const SearchContext& context, const Chunk& chunk,
                                const FilterVectors& own, const DeviceRows& queries,
                                const std::int64_t* self, const Uncertain& uncertain,
                                TileResult& result) {
    std::vector<std::int64_t> which, left;
    std::vector<float> thresholds;
    for (std::size_t i = 0; i < uncertain.rows.size(); ++i) {
        const bool certain = std::isfinite(uncertain.thresholds[i]);
        (certain ? which : left).push_back(uncertain.rows[i]);
        // A little wider: the threshold's values may have been computed with the other side of the
        // pair as query.
        if (certain)
            thresholds.push_back(
                std::min(uncertain.thresholds[i] + std::abs(uncertain.thresholds[i]) * 0x1p-20f,
                         largest_f32));
    }
    if (which.empty()) return left;
    const InFlight reading(context.stream);
    const GatheredQueries again(context, queries.rows, on_device(which, context.stream), self);
    const auto count = static_cast<std::int64_t>(which.size()),
               step = std::min(
                   count, tuning::retry_step(static_cast<double>(context.plan.workspace_bytes)));
    for (std::int64_t first = 0; first < count; first += step) {
        const std::int64_t some = std::min(step, count - first);
        FilterOutcome found = filter_tile(chunk,
                                          {.filter = own,
                                           .thresholds = thresholds.data() + first,
                                           .repeats = known_repeats(chunk)},
                                          context.points.metric, again.tile(first, some), context.k,
                                          context.plan, context.stream);
        scatter_result(context, found.result, again.index.get() + first, some, result);
        for (const std::int64_t i :
             uncertain_rows(found, context.report.candidates, context.stream).rows)
            left.push_back(which[static_cast<std::size_t>(first + i)]);
        cancel_if_asked(context);
    }
    std::sort(left.begin(), left.end());
    return left;
}

std::vector<std::int64_t> retry_finer(const SearchContext& context, const Chunk& chunk,
                                      const FilterVectors& own, const DeviceRows& queries,
                                      std::int64_t first, const std::int64_t* self,
                                      std::vector<std::int64_t> which, TileResult& result) {
    try {
        const Repeats* const before = known_repeats(chunk);
        const Repeats* const repeats = counted_repeats(
            chunk, context.points.d,
            static_cast<std::int64_t>(which.size()) >= tuning::repeats_queries ? spare(context)
                                                                               : 0);
        if (repeats && !before) {
            const std::vector<std::int64_t> left =
                retry_with(context, chunk, {.filter = own, .repeats = repeats}, queries, self,
                           which, result)
                    .rows;
            for (const std::int64_t i : which)
                if (!std::binary_search(left.begin(), left.end(), i))
                    context.mark(first + i, SearchContext::retried, exact::Cause::equal_rows);
            which = left;
        }
        for (const FilterKind kind : {FilterKind::two_terms, FilterKind::direct}) {
            if (!finer_pays(context, chunk, own, kind, std::ssize(which))) continue;
            const FilterVectors& finer = filter_of(chunk, context.points.metric, kind);
            if (is_coarse(own.form) &&
                tuning::misled_by_queries(queries.rows.count, std::ssize(which)))
                chunk.finer->coarse_misleads = true;
            which = retry_with(context, chunk, {.filter = finer, .repeats = repeats}, queries, self,
                               which, result)
                        .rows;
        }
        return which;
    } catch (const Error& error) {
        if (error.code() != ErrorCode::out_of_memory) throw;
        return which;  // the full scan needs no more than the plan has
    }
}

void full_scan(const SearchContext& context, const Chunk& chunk, const DeviceRows& queries,
               const std::int64_t* self, const std::vector<std::int64_t>& which,
               TileResult& result) {
    InFlight reading(context.stream);
    const GatheredQueries again(context, queries.rows, on_device(which, context.stream), self);
    const tuning::RescanTile tile =
        tuning::rescan_tile(static_cast<double>(context.plan.workspace_bytes), context.points.d,
                            context.k, device_attributes().multiprocessors);
    const auto count = static_cast<std::int64_t>(which.size()),
               step = std::min(count, tile.queries);
    for (std::int64_t first = 0; first < count; first += step) {
        const std::int64_t some = std::min(step, count - first);
        const TileResult found = scan_tile(chunk, context.points.metric, again.tile(first, some),
                                           context.k, tile.points, context.stream);
        scatter_result(context, found, again.index.get() + first, some, result);
        if (first + some < count) {
            check(cudaStreamSynchronize(context.stream), "scan of queries without a certificate");
            cancel_if_asked(context);
        }
    }
    reading.wait("scan of queries without a certificate");
    context.report.candidates +=
        static_cast<double>(count) * static_cast<double>(chunk.points.rows.count);
}

}  // namespace kith::gpu
