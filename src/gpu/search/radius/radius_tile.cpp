// The kernels that a tile of a search by radius goes through; see radius_tile.h.
#include "gpu/search/radius/radius_tile.h"

#include <algorithm>
#include <cmath>

#include "gpu/metric/user.h"
#include "gpu/points/formula/prepare_formula.h"
#include "gpu/runtime/memory/pinned_words.h"
#include "gpu/search/deliver.h"
#include "gpu/search/operands.h"
#include "gpu/search/scan_keys.h"

namespace kith::gpu {

namespace {

// The totals of the tile's rows that `queries` begin with.
std::int64_t* totals_of(const RadiusFound& found, const BallQueries& queries) {
    return found.totals.get() + (queries.tile_rows ? 0 : queries.first_row);
}

// Adds the pairs within to `found` as a part with this many entries.
void add_part(const RankedPairs& pairs, const BallQueries& queries, const std::int32_t* counts,
              std::int64_t entries, const std::uint8_t* state, std::int64_t first_point,
              RadiusFound& found, cudaStream_t stream) {
    if (entries == 0) return;
    RadiusPart part{.q = pairs.q,
                    .keys = {entries, stream},
                    .ids = {entries, stream},
                    .offsets = {pairs.q + 1, stream},
                    .rows = queries.tile_rows,
                    .first_row = queries.first_row,
                    .state = state,
                    .first = first_point};
    sum_counts(counts, pairs.q, part.offsets.get(), stream);
    take_within(pairs, queries.balls, part.offsets.get(), part.keys.get(), part.ids.get(), stream);
    found.parts.push_back(std::move(part));
    found.entries += entries;
}

// The passes of a filter over ranges of the points. Lists are emptied after each range, so a range
// of as many points as a list has room for never overflows. Longer ranges are sized by the lists so
// far.
class RangeFilter {
public:
    RangeFilter(const SearchContext& context, const Chunk& chunk, const FilterVectors& filter,
                const BallQueries& queries, RadiusFound& found)
        : context_(context),
          chunk_(chunk),
          filter_(filter),
          queries_(queries),
          found_(found),
          stream_(context.stream),
          q_(queries.count()),
          n_(chunk.points.rows.count),
          capacity_(tuning::radius_capacity(found.workspace, q_, n_, queries.balls.asks)),
          vectors_(vector_bytes(filter.form, q_), stream_),
          query_error_(2 * q_, stream_),
          excluded_(q_, stream_),
          included_(found.counts_only ? q_ : 0, stream_),
          sure_(found.counts_only ? q_ : 0, stream_),
          largest_error_(1, stream_),
          state_(2 * q_, stream_),
          listed_(q_, stream_),
          open_(q_, stream_),
          proven_(q_, stream_),
          within_(q_, stream_),
          sums_(3 * q_, stream_),
          words_(4, stream_),
          candidates_(q_ * capacity_, stream_),
          self_listed_(found.counts_only && queries.self ? q_ : 0, stream_),
          ids_(q_ * capacity_, stream_),
          reported_(queries.balls.asks ? q_ * capacity_ : 0, stream_) {
        sums_.clear_to(0);
        self_listed_.clear_to(0);
        make_queries();
    }

