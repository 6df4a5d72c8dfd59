// See projected_pass.h.
#include "gpu/search/projected_pass.h"

#include <algorithm>
#include <vector>

#include "gpu/filter/augmented.h"
#include "gpu/filter/bytes.h"
#include "gpu/filter/reread.h"
#include "gpu/points/listed_vectors.h"
#include "gpu/points/tuning.h"
#include "gpu/search/augmented_pass.h"
#include "gpu/search/tuning.h"

namespace kith::gpu {

// Of a row's terms, in fp16's augmented vectors and in those of bytes.
static constexpr std::int64_t term_bytes = byte_terms;
static_assert(term_bytes == 2 * augmented_terms && byte_terms * (1 + wide_planes) == tuning::byte_term_bytes);

bool ProjectedPass::uses_terms() const {
    if (uses_byte_terms()) return true;
    return points_.terms.size() > 0 && AugmentedPass::serves(points_.directions.form, isa_, pass_.q, pass_.n);
}

void ProjectedPass::prepare(std::int64_t q) {
    const Directions& directions = points_.directions;
    step_ = tuning::projected_step(q);
    vectors_ = Buffer<char>(vector_bytes(directions.form, q), stream_);
    error_ = Buffer<float>(q, stream_);
    threshold_ = Buffer<float>(q, stream_);
    found_ = Buffer<Candidate>(step_ * tuning::projected_room, stream_);
    counts_ = Buffer<std::int32_t>(step_, stream_);
    const int planes = uses_byte_terms() ? byte_terms_->form.planes : 1;
    if (uses_terms()) terms_ = Buffer<char>(augmented_query_rows(step_) * term_bytes * planes, stream_);
    if (uses_terms() && !directions.bytes) grown_ = Buffer<float>(step_, stream_);
    FurtherRows rows{};
    for (std::size_t stage = 0; stage < static_cast<std::size_t>(directions.stages); ++stage) {
        further_[stage] = Buffer<char>(q * further_row_bytes, stream_);
        rows[stage] = further_[stage].get();
    }
    project_queries(directions, static_cast<const __half*>(pass_.queries), q, vectors_.get(), error_.get(), rows,
                    stream_);
}

std::int64_t ProjectedPass::end_of_range(std::int64_t seen) const {
    const double room =
        static_cast<double>(tuning::projected_room) / tuning::room_share / std::max(points_.share, 1e-9);
    const std::int64_t growth =
        rows_ ? tuning::listed_growth : tuning::range_growth(pass_.q, static_cast<bool>(points_.directions.bytes));
    const auto most = static_cast<std::int64_t>(std::min(room, static_cast<double>(growth * seen)));
    return tuning::end_of_range(seen, most, pass_.n);
}

void ProjectedPass::set_thresholds(std::int64_t q, const std::uint8_t* overflowed) {
    projected_thresholds(points_.directions, pass_.threshold, error_.get(), overflowed, q, threshold_.get(), stream_);
}

// What passes of points [first, to) for queries [at, at + count).
void ProjectedPass::pass(std::int64_t at, std::int64_t count, std::int64_t first, std::int64_t to) {
    const FilterForm& form = points_.directions.form;
    FilterPass pass = pass_;
    pass.queries = vectors_.get() + vector_bytes(form, at);
    pass.points = points_.vectors.get();
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
    if (uses_byte_terms()) {
        use_byte_terms(byte_terms_->form, terms_.get(), byte_terms_->rows.get(), pass);
        augment_byte_queries(reinterpret_cast<const int*>(pass.threshold), count, byte_terms_->form,
                             static_cast<std::int32_t>(pass.capacity) + 1, counts_.get(), terms_.get(), stream_);
    } else {
        check(cudaMemsetAsync(counts_.get(), 0, static_cast<std::size_t>(count) * sizeof(std::int32_t), stream_),
              "cudaMemset");
        if (uses_terms()) {
            pass.query_terms = terms_.get();
            pass.point_terms = points_.terms.get();
            augment(at, count);
        }
    }
    if (points_.directions.bytes) bytes_pass_sm_90a(pass, stream_);
    else filter_pass(pass, isa_, stream_);
}

// Raises the thresholds by what sums of terms cost; those that follow begin with the queries' own errors again.
void ProjectedPass::augment(std::int64_t at, std::int64_t count) {
    check(cudaMemcpyAsync(grown_.get(), error_.get() + at, static_cast<std::size_t>(count) * sizeof(float),
                          cudaMemcpyDeviceToDevice, stream_),
          "cudaMemcpy");
    augment_queries(count, points_.directions.form.gamma, error_.get() + at, threshold_.get() + at, grown_.get(),
                    terms_.get(), stream_);
}

ProjectedPass::Counts ProjectedPass::count_pilots(std::int64_t seen) {
    constexpr std::int64_t tried = tuning::projected_pilots;
    static_assert(tried <= few_queries);
    prepare(tried);
    set_thresholds(tried, nullptr);
    const std::int64_t to = end_of_range(seen);
    pass(0, tried, seen, to);
    std::vector<std::int32_t> counts(static_cast<std::size_t>(tried));
    InFlight copy(stream_);
    check(
        cudaMemcpyAsync(counts.data(), counts_.get(), counts.size() * sizeof(std::int32_t), cudaMemcpyDefault, stream_),
        "cudaMemcpy");
    copy.wait("filter");
    Counts out{.pairs = static_cast<double>(tried) * static_cast<double>(to - seen)};
    for (const std::int32_t count : counts) {
        out.overflowed += count > tuning::projected_room;
        out.passed += static_cast<double>(std::min<std::int64_t>(count, tuning::projected_room));
    }
    return out;
}

bool ProjectedPass::serves(std::int64_t seen) {
    // Few queries of bytes save less reading than their launches cost.
    const Directions& directions = points_.directions;
    const bool bytes = static_cast<bool>(directions.bytes);
    if (pass_.q <= few_queries || seen >= pass_.n) return !bytes || filter_.form.width > tuning::few_queries_dimensions;
    const Counts counts = count_pilots(seen);
    const double few = (bytes          ? tuning::byte_pair_cost(2 * directions.form.width)
                        : uses_terms() ? tuning::filter_pair_cost(directions.form.width)
                                       : tuning::pair_cost(directions.form.width)) *
                       counts.pairs,
                 all = tuning::filter_pair_cost(filter_.form.width) * counts.pairs,
                 read = (bytes ? tuning::bytes_passed_later : tuning::passed_later) * counts.passed *
                        points_.candidate_cost;
    return 4 * counts.overflowed <= tuning::projected_pilots &&
           few + read < (bytes ? tuning::largest_byte_share : 1) * all;
}

bool ProjectedPass::serves(const Chunk& chunk, std::int64_t wanted, std::int64_t seen) {
    if (pass_.q <= few_queries) return serves(seen);
    using Finer = Chunk::Finer;
    Pilots& pilots = chunk.finer->pilots;
    const bool bytes = static_cast<bool>(points_.directions.bytes);
    int terms = chunk.finer->terms;
    if (bytes && terms == Finer::own_terms && !points_.byte_terms) terms = Finer::wide_terms;
    const auto take = [&] {
        if (terms != Finer::own_terms) take_terms(terms == Finer::wide_terms ? &wide_terms_of(chunk) : nullptr);
    };
    if (bytes) take();
    const Pilots::Answer known = pilots.known(wanted);
    if (known != Pilots::Answer::unknown) return known == Pilots::Answer::serves;
    bool found = serves(seen);
    while (!found && bytes && terms < Finer::no_terms) {
        const bool tried = uses_byte_terms();
        ++terms;
        take();
        if (tried || uses_byte_terms()) found = serves(seen);
    }
    if (found) chunk.finer->terms = terms;
    pilots.note(wanted, found);
    return found;
}

void ProjectedPass::run(std::int64_t first, std::int64_t to, const CandidateLists& lists) {
    set_thresholds(pass_.q, lists.overflowed);
    const auto* const queries = static_cast<const char*>(pass_.queries);
    for (std::int64_t at = 0; at < pass_.q; at += step_) {
        const std::int64_t count = std::min(step_, pass_.q - at);
        pass(at, count, first, to);
        RereadTask task{.found = found_.get(),
                        .counts = counts_.get(),
                        .room = tuning::projected_room,
                        .queries = queries + vector_bytes(filter_.form, at),
                        .points = filter_.vectors.get(),
                        .half_norm = pass_.half_norm,
                        .width = filter_.form.width,
                        .stages = points_.directions.stages,
                        .stage = {},
                        .threshold = threshold_.get() + at};
        for (int stage = 0; stage < task.stages; ++stage) {
            const auto i = static_cast<std::size_t>(stage);
            const double step = points_.directions.further[stage].step;
            task.stage[stage] = {further_[i].get() + at * further_row_bytes, points_.further[i].get(), step * step};
        }
        if (rows_) reread_made(lists.part(at, count), task);
        else reread(lists.part(at, count), task, stream_);
    }
}

// The same of vectors that are made now, of so many pairs at a time. Synchronises for their number.
void ProjectedPass::reread_made(const CandidateLists& lists, const RereadTask& task) {
    std::vector<std::int32_t> counts(static_cast<std::size_t>(lists.q));
    InFlight copy(stream_);
    check(cudaMemcpyAsync(counts.data(), task.counts, counts.size() * sizeof(std::int32_t), cudaMemcpyDefault, stream_),
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
        for (; last < lists.q && (last == first || pairs + in_list(last) <= tuning::listed_pairs); ++last) {
            offset.push_back(pairs);
            pairs += in_list(last);
        }
        const std::int64_t q = last - first, room = std::max<std::int64_t>(pairs, 1);
        const Buffer<std::int64_t> on_device(q, stream_), index(room, stream_);
        const Buffer<char> vectors(vector_bytes(filter_.form, room), stream_);
        const Buffer<float> half_norm(whole_tiles(room), stream_), point_error(whole_tiles(room), stream_);
        InFlight reading(stream_);
        check(cudaMemcpyAsync(on_device.get(), offset.data(), offset.size() * sizeof(std::int64_t), cudaMemcpyDefault,
                              stream_),
              "cudaMemcpy");
        RereadTask some = task;
        some.found += first * task.room;
        some.counts += first;
        some.queries = static_cast<const char*>(task.queries) + vector_bytes(filter_.form, first);
        some.points = vectors.get();
        some.offset = on_device.get();
        candidate_rows(some, filter_.form, q, pass_.n, index.get(), stream_);
        if (pairs > 0)
            make_vectors(rows_->points, rows_->metric, filter_.form, index.get(), pairs, vectors.get(), half_norm.get(),
                         point_error.get(), stream_);
        reread(lists.part(first, q), some, stream_);
        reading.wait("filter");
    }
}

}  // namespace kith::gpu
