// All points within a radius on one device: tiles of queries through all chunks of points, by
// filters from coarse to fine and, of what these leave, by the full scan; rows made in order and
// handed on.
#include <algorithm>
#include <memory>
#include <numeric>

#include "gpu/metric/user.h"
#include "gpu/points/chunk_stream.h"
#include "gpu/points/prepare_filter.h"
#include "gpu/primitives/gather.h"
#include "gpu/runtime/call_memory.h"
#include "gpu/runtime/device.h"
#include "gpu/search/radius_tile.h"
#include "gpu/search/radius_tree.h"
#include "gpu/search/retries.h"
#include "gpu/search/tuning.h"

namespace kith::gpu {

namespace {

// Reads `values` as the stream comes to it.
Buffer<std::int64_t> on_device(const std::vector<std::int64_t>& values, cudaStream_t stream) {
    Buffer<std::int64_t> out(static_cast<std::int64_t>(values.size()), stream);
    InFlight reading(stream);
    check(cudaMemcpyAsync(out.get(), values.data(), values.size() * sizeof(std::int64_t),
                          cudaMemcpyDefault, stream),
          "cudaMemcpy");
    reading.wait("queries that are left");
    return out;
}

// A tile of queries, as it goes through the chunks.
class RadiusSearch {
public:
    RadiusSearch(const SearchContext& context, const RadiusRequest& request)
        : context_(context),
          request_(request),
          similarity_(context.points.metric.kernels &&
                      context.points.metric.kernels->traits.similarity),
          // Of points that stream the chunks have their part of it.
          workspace_(static_cast<double>(context.plan.workspace_bytes) /
                     (context.points.streams ? 2 : 1)) {
        const Points& points = context.points;
        const double spread = tuning::spread_bytes(points.n, points.d);
        if (!lies_in_order(points.resident) || spread > spare(context)) return;
        may_spread_ = true;
        workspace_ -= spread;
    }

    // The device has less memory than it had when the search was planned.
    void take_half() { workspace_ /= 2; }
    // What a tile's rows may hold.
    std::int64_t room() const { return tuning::radius_entries(workspace_); }
    // Whether any tile took the filter in the order of clusters or cells, as one in the points' own
    // had no room.
    bool had_no_room() const { return had_no_room_; }

