// See projected_pass.h.
#include "gpu/search/passes/projected_pass.h"

#include <algorithm>
#include <vector>

#include "gpu/filter/fused/augmented.h"
#include "gpu/filter/int8/bytes.h"
#include "gpu/filter/rescore/reread.h"
#include "gpu/points/listed_vectors.h"
#include "gpu/points/tuning.h"
#include "gpu/runtime/device.h"
#include "gpu/search/passes/gathered_cells.h"
#include "gpu/search/tuning.h"

namespace kith::gpu {

static_assert(byte_terms * (1 + 2 + wide_planes) == tuning::byte_term_bytes);

void ProjectedPass::prepare(std::int64_t q) {
    if (q <= prepared_) return;
    const Directions& directions = points_.directions;
    step_ = tuning::projected_step(q);
    vectors_ = Buffer<char>(vector_bytes(directions.form, q), stream_);
    error_ = Buffer<float>(q, stream_);
    threshold_ = Buffer<float>(q, stream_);
    found_ = Buffer<Candidate>(step_ * tuning::projected_room, stream_);
    counts_ = Buffer<std::int32_t>(step_, stream_);
    if (stages_ > 0)
        left_ = Buffer<std::int32_t>(left_room(step_) + LongerLists::words(step_), stream_);
    FurtherRows rows{};
    for (std::size_t stage = 0; stage < static_cast<std::size_t>(stages_); ++stage) {
        further_[stage] = Buffer<char>(q * directions.further[stage].query_bytes(), stream_);
        rows[stage] = further_[stage].get();
    }
    project_queries(directions, static_cast<const __half*>(pass_.queries), q, vectors_.get(),
                    error_.get(), rows, stream_);
    prepared_ = q;
}

std::int64_t ProjectedPass::end_of_range(std::int64_t seen) const {
    const double room = static_cast<double>(tuning::projected_room) /
                        tuning::room_share(pass_.n, wanted_) / std::max(points_.share, 1e-9);
    // Ahead of the cells one range suffices: the near cells lower thresholds as soon as another
    // range would.
    const bool before_cells = in_cells() && seen < cells_first();
    const std::int64_t growth = rows_ ? tuning::listed_growth
                                      : tuning::range_growth(
                                            pass_.q, !points_.directions.leaves_some(), wanted_),
                       longest = before_cells ? cells_first() - seen : growth * seen;
    const auto most =
        std::min(static_cast<std::int64_t>(std::min(room, static_cast<double>(longest))),
                 tuning::longest_range(pass_.n, wanted_));
    const std::int64_t end = tuning::end_of_range(seen, most, pass_.n);
    return points_.cells && seen < cells_first() ? std::min(end, cells_first()) : end;
}

std::int64_t ProjectedPass::order(std::int64_t seen) const {
    return points_.cells && seen > cells_first() ? wanted_ : sample_order(wanted_, seen, pass_.n);
}

bool ProjectedPass::in_cells() const {
    return points_.cells && stages_ > 0 && pass_.q > few_queries;
}

void ProjectedPass::set_thresholds(std::int64_t q, const std::uint8_t* overflowed) {
    projected_thresholds(points_.directions, pass_.threshold, error_.get(), overflowed, q,
                         threshold_.get(), stream_);
}

// The pass over points [first, to) for queries [at, at + count). Resets the counts of their
// candidates, and makes their terms if terms are used.
FilterPass ProjectedPass::pass_of(std::int64_t at, std::int64_t count, std::int64_t first,
                                  std::int64_t to) {
    const FilterForm& form = points_.directions.form;
    FilterPass pass = pass_;
    pass.queries = vectors_.get() + vector_bytes(form, at);
    pass.points = points_.vectors.get();
    pass.format = points_.directions.bytes ? Format::int8 : Format::fp16;
    pass.half_norm = points_.half_norm.get();
    pass.width = form.width;
    pass.q = count;
    pass.first = first;
    pass.count = to - first;
    pass.threshold = threshold_.get() + at;
    pass.candidates = found_.get();
    pass.counts = counts_.get();
    pass.capacity = tuning::projected_room;
    pass.column_threshold = nullptr;
    pass.says_sums = points_.directions.bytes && stages_ > 0;
    if (uses_terms()) {
        const std::int64_t bytes =
            augmented_query_rows(step_) * byte_terms * byte_terms_->form.planes;
        if (terms_.size() < bytes) terms_ = Buffer<char>(bytes, stream_);
        use_byte_terms(byte_terms_->form, terms_.get(), byte_terms_->rows.get(), pass);
        augment_byte_queries(reinterpret_cast<const int*>(pass.threshold), count, byte_terms_->form,
                             static_cast<std::int32_t>(pass.capacity) + 1, counts_.get(),
                             terms_.get(), stream_);
    } else {
        check(cudaMemsetAsync(counts_.get(), 0,
                              static_cast<std::size_t>(count) * sizeof(std::int32_t), stream_),
              "cudaMemset");
    }
    return pass;
}

void ProjectedPass::pass(std::int64_t at, std::int64_t count, std::int64_t first, std::int64_t to) {
    const FilterPass pass = pass_of(at, count, first, to);
    sweep(pass, isa_, stream_);
}

std::vector<std::int32_t> ProjectedPass::count_passing(std::int64_t q, std::int64_t seen) {
    prepare(q);
    set_thresholds(q, nullptr);
    std::vector<std::int32_t> counts(static_cast<std::size_t>(std::min(q, step_)));
    pass(0, std::ssize(counts), seen, end_of_range(seen));
    InFlight copy(stream_);
    check(cudaMemcpyAsync(counts.data(), counts_.get(), counts.size() * sizeof(std::int32_t),
                          cudaMemcpyDefault, stream_),
          "cudaMemcpy");
    copy.wait("filter");
    return counts;
}

ProjectedPass::Counts ProjectedPass::count_pilots(std::int64_t seen) {
    constexpr std::int64_t tried = tuning::projected_pilots;
    static_assert(tried <= few_queries);
    Counts out{.pairs =
                   static_cast<double>(tried) * static_cast<double>(end_of_range(seen) - seen)};
    for (const std::int32_t count : count_passing(tried, seen)) {
        out.overflowed += count > tuning::projected_room;
        out.passed += static_cast<double>(std::min<std::int64_t>(count, tuning::projected_room));
    }
    return out;
}

bool ProjectedPass::serves(std::int64_t seen) {
    // For few queries, int8 of all coordinates saves less reading than its launches cost.
    const Directions& directions = points_.directions;
    const bool all_bytes = directions.bytes && !directions.leaves_some();
    if (pass_.q <= few_queries || seen >= pass_.n)
        return !all_bytes || filter_.form.width > tuning::few_queries_dimensions;
    const Counts counts = count_pilots(seen);
    const double all = tuning::filter_pair_cost(filter_.form.width) * counts.pairs,
                 few = (directions.bytes ? tuning::byte_pair_cost(2 * directions.form.width)
                                         : tuning::pair_cost(directions.form.width)) *
                       counts.pairs,
                 read = (all_bytes ? tuning::bytes_passed_later : tuning::passed_later) *
                        counts.passed * points_.candidate_cost,
                 again = static_cast<double>(counts.overflowed) /
                         static_cast<double>(tuning::projected_pilots) * all;
    return 4 * counts.overflowed <= tuning::projected_pilots &&
           few + read + again < (all_bytes ? tuning::largest_byte_share : 1) * all;
}

bool ProjectedPass::serves(const Chunk& chunk, Learned& learned, std::int64_t seen) {
    if (pass_.q <= few_queries || seen >= pass_.n) return serves(seen);
    const bool bytes = static_cast<bool>(points_.directions.bytes);
    // Takes the first terms from this number on that exist. A lack of memory is not remembered, as
    // it may end.
    bool has_room = true;
    const auto take = [&](int terms) {
        const ByteTermRows* rows = nullptr;
        for (; terms < Learned::no_terms; ++terms) {
            rows = terms_of(chunk, terms);
            has_room &= rows != nullptr;
            if (rows && *rows) break;
        }
        take_terms(terms < Learned::no_terms ? rows : nullptr);
        return terms;
    };
    int terms = learned.terms;
    if (bytes) terms = take(terms);
    const Pilots::Answer known = learned.pilots.known(wanted_);
    if (known != Pilots::Answer::unknown) return known == Pilots::Answer::serves;
    // The counts with integer thresholds, for all queries: few of them have thresholds that terms
    // raise so far that their candidates overflow, and pilots would miss those.
    std::vector<std::int32_t> of_ints;
    if (bytes && terms < Learned::no_terms) {
        take_terms(nullptr);
        of_ints = count_passing(pass_.q, seen);
        take(terms);
    }
    bool found = false;
    for (;; terms = take(terms + 1)) {
        if (bytes && terms < Learned::no_terms && raises_thresholds(of_ints, seen)) continue;
        found = serves(seen);
        if (found || !bytes || terms == Learned::no_terms) break;
    }
    if (!has_room) return found;
    if (found) learned.terms = terms;
    learned.pilots.note(wanted_, found);
    return found;
}

// True if terms let far more points pass for some query than integer thresholds do. Later ranges
// are longer, and a raised threshold would let as large a share of their points pass.
bool ProjectedPass::raises_thresholds(const std::vector<std::int32_t>& of_ints, std::int64_t seen) {
    const auto some =
        std::max(tuning::least_raised,
                 static_cast<std::int32_t>(static_cast<double>(tuning::projected_room) *
                                           static_cast<double>(end_of_range(seen) - seen) /
                                           static_cast<double>(pass_.n)));
    const std::vector<std::int32_t> counts = count_passing(pass_.q, seen);
    for (std::size_t i = 0; i < counts.size(); ++i)
        if (counts[i] > 2 * of_ints[i] + some) return true;
    return false;
}

RereadTask ProjectedPass::reread_task(std::int64_t at, std::int64_t order) const {
    RereadTask task{
        .found = found_.get(),
        .counts = counts_.get(),
        .room = tuning::projected_room,
        .queries = static_cast<const char*>(pass_.queries) + vector_bytes(filter_.form, at),
        .points = filter_.vectors.get(),
        .half_norm = pass_.half_norm,
        .width = filter_.form.width,
        .stages = stages_,
        .stage = {},
        .sum_unit =
            static_cast<float>(points_.directions.bytes.step * points_.directions.bytes.step),
        .threshold = threshold_.get() + at,
        .left = left_.get(),
        .longer = reinterpret_cast<LongerLists*>(left_.get() + left_room(step_)),
        .order = static_cast<int>(order)};
    for (int stage = 0; stage < task.stages; ++stage) {
        const auto i = static_cast<std::size_t>(stage);
        const FurtherColumns& columns = points_.directions.further[stage];
        task.stage[stage] = {columns, further_[i].get() + at * columns.query_bytes(),
                             points_.further[i].get()};
    }
    return task;
}

void ProjectedPass::run(std::int64_t first, std::int64_t to, const CandidateLists& lists) {
    set_thresholds(pass_.q, lists.overflowed);
    for (std::int64_t at = 0; at < pass_.q; at += step_) {
        const std::int64_t count = std::min(step_, pass_.q - at);
        pass(at, count, first, to);
        RereadTask task = reread_task(at, order(to));
        task.part = tuning::part_points(count, wanted_, to - first, vector_bytes(filter_.form, 1),
                                        device_attributes().cache_bytes);
        task.first = first;
        task.end = to;
        if (rows_) reread_made(lists.part(at, count), task);
        else reread(lists.part(at, count), task, stream_);
    }
}

void ProjectedPass::run_cells(const CandidateLists& lists) {
    const FilterForm& form = filter_.form;
    for (std::int64_t at = 0; at < pass_.q; at += step_) {
        const std::int64_t count = std::min(step_, pass_.q - at);
        GatheredCells cells(points_.cells,
                            static_cast<const __half*>(pass_.queries) + at * form.width, count,
                            stream_);
        pass_cells(at, count, cells, lists.part(at, count));
    }
}

// Searches the near cells, then the others in parts, with thresholds that follow from the parts
// before.
void ProjectedPass::pass_cells(std::int64_t at, std::int64_t count, GatheredCells& cells,
                               const CandidateLists& lists) {
    const std::int64_t parts = tuning::cell_parts(wanted_),
                       width = vector_bytes(points_.directions.form, 1);
    Buffer<char> vectors, terms;
    Buffer<int> thresholds;
    for (std::int64_t part = -1; part < parts; ++part) {
        if (part >= 0) tighten_lists(lists, wanted_, stream_);
        set_thresholds(at + count, nullptr);
        const FilterPass own = pass_of(at, count, cells_first(), pass_.n);
        const CellChoice choice{.near = part < 0,
                                .part = part,
                                .parts = parts,
                                .threshold = lists.threshold,
                                .overflowed = lists.overflowed};
        cells.gather(choice, tuning::gathered_bytes / width, [&](const CellRows& rows) {
            if (thresholds.size() < rows.rows) {
                vectors = {};
                terms = {};
                thresholds = {};
                vectors = Buffer<char>(rows.rows * width, stream_);
                terms = Buffer<char>(own.query_terms ? rows.rows * byte_terms * own.term_planes : 0,
                                     stream_);
                thresholds = Buffer<int>(rows.rows, stream_);
            }
            gather_query_rows(own.queries, rows.query, rows.rows, width, vectors.get(), stream_);
            gather_query_words(own.threshold, rows.query, rows.rows,
                               static_cast<std::uint32_t>(ByteLimits::never), thresholds.get(),
                               stream_);
            FilterPass pass = own;
            pass.queries = vectors.get();
            pass.threshold = reinterpret_cast<const float*>(thresholds.get());
            pass.q = rows.rows;
            pass.tiles = rows.tiles;
            pass.tile_counts = rows.tile_counts;
            pass.tile_stride = cells.tiles();
            pass.row_query = rows.query;
            if (own.query_terms) {
                pass.query_terms = terms.get();
                pass.query_plane = rows.rows * byte_terms;
                gather_byte_terms(own.query_terms, own.query_plane, byte_terms_->form, rows.query,
                                  rows.rows, terms.get(), stream_);
            }
            sweep(pass, isa_, stream_);
        });
        reread(lists, reread_task(at, wanted_), stream_);
    }
}

// As `reread()`, with vectors that are made now, for listed_pairs pairs at a time. Synchronises to
// learn their number.
void ProjectedPass::reread_made(const CandidateLists& lists, const RereadTask& task) {
    std::vector<std::int32_t> counts(static_cast<std::size_t>(lists.q));
    InFlight copy(stream_);
    check(cudaMemcpyAsync(counts.data(), task.counts, counts.size() * sizeof(std::int32_t),
                          cudaMemcpyDefault, stream_),
          "cudaMemcpy");
    copy.wait("filter");
    const auto in_list = [&](std::int64_t i) {
        const std::int64_t count = counts[static_cast<std::size_t>(i)];
        return count > task.room ? 0 : count;
    };
    std::vector<std::int64_t> offset;
    for (std::int64_t first = 0, last = 0; first < lists.q; first = last) {
        offset.clear();
        std::int64_t pairs = 0;
        for (; last < lists.q && (last == first || pairs + in_list(last) <= tuning::listed_pairs);
             ++last) {
            offset.push_back(pairs);
            pairs += in_list(last);
        }
        const std::int64_t q = last - first, room = std::max<std::int64_t>(pairs, 1);
        const Buffer<std::int64_t> on_device(q, stream_), index(room, stream_);
        const Buffer<char> vectors(vector_bytes(filter_.form, room), stream_);
        const Buffer<float> half_norm(whole_tiles(room), stream_),
            point_error(whole_tiles(room), stream_);
        InFlight reading(stream_);
        check(cudaMemcpyAsync(on_device.get(), offset.data(), offset.size() * sizeof(std::int64_t),
                              cudaMemcpyDefault, stream_),
              "cudaMemcpy");
        RereadTask some = task;
        some.found += first * task.room;
        some.counts += first;
        some.queries = static_cast<const char*>(task.queries) + vector_bytes(filter_.form, first);
        some.points = vectors.get();
        some.offset = on_device.get();
        candidate_rows(some, filter_.form, q, pass_.n, index.get(), stream_);
        if (pairs > 0)
            make_vectors(rows_->points, rows_->metric, filter_.form, index.get(), pairs,
                         vectors.get(), half_norm.get(), point_error.get(), stream_);
        reread(lists.part(first, q), some, stream_);
        reading.wait("filter");
    }
}

}  // namespace kith::gpu
