// The kernels of the filter of a tile of queries; see tile_search.h.
#include <algorithm>
#include <optional>

#include "gpu/filter/levels.h"
#include "gpu/filter/lists/candidate_lists.h"
#include "gpu/filter/tuning.h"
#include "gpu/metric/user.h"
#include "gpu/points/formula/prepare_formula.h"
#include "gpu/points/repeats.h"
#include "gpu/primitives/sort/sort_rows.h"
#include "gpu/runtime/memory/pinned_words.h"
#include "gpu/runtime/with_room.h"
#include "gpu/search/context.h"
#include "gpu/search/operands.h"
#include "gpu/search/passes/augmented_pass.h"
#include "gpu/search/passes/clustered_pass.h"
#include "gpu/search/passes/projected_pass.h"
#include "gpu/search/passes/value_candidates.h"
#include "gpu/search/results.h"
#include "gpu/search/tile/tile_search.h"
#include "gpu/search/tuning.h"
#include "gpu/select/streaming/threshold_select.h"
#include "papers/gpu.h"

namespace kith::gpu {

namespace {

// The filter passes of a tile of queries: thresholds, candidate lists, refinement.
class TileFilter {
public:
    TileFilter(const SearchContext& context, const Chunk& chunk, const TileFilterChoice& choice,
               const QueryTile& queries)
        : chunk_(chunk),
          filter_(choice.filter),
          projected_(choice.repeats ? nullptr : choice.projected),
          metric_(context.points.metric),
          queries_(queries),
          plan_(context.plan),
          learned_(context.learned),
          stream_(context.stream),
          by_bytes_(choice.by_bytes),
          q_(queries.rows.rows.count),
          n_(chunk.points.rows.count),
          // A query that is among the points is among its own candidates.
          wanted_(std::min(n_, context.k + (queries.self ? 1 : 0))),
          vectors_(vector_bytes(filter_.form, q_), stream_),
          state_(q_, stream_),
          augmented_(stream_) {
        if (choice.clusters && !choice.repeats)
            clustered_.emplace(*choice.clusters, isa(), stream_);
        const FilterVectors& filter = filter_;
        const DeviceMetric& metric = metric_;
        if (metric.kernels && queries.unmeasured.nan)
            metric.kernels->filter_unmeasured(queries.rows.rows, queries.unmeasured, filter.form,
                                              vectors_.get(), state_.error(), state_.unfit(),
                                              metric.params, stream_);
        else if (metric.kernels)
            metric.kernels->filter_queries(queries.rows, filter.form, vectors_.get(),
                                           state_.error(), state_.unfit(), metric.params, stream_);
        else
            formula_queries(queries.rows, filter, vectors_.get(), state_.error(), state_.unfit(),
                            metric.params, stream_);
        static_cast<Operands&>(pass_) =
            operands_of(filter, metric, vectors_.get(), state_.error(), q_, n_);
        if (choice.repeats) leave_out(*choice.repeats);
        pass_.threshold = state_.threshold();
        pass_.counts = state_.counts();
    }

    // Derives thresholds from samples, then filters all points. Lists grow if the samples show that
    // they must.
    void from_samples() {
        const FilterLevels whole =
            by_bytes_ ? tuning::listed_levels(n_, wanted_) : filter_levels(n_, q_, wanted_);
        const bool shortened =
            projected_ && projected_->directions.leaves_some() && q_ > few_queries;
        const FilterLevels levels =
            shortened ? tuning::projected_levels(whole, n_, wanted_) : whole;
        augments_ = !by_bytes_ && AugmentedPass::serves(filter_.form, isa(), q_, n_);
        clear_totals();
        lengths_ = Buffer<unsigned>(2 * length_classes, stream_);
        // Lists that have room for all points never grow.
        const bool has_room = n_ <= std::min({plan_.candidate_capacity, tuning::roomy_points,
                                              tuning::roomy_lists / q_});
        reserve(has_room ? std::max(n_, levels.capacity) : levels.capacity);
        sample(levels);
        if (q_ > few_queries && !has_room) {
            SampleOutcome seen = outcome_of_samples();
            // Ties at a threshold make lists longer than its order says. Entries that the first
            // sample dropped are not in the count of the second; the added room covers them
            // wherever a list can hold them at all.
            const std::int64_t overflow = std::min((seen.overflow + levels.sample[0] / 4) / 64 * 64,
                                                   plan_.candidate_capacity);
            if (seen.overflow > 0 && overflow > capacity_) {
                candidates_ = {};
                reserve(overflow);
                sample(levels);
                seen = outcome_of_samples();
            }
            // With int8 alone on the device, the samples predict the next range only.
            const std::int64_t last = whole.sample[static_cast<std::size_t>(whole.count) - 1],
                               reached = by_bytes_
                                             ? std::min(n_, last * (1 + tuning::listed_growth))
                                             : n_,
                               needed = needed_capacity(seen.longest, last, reached);
            if (needed > capacity_)
                reserve(std::max(capacity_, std::min(needed, plan_.candidate_capacity)));
        }
        if (queries_.by_position) {
            // Symmetric: each tile of pairs serves its rows and its columns.
            column_threshold_ = Buffer<float>(filter_.half_norm.size(), stream_);
            column_thresholds(state_.threshold(), filter_.half_norm.get(), n_,
                              column_threshold_.get(), stream_);
            pass_.column_threshold = column_threshold_.get();
        }
        if (projected_ && through_projected()) return;
        if (by_bytes_)
            throw Error(ErrorCode::out_of_memory,
                        "memory: no room for what passes the points' bytes");
        // Runs of positions in the order of the half-space partition (cells) are no samples of the
        // points.
        if (levels.sample[1] < whole.sample[1] &&
            (!filter_.form.order || whole.sample[1] <= projected_->cells.view.first)) {
            through(whole.sample[1]);
            tighten_lists(lists(), whole.order[1], stream_);
        }
        if (clustered_ && augments_) through_clusters();
        // Ranges must be samples of the points; runs of positions in the order of clusters are not.
        if (pass_.column_threshold || listed_ || filter_.form.order) through(n_);
        else through_ranges();
    }

