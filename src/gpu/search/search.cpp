// A search on one device: tiles of queries through all chunks of points, retries, results merged
// and delivered.
#include "gpu/search/tile_search.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "exact/row_range.h"
#include "gpu/filter/candidate_lists.h"
#include "gpu/filter/levels.h"
#include "gpu/points/chunk_stream.h"
#include "gpu/points/repeats.h"
#include "gpu/primitives/gather.h"
#include "gpu/runtime/call_memory.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/pinned_block.h"
#include "gpu/search/by_bytes.h"
#include "gpu/search/clustered_pass.h"
#include "gpu/search/context.h"
#include "gpu/search/deliver.h"
#include "gpu/search/nearest_clusters.h"
#include "gpu/search/results.h"
#include "gpu/search/retries.h"
#include "gpu/search/tree_pass.h"
#include "gpu/search/tuning.h"

namespace kith::gpu {

namespace {

// The filter of the plan's path. It changes when its form has proved too coarse: a tile of queries
// keeps the one that it began with.
const FilterVectors& own_filter(const SearchContext& context, const Chunk& chunk) {
    const FilterKind kind = kind_of(context.plan);
    try {
        if (kind == FilterKind::direct_coarse && chunk.finer->coarse_misleads)
            return filter_of(chunk, context.points.metric, FilterKind::direct);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::out_of_memory) throw;
    }
    return filter_of(chunk, context.points.metric, kind);
}

// What load_queries() brought, as a matrix.
MatrixView view_of(const DeviceRows& rows, Layout layout, std::int64_t d, int device) {
    const Rows& r = rows.rows;
    return {r.data, r.count, d,     layout == Layout::row_major ? r.row_stride : r.col_stride,
            r.type, layout,  device};
}

// Neighbours of a tile of queries in one chunk: enqueued by the constructor, certain after
// finish(). Its memory is the device's, freed in stream order, for the call.
class ChunkSearch {
public:
    // `final_ids`: where not null, the filter leaves the ids of its result there, too.
    ChunkSearch(const SearchContext& context, const Chunk& chunk, std::int64_t first,
                std::int64_t count, std::int64_t* final_ids)
        : context_(context),
          chunk_(chunk),
          own_(context.plan.path == Path::exact ? chunk.filter : own_filter(context, chunk)),
          first_(first),
          self_(context.graph ? count : 0, context.stream) {
        if (context.plan.symmetric) {
            // The points in the order of their positions: each tile of the filter serves its rows
            // and its columns.
            Buffer<std::int64_t> rows(count, context.stream);
            position_rows(own_.form, count, 0, count, rows.get(), context.stream);
            check(cudaMemcpyAsync(self_.get(), rows.get(),
                                  static_cast<std::size_t>(count) * sizeof(std::int64_t),
                                  cudaMemcpyDefault, context.stream),
                  "cudaMemcpy");
            reserve_ordered(count);
            GatheredQueries gathered(context, chunk.points.rows, std::move(rows), nullptr);
            queries_ = std::move(gathered.rows);
            order_ = std::move(gathered.index);
        } else {
            const bool with_filter = context.plan.path != Path::exact &&
                                     context.points.metric.kernels && !own_clusters();
            queries_ = load_queries(context, first, count, !with_filter);
            if (with_filter) unmeasured_ = queries_.measures();
            // Relative to the chunk; an id outside of it leaves nothing out.
            if (context.graph) count_up(self_.get(), count, first - chunk.first, context.stream);
            if (tries_clusters() && answered_in_clusters()) return;
            if (own_clusters() && count > listed_queries) take_by_cluster();
        }
        if (reorders()) final_ids = nullptr;
        if (context.plan.path == Path::exact)
            found_.result = scan_tile(chunk, context.points.metric, tile(), context.k,
                                      context.plan.point_tile, context.stream);
        else found_ = filtered(tile(), own_projection(), final_ids);
        unmeasured_ = {};
        restore_order();
    }

    // In the order of the caller's queries.
    const TileResult& result() const {
        if (answers_) return answers_->result;
        return reorders() ? ordered_ : found_.result;
    }

    // Whether queries are searched in an order of their own, so that `final_ids` is void.
    bool reorders() const { return order_.size() > 0 || answers_; }