    // Of all chunks.
    RadiusFound search(std::int64_t first, std::int64_t count) {
        first_ = first;
        const Points& points = context_.points;
        RadiusFound found(count, request_.counts != nullptr, workspace_, context_.stream);
        const DeviceRows rows = load_queries(context_, first, count);
        const DeviceBalls balls(request_, similarity_, first, count, nullptr, context_.stream);
        const BallQueries queries{.rows = rows.prepared(), .balls = balls.balls};
        if (points.streams) {
            ChunkStream chunks(points, context_.plan, context_.progress, context_.stream);
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
        if (plan.path == Path::exact) {
            for (std::int64_t i = 0; i < count; ++i)
                context_.mark(first_ + i, SearchContext::scanned, exact::Cause::none);
            scan_within(context_, chunk, queries, plan.query_tile,
                        queries.balls.asks ? (plan.point_tile + 1) / 2 : plan.point_tile, found);
            context_.progress.add(static_cast<double>(count) * static_cast<double>(n));
            return;
        }
        const FilterVectors& own = own_filter(chunk);
        const std::vector<std::uint8_t> states =
            filter_within(context_, chunk, own, queries, found);
        std::vector<std::int64_t> left = left_of(states);
        for (const std::int64_t i : left)
            context_.mark(first_ + i, SearchContext::retried,
                          states[static_cast<std::size_t>(i)] == ball_unfit
                              ? exact::Cause::out_of_range
                              : exact::Cause::alike);
        for (const FilterKind kind : {FilterKind::two_terms, FilterKind::direct}) {
            if (left.empty() || !finer_pays(context_, chunk, own, kind, std::ssize(left))) continue;
            const FilterVectors* const finer = filter_if_there_is_room(chunk, kind);
            if (!finer) continue;
            const Again again(*this, queries, left, found);
            const std::vector<std::int64_t> still =
                left_of(filter_within(context_, chunk, *finer, again.queries, found));
            std::vector<std::int64_t> next;
            for (const std::int64_t i : still) next.push_back(left[static_cast<std::size_t>(i)]);
            left = std::move(next);
        }
        if (!left.empty()) {
            for (const std::int64_t i : left)
                context_.mark(first_ + i, SearchContext::scanned, exact::Cause::none);
            const Again again(*this, queries, left, found);
            const tuning::RescanTile tile = tuning::rescan_tile(
                found.workspace / 2, context_.points.d, 1, device_attributes().multiprocessors);
            scan_within(context_, chunk, again.queries, tile.queries, tile.points, found);
        }
        context_.progress.add(static_cast<double>(count) * static_cast<double>(n));
    }

    // Queries that are tried again. The found parts point to their rows, which live as long as
    // these.
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
    // That of the plan's path, or f32 where its coarse form has misled searches. Of points in the
    // order of clusters or cells that in their own: runs of its positions are samples, by which
    // ranges are as long as lists have room for. Runs of the others are of near points: their lists
    // overflow, and ranges are halved until they do not.
    const FilterVectors& own_filter(const Chunk& chunk) {
        const FilterKind kind = kind_of(context_.plan);
        if (lies_in_order(chunk)) {
            if (const FilterVectors* const spread = spread_if_there_is_room(chunk)) return *spread;
            had_no_room_ = true;
        }
        if (kind == FilterKind::direct_coarse && chunk.finer->coarse_misleads)
            if (const FilterVectors* const finer =
                    filter_if_there_is_room(chunk, FilterKind::direct))
                return *finer;
        return filter_of(chunk, context_.points.metric, kind);
    }
    bool lies_in_order(const Chunk& chunk) const {
        return chunk.filter.form.order && context_.plan.path == Path::gemm_f16;
    }
    const FilterVectors* spread_if_there_is_room(const Chunk& chunk) const {
        if (!may_spread_) {
            const std::lock_guard lock(chunk.finer->mutex);
            return chunk.finer->one_term.get();  // of an earlier search
        }
        try {
            return &spread_filter(chunk, context_.points.metric);
        } catch (const Error& error) {
            if (error.code() != ErrorCode::out_of_memory) throw;
            return nullptr;
        }
    }
    const FilterVectors* filter_if_there_is_room(const Chunk& chunk, FilterKind kind) const {
        try {
            return &filter_of(chunk, context_.points.metric, kind);
        } catch (const Error& error) {
            if (error.code() != ErrorCode::out_of_memory) throw;
            return nullptr;
        }
    }
    const SearchContext& context_;
    const RadiusRequest& request_;
    bool similarity_;
    double workspace_;
    bool may_spread_ = false, had_no_room_ = false;
    std::int64_t first_ = 0;
};

// A result on the host.
template <class T>
void fetch(std::vector<T>& to, const void* from, cudaStream_t stream) {
    InFlight copy(stream);
    check(cudaMemcpyAsync(to.data(), from, to.size() * sizeof(T), cudaMemcpyDefault, stream),
          "cudaMemcpy");
    copy.wait("search by radius");
}

// Rows of a tile, on the host.
struct TileRows {
    std::vector<std::int64_t> offsets, ids;
    std::vector<float> distances;
    std::vector<double> distances64;
};

// Where the rows of a tile begin, on both sides.
struct RowOffsets {
    Buffer<std::int64_t> on_device;
    std::vector<std::int64_t> on_host;
    RowOffsets(const std::int64_t* totals, std::int64_t q, cudaStream_t stream)
        : on_device(q + 1, stream), on_host(static_cast<std::size_t>(q) + 1) {
        sum_counts(totals, q, on_device.get(), stream);
        fetch(on_host, on_device.get(), stream);
    }
};

// Rows in no order become those in the order of (key, id).
TileRows in_order(const SearchContext& context, const RadiusRequest& request, RowOffsets offsets,
                  const Buffer<std::uint64_t>& keys, const Buffer<std::int64_t>& ids) {
    cudaStream_t stream = context.stream;
    TileRows out;
    out.offsets = std::move(offsets.on_host);
    const std::int64_t entries = out.offsets.back();
    if (entries == 0) return out;
    sort_radius_rows(out.offsets, offsets.on_device.get(), context.points.n, keys, ids, stream);
    const DeviceMetric& metric = context.points.metric;
    Buffer<char> values(entries * (request.f64 ? 8 : 4), stream);
    auto* const values64 = reinterpret_cast<double*>(values.get());
    auto* const values32 = reinterpret_cast<float*>(values.get());
    if (!metric.kernels || request.keys)
        user_report(keys.get(), values.get(), request.f64, entries, stream);
    else if (request.f64)
        metric.kernels->report_f64(keys.get(), values64, entries, metric.params, stream);
    else metric.kernels->report_f32(keys.get(), values32, entries, metric.params, stream);
    const auto size = static_cast<std::size_t>(entries);
    out.ids.resize(size);
    fetch(out.ids, ids.get(), stream);
    if (request.f64) {
        out.distances64.resize(size);
        fetch(out.distances64, values64, stream);
    } else {
        out.distances.resize(size);
        fetch(out.distances, values32, stream);
    }
    return out;
}

TileRows rows_of(const SearchContext& context, const RadiusRequest& request, RadiusFound found) {
    cudaStream_t stream = context.stream;
    RowOffsets offsets(found.totals.get(), found.q, stream);
    const std::int64_t entries = offsets.on_host.back();
    Buffer<std::uint64_t> keys(entries, stream);
    Buffer<std::int64_t> ids(entries, stream), cursors(found.q, stream);
    cursors.clear_to(0);
    for (const RadiusPart& part : found.parts)
        place_part(part, offsets.on_device.get(), cursors.get(), keys.get(), ids.get(), stream);
    found.parts.clear();
    return in_order(context, request, std::move(offsets), keys, ids);
}

// To who takes them: about so many bytes at a time.
void hand_on(const RadiusRequest& request, std::int64_t first, const TileRows& rows) {
    const std::vector<std::int64_t>& all = rows.offsets;
    const std::int64_t most = request.list_bytes / (8 + (request.f64 ? 8 : 4));
    for (std::size_t row = 0; row + 1 < all.size();) {
        std::size_t end = row + 1;
        while (end + 1 < all.size() && all[end + 1] - all[row] <= most) ++end;
        std::vector<std::int64_t> offsets(all.begin() + static_cast<std::ptrdiff_t>(row),
                                          all.begin() + static_cast<std::ptrdiff_t>(end) + 1);
        const std::int64_t from = all[row];
        for (std::int64_t& at : offsets) at -= from;
        (*request.take)({first + static_cast<std::int64_t>(row),
                         static_cast<std::int64_t>(end - row), offsets.data(),
                         rows.ids.data() + from,
                         request.f64 ? nullptr : rows.distances.data() + from,
                         request.f64 ? rows.distances64.data() + from : nullptr});
        row = end;
    }
}

// The first of the queries, as many as a tree serves: a filter has the others.
std::int64_t answer_by_tree(const SearchContext& context, const RadiusRequest& request) {
    cudaStream_t stream = context.stream;
    const std::int64_t q = request.queries.rows, room = tuning::radius_entries(static_cast<double>(
                                                     context.plan.workspace_bytes));
    if (!RadiusTree::serves(context, request)) return 0;
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
            if (!tree->count(first, count)) return first;
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
    std::vector<std::uint8_t> outcomes(static_cast<std::size_t>(q), SearchContext::first_try);
    std::vector<exact::Cause> causes(outcomes.size(), exact::Cause::none);
    bool projected = false;
    const SearchRequest rows{.queries = request.queries,
                             .k = 1,
                             .graph = request.graph,
                             .plan = request.plan,
                             .f64 = request.f64,
                             .stream = request.stream,
                             .progress = request.progress,
                             .out = {},
                             .report = request.report};
    const SearchContext context{rows, points, stream, false, outcomes, causes, projected};
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
            std::fill_n(outcomes.begin() + first, count, SearchContext::first_try);
            std::fill_n(causes.begin() + first, count, exact::Cause::none);
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
    context.count_outcomes();
    if (search.had_no_room())
        request.report.fallbacks.push_back(
            {q, false,
             "a filter of the points in their own order had no room beside that of their clusters "
             "or cells",
             "more memory: lists of points that lie in the order of clusters or cells overflow"});
}

}  // namespace kith::gpu