    // Computes all values of very few queries (dense pass), if the plan says so. False: nothing was
    // enqueued.
    bool from_values() {
        if (by_bytes_ || plan_.matrix_queries < q_ ||
            !value_pass_serves(pass_, filter_.form, wanted_))
            return false;
        const ProjectedVectors* projected = of_values();
        if (projected && wanted_ > most_coarse_k) {
            // Samples and passes of the projection read much less than all coordinates, and take
            // over.
            if (plan_.forced || filter_.form.width > tuning::few_queries_dimensions) return false;
            projected = nullptr;
        }
        values_ = pass_over_values(pass_, lists(), projected, wanted_, stream_);
        used_projection_ = projected != nullptr;
        reserve(value_candidates);
        return true;
    }

    // A composed or fused path of the papers. A list with a threshold below its last value is
    // complete, ties included.
    void from_matrix() {
        clear_totals();
        const papers::MatrixTile tile{
            .plan = plan_,
            .step = filter_.form.direct.step,
            .exponent = filter_.form.direct.exponent,
            .queries = reinterpret_cast<const float*>(vectors_.get()),
            .points = reinterpret_cast<const float*>(filter_.vectors.get()),
            .width = filter_.form.width,
            .q = q_,
            .n = n_,
            .half_norm = pass_.half_norm,
            .point_error = filter_.point_error.get(),
            .query_error = state_.error(),
            .query_term = pass_.query_term,
            .growth = lists().growth,
            .unfit = state_.unfit(),
            .wanted = wanted_,
            .stream = stream_};
        reserve(papers::listed_points(tile));
        own_bound_ = papers::list_candidates(tile, lists());
    }

    // Filters all points by given thresholds.
    void from_thresholds(const float* thresholds) {
        clear_totals();
        reserve(max_candidates);
        check(cudaMemcpyAsync(state_.threshold(), thresholds,
                              static_cast<std::size_t>(q_) * sizeof(float), cudaMemcpyDefault,
                              stream_),
              "cudaMemcpy");
        check(cudaMemsetAsync(state_.counts(), 0,
                              static_cast<std::size_t>(q_) * sizeof(std::int32_t), stream_),
              "cudaMemset");
        check(cudaMemsetAsync(state_.overflowed(), 0, static_cast<std::size_t>(q_), stream_),
              "cudaMemset");
        through(n_);
    }