    // Waits, and retries or scans the queries without a certificate. True where that changed the
    // result.
    bool finish() {
        const std::int64_t q = queries_.rows.count;
        context_.progress.add(static_cast<double>(q) *
                              static_cast<double>(chunk_.points.rows.count));
        if (context_.plan.path == Path::exact) {
            check(cudaStreamSynchronize(context_.stream), "search");
            context_.report.candidates +=
                static_cast<double>(q) * static_cast<double>(chunk_.points.rows.count);
            for (std::int64_t i = 0; i < q; ++i)
                context_.mark(first_ + i, SearchContext::scanned, exact::Cause::none);
            return false;
        }
        if (answers_ && !take_left()) return false;
        const double before = context_.report.candidates;
        Uncertain uncertain = uncertain_rows(found_, context_.report.candidates, context_.stream);
        if (found_.clustered) context_.shortened = true;
        bool again = false;
        if (found_.projected) {
            context_.shortened = true;
            const std::int64_t left = std::ranges::count(uncertain.causes, exact::Cause::full_list);
            record().queries.note(q, left);
            if (q > few_queries && 4 * left > q)
                chunk_.finer->pilots.note(context_.k + (context_.graph ? 1 : 0), false);
            for (exact::Cause& cause : uncertain.causes)
                if (cause == exact::Cause::full_list) cause = exact::Cause::directions;
            again = left > 0 && has_values();
            if (again) uncertain = values_of_all_coordinates(uncertain);
        }
        if (uncertain.rows.empty()) {
            count_needless(before);
            if (answers_) restore_order();
            return again || answers_;
        }
        for (std::size_t i = 0; i < uncertain.rows.size(); ++i)
            context_.mark(first_ + uncertain.rows[i], SearchContext::retried, uncertain.causes[i]);
        uncertain = retry_unprojected(context_, chunk_, own_, queries_, self_.get(), uncertain,
                                      found_.result);
        std::vector<std::int64_t> left =
            retry(context_, chunk_, own_, queries_, self_.get(), uncertain, found_.result);
        count_needless(before);
        const auto mark = [&](SearchContext::Outcome outcome, exact::Cause cause) {
            for (const std::int64_t i : left) context_.mark(first_ + i, outcome, cause);
        };
        if (!left.empty()) {
            mark(SearchContext::retried, exact::Cause::alike);
            left = retry_finer(context_, chunk_, own_, queries_, first_, self_.get(),
                               std::move(left), found_.result);
        }
        mark(SearchContext::scanned, exact::Cause::none);
        if (!left.empty()) full_scan(context_, chunk_, queries_, self_.get(), left, found_.result);
        restore_order();
        return true;
    }

private:
    QueryTile tile() const {
        return {queries_.prepared(), context_.graph ? self_.get() : nullptr,
                context_.plan.symmetric, unmeasured_};
    }
    bool tries_clusters() const {
        // Rows in host memory cross the bus for all of a cluster: not timed.
        const Clusters* const clusters = context_.points.on_host ? nullptr : own_clusters();
        return clusters &&
               answers_in_clusters(*clusters, chunk_.points.rows.count, queries_.rows.count,
                                   context_.k, context_.plan.candidate_capacity) &&
               chunk_.finer->by_clusters.take_turn();
    }
    // False where there is no memory for that.
    bool answered_in_clusters() {
        try {
            answers_ = answer_in_clusters(chunk_, *own_clusters(), context_.points.metric, tile(),
                                          context_.k, context_.plan, context_.stream);
        } catch (const Error& error) {
            if (error.code() != ErrorCode::out_of_memory) throw;
        }
        return answers_.has_value();
    }
    // The queries that one cluster has not answered become the tile's, in an order of their own,
    // and are filtered. False where there are none.
    bool take_left() {
        const unsigned long long* const totals = answers_->totals.wait("filter");
        context_.report.candidates += static_cast<double>(totals[0]);
        context_.shortened = true;
        const auto left = static_cast<std::int64_t>(totals[1]);
        chunk_.finer->by_clusters.queries.note(queries_.rows.count, left);
        if (left == 0) return false;
        Buffer<std::int64_t> which(left, context_.stream);
        check(cudaMemcpyAsync(which.get(), answers_->left.get(),
                              static_cast<std::size_t>(left) * sizeof(std::int64_t),
                              cudaMemcpyDefault, context_.stream),
              "cudaMemcpy");
        gather(std::move(which));
        if (left > listed_queries) take_by_cluster();
        found_ = filtered(tile(), own_projection(), nullptr);
        return true;
    }
    // The tile's queries become these of them.
    void gather(Buffer<std::int64_t> which) {
        GatheredQueries gathered(context_, queries_.rows, std::move(which),
                                 context_.graph ? self_.get() : nullptr);
        Buffer<std::int64_t> order;
        if (order_.size() > 0) {
            order = Buffer<std::int64_t>(gathered.index.size(), context_.stream);
            gather_ids(order_.get(), gathered.index.get(), order.size(), order.get(),
                       context_.stream);
        } else {
            order = std::move(gathered.index);
        }
        // Nothing fails from here on: the queries and their order change together.
        queries_ = std::move(gathered.rows);
        if (gathered.self.size() > 0) self_ = std::move(gathered.self);
        order_ = std::move(order);
    }
    FilterOutcome filtered(const QueryTile& tile, const ProjectedVectors* projected,
                           std::int64_t* final_ids) const {
        const Repeats* const repeats =
            context_.plan.symmetric ? nullptr
                                    : counted_repeats(chunk_, context_.points.d,
                                                      ties_cost_much() ? spare(context_) : 0);
        return filter_tile(chunk_,
                           {.filter = own_,
                            .projected = projected,
                            .clusters = own_clusters(),
                            .final_ids = final_ids,
                            .repeats = repeats},
                           context_.points.metric, tile, context_.k, context_.plan,
                           context_.stream);
    }
    // Whether the tile's queries are so few that all their values are computed.
    bool has_values() const {
        return context_.plan.distances.empty() && context_.plan.matrix_queries > 0;
    }
    Chunk::Finer::Record& record() const {
        return has_values() ? chunk_.finer->as_values : chunk_.finer->by_passes;
    }
    // Lower bounds of few queries' values have left some without a certificate: those of all
    // coordinates have upper bounds, too, and cost less than lists that are tried again.
    Uncertain values_of_all_coordinates(const Uncertain& uncertain) {
        for (std::size_t i = 0; i < uncertain.rows.size(); ++i)
            context_.mark(first_ + uncertain.rows[i], SearchContext::retried, uncertain.causes[i]);
        found_ = filtered({queries_.prepared(), context_.graph ? self_.get() : nullptr}, nullptr,
                          nullptr);
        return uncertain_rows(found_, context_.report.candidates, context_.stream);
    }
    // Candidates since the report had `before`.
    void count_needless(double before) const {
        const double needed = tuning::ordinary_candidates *
                              static_cast<double>(queries_.rows.count * context_.k),
                     found = context_.report.candidates - before;
        if (found <= needed) return;
        chunk_.finer->needless += static_cast<std::int64_t>(found - needed);
        if (is_coarse(own_.form) &&
            tuning::misled_by_candidates(queries_.rows.count, chunk_.points.rows.count,
                                         context_.points.d, found - needed))
            chunk_.finer->coarse_misleads = true;
    }
    // The projection of the tile's own filter, where the plan has one.
    const ProjectedVectors* own_projection() const {
        const bool wanted =
            tuning::may_project(context_.plan.path) && &own_ == &chunk_.filter && chunk_.projected;
        if (!wanted || !(context_.plan.forced || record().take_turn())) return nullptr;
        const bool runs =
            isa_of(context_.plan) == FilterIsa::sm_90a || !chunk_.projected->directions.bytes;
        return runs ? chunk_.projected.get() : nullptr;
    }
    // Whether searches of the chunk have refined so many needless candidates that its equal rows,
    // which may be the reason, should have been counted.
    bool ties_cost_much() const {
        return static_cast<double>(chunk_.finer->needless) >=
               tuning::needless_share * static_cast<double>(chunk_.points.rows.count);
    }
    const Clusters* own_clusters() const {
        return context_.plan.path == Path::clustered && &own_ == &chunk_.filter
                   ? chunk_.clusters.get()
                   : nullptr;
    }
    // Where there is no memory for that they keep the order that they have.
    void take_by_cluster() {
        try {
            reserve_ordered(queries_.rows.count);
            gather(order_by_cluster(*own_clusters(), own_.form, context_.points.metric,
                                    queries_.prepared(), isa_of(context_.plan), context_.stream));
        } catch (const Error& error) {
            if (error.code() != ErrorCode::out_of_memory) throw;
        }
    }
    void reserve_ordered(std::int64_t queries) {
        if (answers_) return;
        const std::int64_t cells = queries * context_.k;
        ordered_ = {Buffer<std::uint64_t>(cells, context_.stream),
                    Buffer<std::uint32_t>(cells, context_.stream)};
    }
    void restore_order() {
        if (!reorders()) return;
        scatter_result(context_, found_.result, order_.get(), order_.size(), result());
    }