    std::vector<std::uint8_t> run() {
        std::int64_t seen = 0, length = std::min(n_, capacity_), within = 0, refined = 0;
        while (seen < n_) {
            compare(seen, length);
            PinnedWords summary;
            summary.fetch(words_.get(), 4, stream_);
            const unsigned long long* const words = summary.wait("search by radius");
            if (static_cast<std::int64_t>(words[0]) > capacity_) {
                length = shorter(length, static_cast<std::int64_t>(words[0]));
                continue;
            }
            refined += static_cast<std::int64_t>(words[2]);
            if (!found_.counts_only)
                add_part(pairs(), queries_, within_.get(), static_cast<std::int64_t>(words[3]),
                         state(), chunk_.first, found_, stream_);
            add_range(range(), totals(), stream_);
            seen += length;
            within += static_cast<std::int64_t>(words[3]);
            if (!found_.counts_only) require_room(within, seen);
            length = next_length(seen, static_cast<std::int64_t>(words[1]));
            cancel_if_asked(context_);
        }
        context_.report.candidates += static_cast<double>(refined);
        const auto needless = static_cast<double>(refined - (found_.counts_only ? 0 : within));
        if (is_coarse(filter_.form) &&
            tuning::misled_by_candidates(q_, n_, context_.points.d, needless))
            context_.learned.coarse_misleads = true;
        if (self_listed_.size() > 0) leave_out_self();
        add_totals(sums_.get(), q_, queries_.tile_rows, state(), totals_of(found_, queries_),
                   stream_);
        std::vector<std::uint8_t> states(static_cast<std::size_t>(q_));
        InFlight copy(stream_);
        check(cudaMemcpyAsync(states.data(), state(), states.size(), cudaMemcpyDefault, stream_),
              "cudaMemcpy");
        copy.wait("search by radius");
        found_.states.push_back(std::move(state_));
        return states;
    }

private:
    std::uint8_t* state() const { return state_.get(); }
    std::uint8_t* unfit() const { return state_.get() + q_; }

    void make_queries() {
        const DeviceMetric& metric = context_.points.metric;
        if (metric.kernels)
            metric.kernels->filter_queries(queries_.rows, filter_.form, vectors_.get(),
                                           query_error_.get(), unfit(), metric.params, stream_);
        else
            formula_queries(queries_.rows, filter_, vectors_.get(), query_error_.get(), unfit(),
                            metric.params, stream_);
        ball_thresholds(metric.kernels, queries_.rows, filter_.form, query_error_.get(), unfit(),
                        queries_.balls.bounds, metric.params,
                        {excluded_.get(), included_.get(), state()}, stream_);
        if (sure_.size() > 0)
            sure_limits(included_.get(), q_, filter_.point_error.get(), n_, largest_error_.get(),
                        sure_.get(), stream_);
        static_cast<Operands&>(pass_) =
            operands_of(filter_, metric, vectors_.get(), query_error_.get(), q_, n_);
        pass_.threshold = excluded_.get();
        pass_.counts = listed_.get();
        pass_.candidates = candidates_.get();
        pass_.capacity = capacity_;
        pass_.sure_up_to = sure_.get();
        pass_.sure_counts = proven_.get();
    }

    // Compares points [first, first + count): fills the lists, rescores the pairs that they leave
    // open, and counts the points within.
    void compare(std::int64_t first, std::int64_t count) {
        const DeviceMetric& metric = context_.points.metric;
        listed_.clear_to(0);
        words_.clear_to(0);
        proven_.clear_to(0);
        pass_.first = first;
        pass_.count = count;
        const FilterIsa isa = context_.plan.isa == "sm_90a" ? FilterIsa::sm_90a : FilterIsa::sm_80;
        sweep(pass_, isa, stream_);
        classify(filter_.form,
                 {.q = q_,
                  .capacity = capacity_,
                  .n = n_,
                  .candidates = candidates_.get(),
                  .counts = listed_.get(),
                  .point_error = filter_.point_error.get(),
                  .included = included_.get(),
                  .self = queries_.self,
                  .self_listed = self_listed_.get(),
                  .ids = ids_.get(),
                  .open = open_.get(),
                  .proven = proven_.get(),
                  .found = within_.get()},
                 stream_);
        // Keys overwrite the candidates, which have become ids.
        refine_ids(capacity_);
        if (queries_.balls.asks)
            report_distances(metric, keys(), true, reported_.get(), q_ * capacity_, stream_);
        count_within(pairs(), queries_.balls, within_.get(), stream_);
        summarize(range(), stream_);
    }
    static constexpr std::int64_t expected = 64;
    std::uint64_t* keys() const {
        static_assert(sizeof(Candidate) == sizeof(std::uint64_t));
        return reinterpret_cast<std::uint64_t*>(candidates_.get());
    }
    RankedPairs pairs() const {
        return {.q = q_,
                .count = capacity_,
                .stride = capacity_,
                .keys = keys(),
                .ids = ids_.get(),
                .counts = open_.get(),
                .reported = reported_.get()};
    }
    RangeSummary range() const {
        return {.q = q_,
                .state = state(),
                .listed = listed_.get(),
                .open = open_.get(),
                .proven = proven_.get(),
                .found = within_.get(),
                .seen = sums_.get() + q_,
                .words = words_.get()};
    }
    RangeTotals totals() const {
        return {.seen = sums_.get() + q_,
                .needless = sums_.get() + 2 * q_,
                .total = sums_.get(),
                .state = state(),
                .excluded = excluded_.get(),
                .most_needless = tuning::most_needless(n_),
                .counting = found_.counts_only};
    }