    // Rescores the candidates by canonical distances, and sorts out the k smallest.
    FilterOutcome refine(std::int64_t k, std::int64_t* final_ids) {
        Buffer<std::uint32_t> ids(q_ * capacity_, stream_);
        const CloseTask close{.k = wanted_,
                              .n = n_,
                              .self = queries_.self,
                              .unfit = state_.unfit(),
                              .nan = chunk_.points.nan.get(),
                              .ids = ids.get(),
                              .status = state_.status(),
                              .totals = totals_.get()};
        FilterOutcome out;
        if (values_.pass.q > 0) {
            out.counted = PinnedBlock(stream_);
            close_values(values_.pass, values_.coarse, lists(), filter_.form, close,
                         static_cast<unsigned long long*>(out.counted.data()), stream_);
        } else {
            close_lists(lists(), filter_.form, close, stream_);
        }
        auto* const keys = reinterpret_cast<std::uint64_t*>(
            candidates_.get());  // the candidates' memory, as these have become ids
        const RefineTask task{
            queries_.rows, chunk_.points.prepared(), ids.get(), state_.counts(), capacity_, wanted_,
            keys};
        if (metric_.kernels) metric_.kernels->refine(task, metric_.params, stream_);
        else user_refine(task, metric_.spec, stream_);
        out.result = {Buffer<std::uint64_t>(q_ * k, stream_),
                      Buffer<std::uint32_t>(q_ * k, stream_)};
        sort_rows({keys, ids.get(), state_.counts(), 1, q_, capacity_, capacity_},
                  {out.result.keys.get(), out.result.ids.get(), k, final_ids}, stream_);
        if (!out.counted.data()) out.totals.fetch(totals_.get(), 2, stream_);
        out.state = std::move(state_);
        out.projected = used_projection_;
        out.clustered = listed_;
        out.values = values_.pass.q > 0;
        return out;
    }

private:
    // The projection for values of few queries: null if it saves too little, unless the path is
    // forced.
    const ProjectedVectors* of_values() const {
        if (!projected_ || plan_.forced) return projected_;
        const std::int64_t less = filter_.form.width - projected_->directions.form.width;
        return 2 * static_cast<double>(n_) * static_cast<double>(less) >= tuning::coarse_value_bytes
                   ? projected_
                   : nullptr;
    }
    void clear_totals() {
        totals_ = Buffer<unsigned long long>(6, stream_);
        totals_.clear_to(0);
    }
    // Leaves duplicate rows out. Without memory for that, all rows remain.
    void leave_out(const Repeats& repeats) {
        const bool has_room =
            with_room([&] { half_norm_ = Buffer<float>(filter_.half_norm.size(), stream_); });
        if (!has_room) return;
        drop_repeats(repeats, filter_, n_, wanted_, half_norm_.get(), stream_);
        pass_.half_norm = half_norm_.get();
    }
    // Passes over the samples.
    void sample(const FilterLevels& levels) {
        pass_.first = pass_.count = 0;
        lengths_.clear_to(0);
        start(levels);
        if (levels.count == 2) {
            through(levels.sample[1]);
            lengths_.clear_to(0);
            tighten_lists(lists(), levels.order[1], stream_);
        }
    }
    // The longest list, and the length that the longest overflowed list needs. A few outliers are
    // ignored: retrying their queries is cheaper than longer lists for all.
    struct SampleOutcome {
        std::int64_t longest, overflow;
    };
    SampleOutcome outcome_of_samples() {
        PinnedWords words;
        most_lengths(lists(), static_cast<unsigned>(q_ / 64), totals_.get() + 2, stream_);
        words.fetch(totals_.get() + 2, 4, stream_);
        const unsigned long long* const seen = words.wait("filter");
        const auto length = [&](int which, std::int64_t least) {
            const auto most = static_cast<std::int64_t>(seen[which]),
                       all = static_cast<std::int64_t>(seen[which + 2]);
            return all <= 2 * std::max(most, least) ? all : most;
        };
        return {length(0, 0), length(1, capacity_)};
    }
    // The first sample stores every value, so it takes some queries at a time.
    void start(const FilterLevels& levels) {
        const std::int64_t step = std::min(q_, tuning::dense_queries);
        const std::int64_t ld = whole_tiles(levels.sample[0]);
        Buffer<float> all(step * ld, stream_);
        for (std::int64_t first = 0; first < q_; first += step) {
            FilterPass dense = pass_;
            dense.queries = vectors_.get() + vector_bytes(filter_.form, first);
            dense.query_term += first;
            dense.q = std::min(step, q_ - first);
            dense.count = levels.sample[0];
            dense.all = all.get();
            dense.ld = ld;
            run(dense);
            start_lists(lists().part(first, dense.q), all.get(), ld, levels.sample[0],
                        levels.order[0], stream_);
        }
        pass_.count = levels.sample[0];
    }
    FilterIsa isa() const { return isa_of(plan_); }
    CandidateLists lists() const {
        return {.q = q_,
                .capacity = capacity_,
                .candidates = candidates_.get(),
                .counts = state_.counts(),
                .threshold = state_.threshold(),
                .overflowed = state_.overflowed(),
                .query_error =
                    own_bound_.query_error.get() ? own_bound_.query_error.get() : state_.error(),
                .point_error = own_bound_.point_error.get() ? own_bound_.point_error.get()
                                                            : filter_.point_error.get(),
                .lengths = lengths_.get(),
                // f64 queries are rounded, even if the points were exact.
                .growth = queries_.rows.rows.type == ElementType::f64 ? filter_.form.rounded_growth
                                                                      : filter_.form.growth,
                .ceiling = filter_.form.ceiling,
                .farthest = filter_.form.farthest};
    }
    // Grows the lists to that capacity; entries are kept.
    void reserve(std::int64_t capacity) {
        Buffer<Candidate> grown(q_ * capacity, stream_);
        if (candidates_.get()) copy_lists(lists(), grown.get(), capacity, stream_);
        candidates_ = std::move(grown);
        capacity_ = capacity;
        pass_.candidates = candidates_.get();
        pass_.capacity = capacity;
    }
    // Filters the points from the end of the last pass to `to`.
    void through(std::int64_t to) {
        pass_.first += pass_.count;
        pass_.count = to - pass_.first;
        if (pass_.count > 0) run(pass_);
    }
    // Filters all other points, in ranges whose thresholds follow from the ranges before.
    void through_ranges() {
        const std::int64_t growth = tuning::filter_range_growth(q_, n_);
        for (std::int64_t seen = pass_.first + pass_.count; seen < n_;) {
            seen = tuning::end_of_range(seen, growth * seen, n_);
            through(seen);
            if (seen < n_) tighten_lists(lists(), sample_order(wanted_, seen, n_), stream_);
        }
    }
    // Filters the points after the samples by the projection. False if too many candidates pass
    // for the pilot queries, or memory is short.
    bool through_projected() {
        const RowSource rows{chunk_.points, metric_};
        ProjectedPass projected(*projected_, filter_, pass_, isa(), wanted_, stream_,
                                by_bytes_ ? &rows : nullptr);
        const std::int64_t first = pass_.first + pass_.count;
        bool serves = false;
        const bool has_room = with_room([&] {
            serves = plan_.forced || by_bytes_ || projected.serves(chunk_, learned_, first);
            if (serves) projected.prepare(q_);
        });
        if (!has_room || !serves) return false;
        const bool in_cells = projected.in_cells() && first <= projected.cells_first();
        const std::int64_t end = in_cells ? projected.cells_first() : n_;
        for (std::int64_t seen = first; seen < end;) {
            const std::int64_t to = projected.end_of_range(seen);
            projected.run(seen, to, lists());
            seen = to;
            if (seen < n_) tighten_lists(lists(), projected.order(seen), stream_);
        }
        if (in_cells) projected.run_cells(lists());
        pass_.first = first;
        pass_.count = n_ - first;
        used_projection_ = first < n_;
        return true;
    }
    // Filters the points ahead of the clusters. The next pass takes the listed tiles of the
    // clusters alone.
    void through_clusters() {
        if (pass_.first + pass_.count < clustered_->first()) through(clustered_->first());
        listed_ = true;
    }
    // Without memory for lists of tiles, the pass takes all tiles.
    FilterPass listed(const FilterPass& pass) {
        FilterPass of_tiles = pass;
        if (listed_) listed_ = with_room([&] { of_tiles = clustered_->of(pass); });
        return of_tiles;
    }
    void run(const FilterPass& pass) {
        const bool augments = augments_ && !pass.formula && !pass.all && !pass.column_threshold;
        sweep(augments
                  ? listed(augmented_.of(pass, filter_.form, state_.error(), state_.threshold()))
                  : pass,
              isa(), stream_);
    }

