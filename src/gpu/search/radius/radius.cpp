// Range search on one device: tiles of queries through all chunks of points, by filters from coarse
// to fine, then by the full scan. Rows are made in order and handed on.
#include <algorithm>
#include <memory>

#include "gpu/points/chunk_stream.h"
#include "gpu/points/prepare_filter.h"
#include "gpu/primitives/gather.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/memory/call_memory.h"
#include "gpu/runtime/with_room.h"
#include "gpu/search/radius/radius_deliver.h"
#include "gpu/search/radius/radius_tile.h"
#include "gpu/search/radius/radius_tree.h"
#include "gpu/search/tile/retries.h"
#include "gpu/search/tuning.h"

namespace kith::gpu {

namespace {

// A copy of `values` on the device.
Buffer<std::int64_t> on_device(const std::vector<std::int64_t>& values, cudaStream_t stream) {
    Buffer<std::int64_t> out(static_cast<std::int64_t>(values.size()), stream);
    InFlight reading(stream);
    check(cudaMemcpyAsync(out.get(), values.data(), values.size() * sizeof(std::int64_t),
                          cudaMemcpyDefault, stream),
          "cudaMemcpy");
    reading.wait("queries that are left");
    return out;
}

// Searches tiles of queries in all chunks of the points.
class RadiusSearch {
public:
    RadiusSearch(const SearchContext& context, const RadiusRequest& request)
        : context_(context),
          request_(request),
          similarity_(context.points.metric.kernels &&
                      context.points.metric.kernels->traits.similarity),
          // Chunks of points that stream take the other half.
          workspace_(static_cast<double>(context.plan.workspace_bytes) /
                     (context.points.streams ? 2 : 1)) {
        const Points& points = context.points;
        const double spread = tuning::spread_bytes(points.n, points.d);
        if (!lies_in_order(points.resident) || spread > spare(context)) return;
        may_spread_ = true;
        workspace_ -= spread;
    }

    // The device has less memory than when the search was planned.
    void take_half() { workspace_ /= 2; }
    // The entries that the rows of a tile may hold.
    std::int64_t room() const { return tuning::radius_entries(workspace_); }
    // True if a tile used the filter in the order of clusters or cells, because a filter in the
    // points' own order had no room.
    bool had_no_room() const { return had_no_room_; }

    // Searches one tile of queries in all chunks.
    RadiusFound search(std::int64_t first, std::int64_t count) {
        first_ = first;
        const Points& points = context_.points;
        RadiusFound found(count, request_.counts != nullptr, workspace_, context_.stream);
        const DeviceRows rows = load_queries(context_, first, count);
        const DeviceBalls balls(request_, similarity_, first, count, nullptr, context_.stream);
        const BallQueries queries{.rows = rows.prepared(), .balls = balls.balls};
        if (points.streams) {
            ChunkStream chunks(points, context_.plan, context_.learned, context_.progress,
                               context_.stream);
            while (const Chunk* chunk = chunks.next()) search_chunk(*chunk, queries, found);
        } else {
            search_chunk(points.resident, queries, found);
        }
        return found;
    }

private:
    void search_chunk(const Chunk& chunk, BallQueries queries, RadiusFound& found) {
        const std::int64_t count = queries.count(), n = chunk.points.rows.count;
        Buffer<std::int64_t> self(request_.graph ? count : 0, context_.stream);
        // Relative to the chunk; an id outside of it leaves nothing out.
        if (request_.graph)
            count_up(self.get(), count, request_.first_own + first_ - chunk.first, context_.stream);
        queries.self = self.get();
        const Plan& plan = context_.plan;
        AttemptLog& log = context_.log;
        if (plan.path == Path::exact) {
            for (std::int64_t i = 0; i < count; ++i)
                log.mark(first_ + i, AttemptLog::scanned, exact::Cause::none);
            scan_within(context_, chunk, queries, plan.query_tile,
                        queries.balls.asks ? (plan.point_tile + 1) / 2 : plan.point_tile, found);
            log.took(Step::exact, first_, count);
            log.lap(Step::exact);
        } else {
            std::vector<std::int64_t> left = through_filters(chunk, queries, found);
            if (!left.empty()) scan(chunk, queries, left, found);
        }
        context_.progress.add(static_cast<double>(count) * static_cast<double>(n));
    }