    // A query's own row is skipped in lists, but may have been counted unseen: if it is within and
    // was in no list, it was.
    void leave_out_self() {
        const DeviceMetric& metric = context_.points.metric;
        list_self(queries_.self, q_, n_, ids_.get(), open_.get(), stream_);
        refine_ids(1);
        const RankedPairs own{.q = q_,
                              .count = 1,
                              .stride = 1,
                              .keys = keys(),
                              .counts = open_.get(),
                              .reported = reported_.get()};
        if (queries_.balls.asks)
            report_distances(metric, keys(), true, reported_.get(), q_, stream_);
        within_.clear_to(0);
        count_within(own, queries_.balls, within_.get(), stream_);
        take_self_off(within_.get(), self_listed_.get(), q_, sums_.get(), stream_);
    }
    // Keys of ids, `stride` apart.
    void refine_ids(std::int64_t stride) const {
        const DeviceMetric& metric = context_.points.metric;
        const RefineTask task{
            queries_.rows, chunk_.points.prepared(), ids_.get(), open_.get(), stride, expected,
            keys()};
        if (metric.kernels) metric.kernels->refine(task, metric.params, stream_);
        else user_refine(task, metric.spec, stream_);
    }

    // The length of a range whose lists overflowed (the longest had `longest` entries), cut to what
    // should fit.
    std::int64_t shorter(std::int64_t length, std::int64_t longest) const {
        const double share = 0.8 * static_cast<double>(capacity_) / static_cast<double>(longest);
        return std::max(capacity_, whole(share * static_cast<double>(length)));
    }
    // The length of the range that follows `seen` points, among which the query with the most
    // candidates had `most`.
    std::int64_t next_length(std::int64_t seen, std::int64_t most) const {
        const auto had = static_cast<double>(most);
        const double per_point = (had + 5 * std::sqrt(had) + 3) / static_cast<double>(seen);
        const double length = static_cast<double>(capacity_) / per_point;
        if (length >= static_cast<double>(n_ - seen)) return n_ - seen;
        return std::min(n_ - seen, std::max(capacity_, whole(length)));
    }
    static std::int64_t whole(double points) {
        return static_cast<std::int64_t>(points) / filter_tile_points * filter_tile_points;
    }
    // Throws TooManyWithin if the tile will not have room for all entries; `within`: those among
    // the first `seen` points.
    void require_room(std::int64_t within, std::int64_t seen) const {
        const double before = static_cast<double>(found_.entries - within),
                     all = before + static_cast<double>(within) * static_cast<double>(n_) /
                                        static_cast<double>(seen);
        const auto room = static_cast<double>(found_.most);
        if (found_.q == 1 || all <= room) return;
        throw TooManyWithin{
            static_cast<std::int64_t>(0.8 * static_cast<double>(found_.q) * room / all)};
    }

