// See chunk_search.h.
#include "gpu/search/tile/chunk_search.h"

#include <algorithm>
#include <utility>

#include "gpu/filter/levels.h"
#include "gpu/filter/lists/candidate_lists.h"
#include "gpu/points/formula/prepare_formula.h"
#include "gpu/points/repeats.h"
#include "gpu/primitives/gather.h"
#include "gpu/runtime/with_room.h"
#include "gpu/search/passes/clustered_pass.h"
#include "gpu/search/tuning.h"

namespace kith::gpu {

namespace {

constexpr const char* no_memory = "there is no memory for it";
constexpr const char* unlike = "queries have been unlike the points too often";

// The filter of the plan's path. It changes once its form has proved too coarse: a tile of queries
// keeps the one that it began with.
const FilterVectors& own_filter(const SearchContext& context, const Chunk& chunk) {
    const FilterKind kind = kind_of(context.plan);
    const FilterVectors* finer = nullptr;
    if (kind == FilterKind::direct_coarse && context.learned.coarse_misleads)
        with_room([&] { finer = &filter_of(chunk, context.points.metric, FilterKind::direct); });
    return finer ? *finer : filter_of(chunk, context.points.metric, kind);
}

}  // namespace

ChunkSearch::ChunkSearch(const SearchContext& context, const Chunk& chunk, std::int64_t first,
                         std::int64_t count, std::int64_t* final_ids)
    : context_(context),
      chunk_(chunk),
      own_(context.plan.path == Path::exact ? chunk.filter : own_filter(context, chunk)),
      first_(first),
      self_(context.graph ? count : 0, context.stream) {
    if (context.plan.symmetric) {
        take_positions(count);
    } else {
        const bool with_filter = !scans() && context.points.metric.kernels && !own_clusters();
        queries_ = load_queries(context, first, count, !with_filter);
        if (with_filter) unmeasured_ = queries_.measures();
        // Relative to the chunk; an id outside of it leaves nothing out.
        if (context.graph) count_up(self_.get(), count, first - chunk.first, context.stream);
        if (tries_nearest_partition() && answered_in_clusters()) {
            context.log.took(Step::nearest_partition, first, count);
            return;
        }
        if (own_clusters() && count > listed_queries) take_by_cluster();
    }
    if (scans()) {
        found_.result = scan_tile(chunk, context.points.metric, tile(), context.k,
                                  context.plan.point_tile, context.stream);
        context.log.took(Step::exact, first, count);
    } else {
        filter_all(reorders() ? nullptr : final_ids);
    }
    unmeasured_ = {};
    restore_order();
}

// The points in the order of their positions: each tile of pairs serves its rows and its columns.
void ChunkSearch::take_positions(std::int64_t count) {
    Buffer<std::int64_t> rows(count, context_.stream);
    position_rows(own_.form, count, 0, count, rows.get(), context_.stream);
    check(cudaMemcpyAsync(self_.get(), rows.get(),
                          static_cast<std::size_t>(count) * sizeof(std::int64_t), cudaMemcpyDefault,
                          context_.stream),
          "cudaMemcpy");
    reserve_ordered(count);
    GatheredQueries gathered(context_, chunk_.points.rows, std::move(rows), nullptr);
    queries_ = std::move(gathered.rows);
    order_ = std::move(gathered.index);
}

bool ChunkSearch::finish() {
    const std::int64_t q = queries_.rows.count;
    context_.progress.add(static_cast<double>(q) * static_cast<double>(chunk_.points.rows.count));
    if (scans()) {
        finish_scan();
        return false;
    }
    if (answers_ && !take_left()) return false;
    const double before = context_.report.candidates;
    LeftQueries left = left_by_filter();
    bool again = false;
    if (found_.projected) {
        const std::int64_t full =
            std::ranges::count(left, exact::Cause::full_list, &LeftQuery::cause);
        record().note(q, full);
        if (q > few_queries && 4 * full > q)
            context_.learned.pilots.note(context_.k + (context_.graph ? 1 : 0), false);
        for (LeftQuery& query : left)
            if (query.cause == exact::Cause::full_list) query.cause = exact::Cause::directions;
        again = full > 0 && has_values();
    }
    note_left(left);
    if (again) left = values_of_all_coordinates(left);
    const bool changes = again || answers_ || !left.empty();
    answer_left(std::move(left), before);
    if (changes) restore_order();
    return changes;
}

void ChunkSearch::finish_scan() {
    const std::int64_t q = queries_.rows.count;
    check(cudaStreamSynchronize(context_.stream), "search");
    context_.report.candidates +=
        static_cast<double>(q) * static_cast<double>(chunk_.points.rows.count);
    for (std::int64_t i = 0; i < q; ++i)
        context_.log.mark(first_ + i, AttemptLog::scanned, exact::Cause::none);
    context_.log.lap(Step::exact);
}

// Waits for the filter.
LeftQueries ChunkSearch::left_by_filter() {
    return left_by(found_, context_.report.candidates, context_.stream);
}

// Logs why the filter has left queries.
void ChunkSearch::note_left(const LeftQueries& left) const {
    for (const LeftQuery& query : left) context_.log.left(step_, query.cause);
    context_.log.lap(step_);
}
void ChunkSearch::mark_retried(const LeftQueries& left) const {
    for (const LeftQuery& query : left)
        context_.log.mark(first_ + query.row, AttemptLog::retried, query.cause);
}

// The later strategies, one after another. The last leaves none.
void ChunkSearch::answer_left(LeftQueries left, double candidates_before) {
    mark_retried(left);
    const RetryTile tile = retried();
    bool counted = false;
    for (const Step step : later_steps) {
        if (!counted && !is_of_own_filter(step)) {
            count_needless(candidates_before);
            counted = true;
        }
        if (!left.empty()) left = take(step, tile, std::move(left));
    }
}

// True if the tile's queries are first compared with the points of one cluster.
bool ChunkSearch::tries_nearest_partition() const {
    const Clusters* const clusters = own_clusters();
    const std::int64_t n = chunk_.points.rows.count, q = queries_.rows.count;
    if (!clusters) return false;
    // Rows in host memory cross the bus for all of a cluster: not timed.
    const char* const why =
        context_.points.on_host ? "the points' rows are in host memory"
        : !answers_in_clusters(*clusters, n, q, context_.k, context_.plan.candidate_capacity)
            ? "the clusters overlap, or are too few or too large for so many neighbours"
        : !context_.learned.by_clusters.take_turn() ? unlike
                                                    : nullptr;
    if (why && nearest_partition_may_serve(n, q, context_.k))
        context_.log.declined(Step::nearest_partition, why);
    return !why;
}

// False where there is no memory for that.
bool ChunkSearch::answered_in_clusters() {
    const bool has_room = with_room([&] {
        answers_ = answer_in_clusters(chunk_, *own_clusters(), context_.points.metric, tile(),
                                      context_.k, context_.plan, context_.stream);
    });
    if (!has_room) context_.log.declined(Step::nearest_partition, no_memory);
    return answers_.has_value();
}

// The queries that one cluster has not answered become the tile's, in an order of their own, and
// are filtered. False where there are none.
bool ChunkSearch::take_left() {
    const unsigned long long* const totals = answers_->totals.wait("filter");
    context_.report.candidates += static_cast<double>(totals[0]);
    const auto left = static_cast<std::int64_t>(totals[1]);
    context_.learned.by_clusters.note(queries_.rows.count, left);
    context_.log.lap(Step::nearest_partition);
    if (left == 0) return false;
    Buffer<std::int64_t> which(left, context_.stream);
    check(cudaMemcpyAsync(which.get(), answers_->left.get(),
                          static_cast<std::size_t>(left) * sizeof(std::int64_t), cudaMemcpyDefault,
                          context_.stream),
          "cudaMemcpy");
    gather(std::move(which));
    if (left > listed_queries) take_by_cluster();
    filter_all(nullptr);
    return true;
}

// The tile's queries become these of them. The log counts those that are left as the tile's first:
// only sums matter.
void ChunkSearch::gather(Buffer<std::int64_t> which) {
    GatheredQueries gathered(context_, queries_.rows, std::move(which),
                             context_.graph ? self_.get() : nullptr);
    Buffer<std::int64_t> order;
    if (order_.size() > 0) {
        order = Buffer<std::int64_t>(gathered.index.size(), context_.stream);
        gather_ids(order_.get(), gathered.index.get(), order.size(), order.get(), context_.stream);
    } else {
        order = std::move(gathered.index);
    }
    // Nothing fails from here on, so the queries and their order change together.
    queries_ = std::move(gathered.rows);
    if (gathered.self.size() > 0) self_ = std::move(gathered.self);
    order_ = std::move(order);
}

// Orders the queries by cluster; where there is no memory for that, they keep the order that they
// have.
void ChunkSearch::take_by_cluster() {
    with_room([&] {
        reserve_ordered(queries_.rows.count);
        gather(order_by_cluster(*own_clusters(), own_.form, context_.points.metric,
                                queries_.prepared(), isa_of(context_.plan), context_.stream));
    });
}

void ChunkSearch::reserve_ordered(std::int64_t queries) {
    if (answers_) return;
    const std::int64_t cells = queries * context_.k;
    ordered_ = {Buffer<std::uint64_t>(cells, context_.stream),
                Buffer<std::uint32_t>(cells, context_.stream)};
}

void ChunkSearch::restore_order() {
    if (!reorders()) return;
    scatter_result(context_, found_.result, order_.get(), order_.size(), result());
}

// Enqueues the filter of all queries of the tile.
void ChunkSearch::filter_all(std::int64_t* final_ids) {
    projection_ = own_projection();
    found_ = filtered(tile(), projection_, final_ids);
    step_ = step_of(found_);
    context_.log.took(step_, first_, queries_.rows.count);
    note_declined();
}

FilterOutcome ChunkSearch::filtered(const QueryTile& tile, const ProjectedVectors* projected,
                                    std::int64_t* final_ids) const {
    // Searches that refined many wasted candidates suggest duplicate rows, which should have been
    // counted.
    const bool ties_cost_much =
        (chunk_.likely_repeats && queries_.rows.count >= counting_queries) ||
        static_cast<double>(context_.learned.needless) >=
            tuning::needless_share * static_cast<double>(chunk_.points.rows.count);
    const Repeats* const repeats =
        context_.plan.symmetric
            ? nullptr
            : counted_repeats(chunk_, context_.points.d, ties_cost_much ? spare(context_) : 0);
    return filter_tile(context_, chunk_,
                       {.filter = own_,
                        .projected = projected,
                        .clusters = own_clusters(),
                        .final_ids = final_ids,
                        .repeats = repeats},
                       tile);
}

// The step that produced an outcome of filtered().
Step ChunkSearch::step_of(const FilterOutcome& found) const {
    if (found.projected) return projection_step();
    if (found.clustered) return Step::clustered;
    return found.values || (has_values() && filters_nothing(own_.form)) ? Step::dense : Step::own;
}

Step ChunkSearch::projection_step() const {
    return chunk_.projected->directions.leaves_some() ? Step::projected : Step::gemm_i8;
}

// Logs why steps were not taken although the points have been prepared for them.
void ChunkSearch::note_declined() const {
    AttemptLog& log = context_.log;
    if (has_projection() && !found_.projected)
        log.declined(
            projection_step(),
            projection_ ? "it saves too little for these queries, a few of them say" : unlike);
    if (own_clusters() && !found_.clustered)
        log.declined(Step::clustered,
                     "there are too few pairs for lists of tiles, or duplicate rows are left out");
    if (has_values() && step_ == Step::own)
        log.declined(Step::dense, "so few points have too few groups of values");
}

// Lower bounds of few queries' values have left some without a certificate. Values of all
// coordinates have upper bounds, too, and cost less than a retry with candidate lists.
LeftQueries ChunkSearch::values_of_all_coordinates(const LeftQueries& left) {
    AttemptLog& log = context_.log;
    mark_retried(left);
    found_ =
        filtered({queries_.prepared(), context_.graph ? self_.get() : nullptr}, nullptr, nullptr);
    step_ = step_of(found_);
    LeftQueries still = left_by_filter();
    // All queries are answered anew: those that were left, and those that are now.
    for (const LeftQuery& query : left) log.took(step_, first_ + query.row);
    for (const LeftQuery& query : still) log.took(step_, first_ + query.row);
    note_left(still);
    return still;
}

// Counts the candidates since the report had `before` that neighbours did not need.
void ChunkSearch::count_needless(double before) const {
    const double needed = tuning::ordinary_candidates *
                          static_cast<double>(queries_.rows.count * context_.k),
                 found = context_.report.candidates - before;
    if (found <= needed) return;
    context_.learned.needless += static_cast<std::int64_t>(found - needed);
    if (is_coarse(own_.form) &&
        tuning::misled_by_candidates(queries_.rows.count, chunk_.points.rows.count,
                                     context_.points.d, found - needed))
        context_.learned.coarse_misleads = true;
}

// The projection of the tile's own filter, where the plan has one.
const ProjectedVectors* ChunkSearch::own_projection() const {
    if (!has_projection() || !(context_.plan.forced || record().take_turn())) return nullptr;
    const bool runs =
        isa_of(context_.plan) == FilterIsa::sm_90a || !chunk_.projected->directions.bytes;
    return runs ? chunk_.projected.get() : nullptr;
}

}  // namespace kith::gpu
