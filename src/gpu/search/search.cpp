// A search on one device: tiles of queries through all chunks of points, retries, results merged
// and delivered.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "exact/row_range.h"
#include "gpu/points/chunk_stream.h"
#include "gpu/points/pca/projection.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/memory/call_memory.h"
#include "gpu/runtime/memory/pinned_block.h"
#include "gpu/search/ahead/ahead.h"
#include "gpu/search/context.h"
#include "gpu/search/deliver.h"
#include "gpu/search/results.h"
#include "gpu/search/tile/chunk_search.h"
#include "gpu/search/tuning.h"

namespace kith::gpu {

namespace {

// The rows of load_queries() as a matrix.
MatrixView view_of(const DeviceRows& rows, Layout layout, std::int64_t d, int device) {
    const Rows& r = rows.rows;
    return {r.data, r.count, d,     layout == Layout::row_major ? r.row_stride : r.col_stride,
            r.type, layout,  device};
}

// A tile of queries through one chunk into its lists, merged with what they hold; the lists of the
// last chunk go to the caller while the search still waits for its certificates.
void search_tile(const SearchContext& context, const Chunk& chunk, std::int64_t first,
                 std::int64_t count, bool merge, bool last, Lists lists, Lists scratch) {
    // The ids of all points are the caller's own.
    const bool whole = !context.points.streams && context.plan.path != Path::exact;
    ChunkSearch search(context, chunk, first, count, whole ? lists.ids : nullptr);
    const bool at_once = whole && !search.reorders();
    const auto assign = [&] {
        assign_rows(lists, search.result().keys.get(), search.result().ids.get(), chunk.first,
                    count, context.k, context.stream);
        if (last) deliver(context, lists, first, count);
    };
    if (!merge) {
        if (at_once) deliver(context, {search.result().keys.get(), lists.ids}, first, count);
        else assign();
        if (search.finish()) assign();
    } else {
        search.finish();
        merge_rows(lists, search.result().keys.get(), search.result().ids.get(), chunk.first, count,
                   context.k, scratch, context.stream);
        if (last) deliver(context, lists, first, count);
    }
    cancel_if_asked(context);
}

// The answers of a sample, asked when the points were prepared, that no step follows from. `plan`:
// not forced.
void log_samples(const Points& points, const SearchRequest& request, AttemptLog& log) {
    const Plan& plan = request.plan;
    const Chunk& chunk = points.resident;
    // Paths that compare fewer points or coordinates serve only few neighbours.
    const bool few = request.k <= points.n / tuning::least_points_per_neighbour;
    if (plan.path == Path::exact || plan.path == Path::tree || !few) return;
    constexpr const char* streams = "the points stream";
    if (points.tried_boxes && !points.boxes_pay && request.k <= tuning::most_tree_k)
        log.declined(Step::tree,
                     "a sample of the points says that boxes leave out too few of them");
    if (points.prepared_for == Path::clustered && !chunk.clusters) {
        const char* const why =
            points.streams ? streams : "a sample of the points finds no clusters that pay";
        if (nearest_partition_may_serve(points.n, std::min(plan.query_tile, request.queries.rows),
                                        request.k))
            log.declined(Step::nearest_partition, why);
        log.declined(Step::clustered, why);
    }
    if (points.prepared_for == Path::projected &&
        !(chunk.projected && chunk.projected->directions.leaves_some()))
        log.declined(Step::projected,
                     points.streams ? streams
                     : chunk.projected
                         ? "a sample of the points says that int8 costs less"
                         : "a sample of the points says that few components do not pay");
    if (tuning::may_project(points.prepared_for) && !chunk.projected && !chunk.clusters &&
        !points.on_host)
        log.declined(Step::gemm_i8, points.streams
                                        ? streams
                                        : "a sample of the points says that int8 does not pay");
    if (points.streams && points.on_host && !chunk.projected)
        log.declined(Step::host_int8, "a sample of the points says that int8 does not serve them");
}

// Logs why steps are not taken that plans list: the points have not been prepared for them.
void log_preparation(const Points& points, const SearchRequest& request, AttemptLog& log) {
    const Plan& plan = request.plan;
    if (!plan.distances.empty()) return;
    if (!plan.forced) return log_samples(points, request, log);
    constexpr const char* not_prepared =
        "the points stream, are too few for it, or have been prepared otherwise";
    const Chunk& chunk = points.resident;
    const bool components = chunk.projected && chunk.projected->directions.leaves_some();
    if (plan.path == Path::projected && !components) log.declined(Step::projected, not_prepared);
    if (plan.path == Path::gemm_i8 && (!chunk.projected || components))
        log.declined(Step::gemm_i8, not_prepared);
    if (plan.path != Path::clustered || chunk.clusters) return;
    if (nearest_partition_may_serve(points.n, std::min(plan.query_tile, request.queries.rows),
                                    request.k))
        log.declined(Step::nearest_partition, not_prepared);
    log.declined(Step::clustered, not_prepared);
}

// The paths that may compare fewer points or coordinates are named after what any tile compared.
void name_path(const Plan& plan, const AttemptLog& log, Report& report) {
    if (!tuning::may_project(plan.path)) return;
    const bool clustered = log.ran(Step::nearest_partition) || log.ran(Step::clustered);
    report.path = name(clustered                  ? Path::clustered
                       : log.ran(Step::projected) ? Path::projected
                       : log.ran(Step::gemm_i8)   ? Path::gemm_i8
                                                  : Path::gemm_f16);
}

// Groups of queries, for each all chunks of the points, for each all tiles of the group.
void search_groups(const Points& points, const SearchRequest& request, SearchContext& context) {
    const MatrixView& queries = request.queries;
    const Plan& plan = request.plan;
    const std::int64_t k = request.k, tile = std::min(plan.query_tile, queries.rows);
    const std::int64_t group =
        points.streams ? tuning::queries_of_pass(plan, tile, k, points.d, queries.type) : tile;
    for (std::int64_t group_first = 0; group_first < queries.rows; group_first += group) {
        const std::int64_t group_count = std::min(group, queries.rows - group_first),
                           cells = group_count * k;
        Buffer<std::uint64_t> keys(cells, context.stream),
            scratch_keys(points.streams ? tile * k : 0, context.stream);
        Buffer<std::int64_t> ids_buffer(context.direct ? 0 : cells, context.stream),
            scratch_ids(points.streams ? tile * k : 0, context.stream);
        std::int64_t* const ids =
            context.direct ? context.out.ids + group_first * k : ids_buffer.get();
        const Lists scratch{scratch_keys.get(), scratch_ids.get()};
        const auto pass = [&](const Chunk& chunk, bool merge, bool last) {
            for (std::int64_t first = 0; first < group_count; first += tile) {
                const std::int64_t count = std::min(tile, group_count - first);
                search_tile(context, chunk, group_first + first, count, merge, last,
                            {keys.get() + first * k, ids + first * k}, scratch);
            }
        };
        if (points.streams) {
            const DeviceRows pass_queries =
                upload(queries, group_first, group_count, false, context.stream,
                       {.progress = &request.progress, .stage = "search"});
            context.of_pass = view_of(pass_queries, queries.layout, points.d, points.device);
            context.pass_first = group_first;
            ChunkStream chunks(points, plan, context.learned, request.progress, context.stream);
            std::int64_t seen = 0;
            while (const Chunk* chunk = chunks.next()) {
                const bool merge = seen > 0;
                seen += chunk->points.rows.count;
                pass(*chunk, merge, seen == points.n);
            }
        } else {
            pass(points.resident, false, true);
        }
    }
}

// The results of a call. Small ones for the host: the kernels write them to memory that they can
// reach, from which hand_over() copies them.
class Results {
public:
    Results(const Points& points, const SearchRequest& request) : out_(request.out) {
        cells_ = request.queries.rows * request.k;
        element_ = request.f64 ? 8 : 4;
        if (out_.device == host_memory && !points.streams &&
            cells_ * (8 + element_) <= PinnedBlock::bytes)
            small_ = PinnedBlock(static_cast<cudaStream_t>(request.stream));
        is_direct_ = small_.data() || (out_.device == points.device && !points.streams);
    }
    // True if kernels write them in place.
    bool is_direct() const { return is_direct_; }
    NeighborsView view() const {
        if (!small_.data()) return out_;
        NeighborsView to = out_;
        to.ids = static_cast<std::int64_t*>(small_.data());
        to.distances = out_.distances ? to.ids + cells_ : nullptr;
        return to;
    }
    // Call it once the work is over.
    void hand_over() const {
        if (!small_.data()) return;
        const NeighborsView from = view();
        std::copy_n(from.ids, cells_, out_.ids);
        if (out_.distances)
            std::memcpy(out_.distances, from.distances,
                        static_cast<std::size_t>(cells_ * element_));
    }

private:
    NeighborsView out_;
    std::int64_t cells_, element_;
    PinnedBlock small_;
    bool is_direct_;
};

// One search by the plan of its request, whose attempts are logged.
class Search {
public:
    Search(const Points& points, const SearchRequest& request, AttemptLog& log, PointsUse& use)
        : request_(request),
          results_(points, request),
          context_{request,
                   points,
                   static_cast<cudaStream_t>(request.stream),
                   results_.is_direct(),
                   log,
                   use.learned,
                   use.late_before} {
        context_.out = results_.view();
    }