    const Chunk& chunk_;
    const FilterVectors& filter_;
    const ProjectedVectors* projected_;
    bool used_projection_ = false;
    const DeviceMetric& metric_;
    const QueryTile& queries_;
    const Plan& plan_;
    Learned& learned_;
    cudaStream_t stream_;
    bool by_bytes_;
    std::int64_t q_, n_, wanted_, capacity_ = 0;
    Buffer<char> vectors_;
    QueryState state_;
    Buffer<float> column_threshold_, half_norm_;
    // Candidates, queries without a certificate; after samples, the four words of most_lengths.
    Buffer<unsigned long long> totals_;
    Buffer<unsigned> lengths_;
    Buffer<Candidate> candidates_;
    bool augments_ = false, listed_ = false;
    AugmentedPass augmented_;
    std::optional<ClusteredPass> clustered_;
    papers::ListBound own_bound_;
    ValueCandidates values_;
    FilterPass pass_;
};

}  // namespace

FilterOutcome filter_tile(const SearchContext& context, const Chunk& chunk,
                          const TileFilterChoice& choice, const QueryTile& queries) {
    if (filters_nothing(choice.filter.form))
        return nothing_filtered(queries.rows.rows.count, context.k, context.stream);
    TileFilter filter_state(context, chunk, choice, queries);
    if (choice.thresholds) filter_state.from_thresholds(choice.thresholds);
    else if (!context.plan.distances.empty()) filter_state.from_matrix();
    else if (!filter_state.from_values()) filter_state.from_samples();
    return filter_state.refine(context.k, choice.final_ids);
}

}  // namespace kith::gpu