    // Asks the filter of the plan's path, and finer filters for the queries that it leaves. Returns
    // those left by all.
    std::vector<std::int64_t> through_filters(const Chunk& chunk, const BallQueries& queries,
                                              RadiusFound& found) {
        AttemptLog& log = context_.log;
        const FilterVectors& own = own_filter(chunk);
        const std::vector<std::uint8_t> states =
            filter_within(context_, chunk, own, queries, found);
        std::vector<std::int64_t> left = left_of(states);
        log.took(Step::own, first_, queries.count());
        for (const std::int64_t i : left) {
            const exact::Cause cause = states[static_cast<std::size_t>(i)] == ball_unfit
                                           ? exact::Cause::out_of_range
                                           : exact::Cause::alike;
            log.mark(first_ + i, AttemptLog::retried, cause);
            log.left(Step::own, cause);
        }
        log.lap(Step::own);
        for (const Step step : later_steps) {
            if (!is_finer(step) || left.empty()) continue;
            if (!finer_pays(context_, chunk, own, step, std::ssize(left))) continue;
            const FilterVectors* const finer = filter_if_there_is_room(chunk, finer_kind(step));
            if (!finer) continue;
            const Again again(*this, queries, left, found);
            const std::vector<std::int64_t> still =
                left_of(filter_within(context_, chunk, *finer, again.queries, found));
            for (const std::int64_t i : left) log.took(step, first_ + i);
            log.left(step, exact::Cause::alike, std::ssize(still));
            log.lap(step);
            std::vector<std::int64_t> next;
            for (const std::int64_t i : still) next.push_back(left[static_cast<std::size_t>(i)]);
            left = std::move(next);
        }
        return left;
    }

    // Scans all points for the queries that the filters leave.
    void scan(const Chunk& chunk, const BallQueries& queries, const std::vector<std::int64_t>& left,
              RadiusFound& found) {
        for (const std::int64_t i : left) {
            context_.log.mark(first_ + i, AttemptLog::scanned, exact::Cause::none);
            context_.log.took(Step::exact, first_ + i);
        }
        const Again again(*this, queries, left, found);
        const strategy::Tile tile =
            tuning::rescan_tile(found.workspace / 2, std::ssize(left), context_.points.d, 1,
                                device_attributes().multiprocessors);
        scan_within(context_, chunk, again.queries, tile.queries, tile.points, found);
        context_.log.lap(Step::exact);
    }

    // Queries of a retry. RadiusFound keeps them, as its parts point to their rows.
    struct Again {
        DeviceBalls balls;
        BallQueries queries;
        Again(const RadiusSearch& search, const BallQueries& of,
              const std::vector<std::int64_t>& which, RadiusFound& found)
            : balls(search.request_, search.similarity_, search.first_, std::ssize(which),
                    which.data(), search.context_.stream) {
            found.gathered.emplace_back(search.context_, of.rows.rows,
                                        on_device(which, search.context_.stream), of.self);
            const GatheredQueries& gathered = found.gathered.back();
            queries = {.rows = gathered.rows.prepared(),
                       .self = gathered.self.get(),
                       .tile_rows = gathered.index.get(),
                       .balls = balls.balls};
        }
    };