    // The first strategy ahead of the tiles that takes the queries, or the tiles. Returns the
    // queries left, with the strategy that left them.
    std::pair<const Ahead*, QueryRange> run() {
        CallMemory call(context_.points.device, context_.stream);
        for (const Ahead* const each : all_ahead) {
            if (!each->takes(context_)) continue;
            const QueryRange left = each->answer(context_);
            call.wait("search");
            if (each->reported) request_.report.path = each->reported;
            if (left.count < request_.queries.rows) results_.hand_over();
            return {each, left};
        }
        search_groups(context_.points, request_, context_);
        call.wait("search");
        results_.hand_over();
        name_path(request_.plan, context_.log, request_.report);
        context_.log.count_outcomes(request_.queries.rows, request_.report);
        return {};
    }

private:
    const SearchRequest& request_;
    Results results_;
    SearchContext context_;
};

// Answers by tiles the queries that a strategy ahead of them has left.
void answer_left(const Points& points, const SearchRequest& asked, const Ahead& ahead,
                 QueryRange left, AttemptLog& log, PointsUse& use) {
    Plan plan = asked.plan;
    plan.path = ahead.behind(plan);
    Report& report = asked.report;
    const std::int64_t certified = report.certified;
    const SearchRequest rest{exact::rows_of(asked.queries, left.first, left.count),
                             asked.k,
                             asked.graph,
                             plan,
                             asked.f64,
                             asked.stream,
                             asked.progress,
                             exact::rows_of(asked.out, left.first, asked.k, asked.f64),
                             report,
                             asked.keys};
    log.count_from(left.first);
    Search(points, rest, log, use).run();
    log.count_from(0);
    if (ahead.reported) report.path = ahead.reported;
    report.retried += report.certified - certified;
    report.certified = certified;
    report.fallbacks.insert(
        report.fallbacks.begin(),
        {left.count, false, ahead.left, fmt::format(fmt::runtime(ahead.wish), name(plan.path))});
}

}  // namespace

void search(const Points& points, const SearchRequest& request) {
    if (request.plan.symmetric &&
        (points.streams || request.plan.query_tile < request.queries.rows))
        throw Error(ErrorCode::invalid_argument,
                    "plan: symmetric, which needs all points and all queries at once");
    const DeviceScope scope(points.device);
    PointsUse use(points);
    AttemptLog log(request.queries.rows);
    log_preparation(points, request, log);
    const auto [ahead, left] = Search(points, request, log, use).run();
    if (left.count > 0) answer_left(points, request, *ahead, left, log, use);
    log.write(request.plan, request.report);
}

}  // namespace kith::gpu