    const SearchContext& context_;
    const Chunk& chunk_;
    const FilterVectors& own_;
    std::int64_t first_;
    DeviceRows queries_;
    RowMeasures unmeasured_;  // where the filter measures the queries
    Buffer<std::int64_t> self_,
        order_;  // order_: which of the caller's queries each is, where they are reordered
    FilterOutcome found_;
    TileResult ordered_;
    std::optional<ClusterAnswers>
        answers_;  // of all queries; the others are those that these have left
};

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

// A tree would look at too many of the points: the filter that the plan has tiles for answers all
// queries.
void search_without_tree(const Points& points, const SearchRequest& asked) {
    Plan plan = asked.plan;
    plan.path = tuning::behind_tree(plan);
    Report& report = asked.report;
    const std::int64_t certified = report.certified;
    search(points, {asked.queries, asked.k, asked.graph, plan, asked.f64, asked.stream,
                    asked.progress, asked.out, report, asked.keys});
    report.retried += report.certified - certified;
    report.certified = certified;
    report.fallbacks.insert(
        report.fallbacks.begin(),
        {asked.queries.rows, false, "a tree leaves out too few of the points for these queries",
         std::string("path ") + name(plan.path) + " from the start"});
}

// What the points' bytes have left without a certificate, and what lies between, streams: a pass
// over the bus takes as long for one query as for many.
void search_streaming(const Points& points, const SearchRequest& asked, QueryRange left) {
    Plan plan = asked.plan;
    plan.path = Path::gemm_f16;
    Report& report = asked.report;
    const std::int64_t certified = report.certified;
    search(points, {exact::rows_of(asked.queries, left.first, left.count), asked.k, asked.graph,
                    plan, asked.f64, asked.stream, asked.progress,
                    exact::rows_of(asked.out, left.first, asked.k, asked.f64), report, asked.keys});
    report.path = name(Path::gemm_i8);
    report.retried += report.certified - certified;
    report.certified = certified;
    report.fallbacks.insert(
        report.fallbacks.begin(),
        {left.count, false, "numbers of 8 bits leave queries without a certificate",
         "memory for all points in fp16, or points that stream from the start"});
}

}  // namespace