    const SearchContext& context_;
    const Chunk& chunk_;
    const FilterVectors& filter_;
    const BallQueries& queries_;
    RadiusFound& found_;
    cudaStream_t stream_;
    std::int64_t q_, n_, capacity_;
    Buffer<char> vectors_;
    Buffer<float> query_error_, excluded_, included_, sure_;  // query_error: see filter_queries
    Buffer<unsigned> largest_error_;
    Buffer<std::uint8_t> state_;  // q each: BallState, Fitness
    Buffer<std::int32_t> listed_, open_, proven_, within_;
    Buffer<std::int64_t> sums_;  // q each: within, candidates, refined in vain
    Buffer<unsigned long long> words_;
    Buffer<Candidate> candidates_;
    Buffer<std::uint8_t> self_listed_;
    Buffer<std::uint32_t> ids_;
    Buffer<double> reported_;
    FilterPass pass_;
};

}  // namespace

DeviceBalls::DeviceBalls(const RadiusRequest& request, bool similarity, std::int64_t first,
                         std::int64_t count, const std::int64_t* numbers, cudaStream_t stream)
    : values(3 * count, stream) {
    const auto size = static_cast<std::size_t>(count);
    std::vector<double> host(3 * size);
    const double* const from[] = {request.inner, request.outer, request.radii};
    for (std::size_t a = 0; a < 3; ++a)
        for (std::size_t i = 0; i < size; ++i)
            host[a * size + i] =
                from[a][first + (numbers ? numbers[i] : static_cast<std::int64_t>(i))];
    for (std::size_t i = 0; i < size; ++i) {
        const double inner = host[i], outer = host[size + i];
        if (outer == outer && !(inner == outer)) balls.asks = true;
    }
    InFlight reading(stream);
    check(cudaMemcpyAsync(values.get(), host.data(), host.size() * sizeof(double),
                          cudaMemcpyDefault, stream),
          "cudaMemcpy");
    reading.wait("radii");
    balls.bounds = {values.get(), values.get() + count};
    balls.radii = values.get() + 2 * count;
    balls.open = request.open;
    balls.similarity = similarity;
}

std::vector<std::uint8_t> filter_within(const SearchContext& context, const Chunk& chunk,
                                        const FilterVectors& filter, const BallQueries& queries,
                                        RadiusFound& found) {
    if (filters_nothing(filter.form))
        return std::vector<std::uint8_t>(static_cast<std::size_t>(queries.count()), ball_unfit);
    return RangeFilter(context, chunk, filter, queries, found).run();
}

void scan_within(const SearchContext& context, const Chunk& chunk, const BallQueries& all,
                 std::int64_t query_tile, std::int64_t point_tile, RadiusFound& found) {
    const DeviceMetric& metric = context.points.metric;
    cudaStream_t stream = context.stream;
    const std::int64_t n = chunk.points.rows.count;
    const std::int64_t step = std::min(query_tile, all.count()), tile = std::min(point_tile, n);
    Buffer<double> reported(all.balls.asks ? step * tile : 0, stream);
    Buffer<std::int32_t> within(step, stream);
    Buffer<std::int64_t> offsets(found.counts_only ? 0 : step + 1, stream);
    for (std::int64_t from = 0; from < all.count(); from += step) {
        const BallQueries queries = all.part(from, std::min(step, all.count() - from));
        const std::int64_t q = queries.count();
        const auto take = [&](std::uint64_t* keys, std::int64_t first, std::int64_t count) {
            if (all.balls.asks)
                report_distances(metric, keys, true, reported.get(), q * tile, stream);
            const RankedPairs pairs{.q = q,
                                    .count = count,
                                    .stride = tile,
                                    .keys = keys,
                                    .reported = reported.get(),
                                    .first = static_cast<std::uint32_t>(first)};
            within.clear_to(0);
            count_within(pairs, queries.balls, within.get(), stream);
            add_totals(within.get(), q, queries.tile_rows, totals_of(found, queries), stream);
            if (!found.counts_only) {
                sum_counts(within.get(), q, offsets.get(), stream);
                PinnedWords total;
                total.fetch(reinterpret_cast<const unsigned long long*>(offsets.get() + q), 1,
                            stream);
                const auto entries = static_cast<std::int64_t>(*total.wait("search by radius"));
                add_part(pairs, queries, within.get(), entries, nullptr, chunk.first, found,
                         stream);
                if (found.entries > found.most && found.q > 1) throw TooManyWithin{found.q / 2};
            }
            cancel_if_asked(context);
        };
        scan_keys_of(chunk, metric, queries.rows, queries.self, tile, stream, take);
    }
    InFlight(stream).wait("search by radius");
    context.report.candidates += static_cast<double>(all.count()) * static_cast<double>(n);
}

}  // namespace kith::gpu