    static std::vector<std::int64_t> left_of(const std::vector<std::uint8_t>& states) {
        std::vector<std::int64_t> left;
        for (std::size_t i = 0; i < states.size(); ++i)
            if (states[i] == ball_left || states[i] == ball_unfit)
                left.push_back(static_cast<std::int64_t>(i));
        return left;
    }
    // The filter of the plan's path, or the direct filter in f32 once its coarse form has misled
    // searches. For points in the order of clusters or cells it is a filter in their own order:
    // runs of positions are samples then, which predict how long a range may be. Runs of near
    // points would overflow the lists, and ranges be halved.
    const FilterVectors& own_filter(const Chunk& chunk) {
        const FilterKind kind = kind_of(context_.plan);
        if (lies_in_order(chunk)) {
            if (const FilterVectors* const spread = spread_if_there_is_room(chunk)) return *spread;
            had_no_room_ = true;
        }
        if (kind == FilterKind::direct_coarse && context_.learned.coarse_misleads)
            if (const FilterVectors* const finer =
                    filter_if_there_is_room(chunk, FilterKind::direct))
                return *finer;
        return filter_of(chunk, context_.points.metric, kind);
    }
    bool lies_in_order(const Chunk& chunk) const {
        return chunk.filter.form.order && context_.plan.path == Path::gemm_f16;
    }
    const FilterVectors* spread_if_there_is_room(const Chunk& chunk) const {
        if (!may_spread_) return chunk.late->one_term.known();  // made before; or null
        const FilterVectors* filter = nullptr;
        with_room([&] { filter = &spread_filter(chunk, context_.points.metric); });
        return filter;
    }
    const FilterVectors* filter_if_there_is_room(const Chunk& chunk, FilterKind kind) const {
        const FilterVectors* filter = nullptr;
        with_room([&] { filter = &filter_of(chunk, context_.points.metric, kind); });
        return filter;
    }
    const SearchContext& context_;
    const RadiusRequest& request_;
    bool similarity_;
    double workspace_;
    bool may_spread_ = false, had_no_room_ = false;
    std::int64_t first_ = 0;
};

// Answers the first queries by a tree, as many as it serves. Returns their number; filters answer
// the others.
std::int64_t answer_by_tree(const SearchContext& context, const RadiusRequest& request) {
    cudaStream_t stream = context.stream;
    const std::int64_t q = request.queries.rows, room = tuning::radius_entries(static_cast<double>(
                                                     context.plan.workspace_bytes));
    if (!RadiusTree::serves(context, request)) {
        const bool planned = !context.plan.forced && context.plan.path != Path::exact;
        if (planned && traits_of(context.points.metric).monotone)
            context.log.declined(
                Step::tree, "boxes would leave out too few of the points, or serve no such radii");
        return 0;
    }
    std::int64_t first = 0;
    std::unique_ptr<RadiusTree> tree;
    for (std::int64_t tile = q; first < q;) {
        TileRows made;
        std::int64_t count = 0;
        try {
            if (!tree) {
                tree = std::make_unique<RadiusTree>(context, request);
                tile = tree->tile();
            }
            count = std::min(tile, q - first);
            if (!tree->count(first, count)) {
                context.log.declined(Step::tree, "a few of the queries open too many boxes");
                context.log.lap(Step::tree);
                return first;
            }
            if (request.counts) {
                InFlight copy(stream);
                check(cudaMemcpyAsync(request.counts + first, tree->totals(),
                                      static_cast<std::size_t>(count) * sizeof(std::int64_t),
                                      cudaMemcpyDefault, stream),
                      "cudaMemcpy");
                copy.wait("search by radius");
            } else {
                RowOffsets offsets(tree->totals(), count, stream);
                const std::int64_t entries = offsets.on_host.back();
                if (entries > room && count > 1) {
                    const double share =
                        0.8 * static_cast<double>(room) / static_cast<double>(entries);
                    tile = std::clamp<std::int64_t>(
                        static_cast<std::int64_t>(share * static_cast<double>(count)), 1,
                        count - 1);
                    continue;
                }
                const Buffer<std::uint64_t> keys(entries, stream);
                const Buffer<std::int64_t> ids(entries, stream);
                if (entries > 0) tree->list(offsets.on_device.get(), keys.get(), ids.get());
                made = in_order(context, request, std::move(offsets), keys, ids);
            }
        } catch (const Error& error) {
            if (error.code() != ErrorCode::out_of_memory || request.progress.cancelled()) throw;
            return first;
        }
        if (!request.counts) hand_on(request, first, made);
        context.log.took(Step::tree, first, count);
        context.log.lap(Step::tree);
        first += count;
        request.report.path = name(Path::tree);
        context.progress.add(static_cast<double>(count) * static_cast<double>(context.points.n));
        cancel_if_asked(context);
    }
    return first;
}

}  // namespace

void radius(const Points& points, const RadiusRequest& request) {
    const DeviceScope scope(points.device);
    const auto stream = static_cast<cudaStream_t>(request.stream);
    const std::int64_t q = request.queries.rows;
    AttemptLog log(q);
    const SearchRequest rows{.queries = request.queries,
                             .k = 1,
                             .graph = request.graph,
                             .plan = request.plan,
                             .f64 = request.f64,
                             .stream = request.stream,
                             .progress = request.progress,
                             .out = {},
                             .report = request.report};
    PointsUse use(points);
    const SearchContext context{rows, points, stream, false, log, use.learned, use.late_before};
    CallMemory call(points.device, stream);
    RadiusSearch search(context, request);
    const std::int64_t largest = std::min(request.plan.query_tile, q);
    std::int64_t tile = largest;
    for (std::int64_t first = answer_by_tree(context, request); first < q;) {
        const std::int64_t count = std::min(tile, q - first);
        const double done = request.progress.done();
        const auto again_with = [&](std::int64_t fewer) {
            tile = std::clamp<std::int64_t>(fewer, 1, count - 1);
            request.progress.add(done - request.progress.done());
            log.forget(first, count);
        };
        TileRows made;
        try {
            RadiusFound found = search.search(first, count);
            if (request.counts) {
                InFlight copy(stream);
                check(cudaMemcpyAsync(request.counts + first, found.totals.get(),
                                      static_cast<std::size_t>(count) * sizeof(std::int64_t),
                                      cudaMemcpyDefault, stream),
                      "cudaMemcpy");
                copy.wait("search by radius");
            } else {
                made = rows_of(context, request, std::move(found));
            }
        } catch (const TooManyWithin& within) {
            again_with(within.queries);
            continue;
        } catch (const Error& error) {
            if (error.code() != ErrorCode::out_of_memory || count == 1 ||
                request.progress.cancelled())
                throw;
            search.take_half();
            again_with(count / 2);
            continue;
        }
        if (!request.counts) hand_on(request, first, made);
        first += count;
        if (request.counts || 3 * made.offsets.back() < search.room())
            tile = std::min(largest, 2 * tile);
        cancel_if_asked(context);
    }
    call.wait("search by radius");
    log.count_outcomes(q, request.report);
    log.write(request.plan, request.report);
    if (search.had_no_room())
        request.report.fallbacks.push_back(
            {q, false,
             "a filter of the points in their own order had no room beside that of their clusters "
             "or cells",
             "more memory: lists of points that lie in the order of clusters or cells overflow"});
}

}  // namespace kith::gpu