void search(const Points& points, const SearchRequest& request) {
    const MatrixView& queries = request.queries;
    const Plan& plan = request.plan;
    const std::int64_t k = request.k;
    const DeviceScope scope(points.device);
    if (plan.symmetric && (points.streams || plan.query_tile < queries.rows))
        throw Error(ErrorCode::invalid_argument,
                    "plan: symmetric, which needs all points and all queries at once");
    std::vector<std::uint8_t> outcomes(static_cast<std::size_t>(queries.rows),
                                       SearchContext::first_try);
    std::vector<exact::Cause> causes(outcomes.size(), exact::Cause::none);
    bool shortened = false;
    // Small results for the host: the kernels write them where it can read them.
    const std::int64_t all_cells = queries.rows * k, element = request.f64 ? 8 : 4;
    PinnedBlock small;
    if (request.out.device == host_memory && !points.streams &&
        all_cells * (8 + element) <= PinnedBlock::bytes)
        small = PinnedBlock(static_cast<cudaStream_t>(request.stream));
    SearchContext context{request,
                          points,
                          static_cast<cudaStream_t>(request.stream),
                          small.data() || (request.out.device == points.device && !points.streams),
                          outcomes,
                          causes,
                          shortened};
    if (small.data()) {
        context.out.ids = static_cast<std::int64_t*>(small.data());
        context.out.distances = request.out.distances ? context.out.ids + all_cells : nullptr;
    }
    const auto hand_over = [&] {
        if (!small.data()) return;
        std::copy_n(context.out.ids, all_cells, request.out.ids);
        if (request.out.distances)
            std::memcpy(request.out.distances, context.out.distances,
                        static_cast<std::size_t>(all_cells * element));
    };
    CallMemory call(points.device, context.stream);
    if (plan.path == Path::tree) {
        const bool found = search_by_tree(context);
        call.wait("search");
        return found ? hand_over() : search_without_tree(points, request);
    }
    if (serves_by_bytes(context) && points.resident.finer->by_passes.take_turn()) {
        const QueryRange left = search_by_bytes(context);
        call.wait("search");
        request.report.path = name(Path::gemm_i8);
        request.report.certified += queries.rows - left.count;
        if (left.count > 0) search_streaming(points, request, left);
        return;
    }
    const std::int64_t tile = std::min(plan.query_tile, queries.rows);
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
            ChunkStream chunks(points, plan, request.progress, context.stream);
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
    call.wait("search");
    hand_over();
    if (tuning::may_project(plan.path)) {
        const Chunk& chunk = points.resident;
        const bool clusters = plan.path == Path::clustered && chunk.clusters;
        if (!shortened) request.report.path = name(Path::gemm_f16);
        else if (!clusters && chunk.projected)
            request.report.path =
                name(chunk.projected->directions.leaves_some() ? Path::projected : Path::gemm_i8);
    }
    context.count_outcomes();
}

}  // namespace kith::gpu
