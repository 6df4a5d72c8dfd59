// See coarse_filter.h.
#include "cpu/search/coarse_filter.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace kith::cpu {

namespace {

// Prefetch distance in queries.
constexpr std::size_t queries_ahead = 4;

}  // namespace

CoarseFilter::CoarseFilter(const Search& search, const Filter& filter, Shortlist& list,
                           std::int64_t count)
    : search_(search),
      filter_(filter),
      list_(list),
      kernels_(tile_kernels(search.isa)),
      whole_(filter.whole_rows()),
      count_(count),
      query_bytes_(whole_ ? whole_->query_bytes() : 4 * filter.row_query_words()),
      row_bytes_(whole_ ? whole_->row_bytes() : 4 * filter.row_words()),
      most_read_(search.max_rows_read * (whole_ ? most_whole_read : 1)),
      queries_(count * query_bytes_),
      tiles_(filter.tiles(kernels_), count, filter.words()),
      thresholds_(static_cast<std::size_t>(count)),
      terms_(thresholds_.size()),
      read_(thresholds_.size(), 0),
      passed_(thresholds_.size() + 1) {
    for (std::int64_t i = 0; i < count; ++i)
        list.add_query(
            whole_ ? whole_->query(kernels_, list.rows().row(i), query(i))
                   : filter.query(list.rows(), i, kernels_, reinterpret_cast<float*>(query(i))));
    if (whole_) list.set_whole(*whole_, queries_.data());
    const std::int64_t words = filter.query_words();
    Buffer<float> forms(count * words);
    filter.coarse_queries(list.rows(), count, kernels_, forms.data(), terms_.data());
    for (std::int64_t i = 0; i < count; ++i) {
        const bool used = list.filtered(i);
        if (used) tiles_.set(i, forms.data() + i * words, words);
        QueryTerms& terms = terms_[static_cast<std::size_t>(i)];
        // The shortlist's thresholds are distance keys for integer rows. For other rows they are w
        // plus the error of the rows, which is subtracted here.
        if (!whole_) terms.scale = 1, terms.offset = 0, terms.error -= list.error(i);
        if (!used) terms = {};
        follow(i);
    }
}

// The panels' threshold of query i: the w of its row threshold, plus the error of the panels.
void CoarseFilter::follow(std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    const float of_rows = list_.thresholds()[i];
    thresholds_[at] = std::isfinite(of_rows)
                          ? terms_[at].threshold_from_rank(static_cast<double>(of_rows))
                          : of_rows;
}

void CoarseFilter::group(std::int64_t p) {
    const float* const panel = filter_.panel(p);
    std::uint32_t points = 0, seen = 0;
    bool known = false;
    std::size_t count = 0;
    tiles_.compare(
        panel, thresholds_.data(), filter_.exponent(),
        [&](std::int64_t first, std::int64_t here, const std::uint32_t* hits, const float*) {
            // With few queries, few panels have a candidate at all.
            if (!known) points = search_.candidates_of(panel, p * panel_points);
            known = true;
            // Without a data-dependent branch.
            std::uint32_t all = 0;
            for (std::int64_t i = 0; i < here; ++i) {
                const std::uint32_t lanes = hits[i] & points;
                passed_[count] = {static_cast<std::int32_t>(first + i), lanes};
                count += lanes != 0;
                all |= lanes;
            }
            // Inline code: gcc 12 drops calls of a function that only prefetches.
            for (std::uint32_t fresh = all & ~seen; fresh; fresh &= fresh - 1) {
                const std::byte* const next = row(p * panel_points + std::countr_zero(fresh));
                for (std::int64_t j = 0; j < row_bytes_; j += 64) __builtin_prefetch(next + j);
            }
            seen |= all;
        });
    for (std::size_t at = 0; at < count; ++at) {
        if (at + queries_ahead < count) {
            const std::byte* const next = query(passed_[at + queries_ahead].query);
            for (std::int64_t j = 0; j < query_bytes_; j += 64) __builtin_prefetch(next + j);
        }
        read(passed_[at].query, p, passed_[at].lanes);
    }
}

// Rescores the candidates of query i in panel p, one bit of `lanes` each.
void CoarseFilter::read(std::int64_t i, std::int64_t p, std::uint32_t lanes) {
    const auto at = static_cast<std::size_t>(i);
    const float threshold = list_.thresholds()[i];
    const std::byte* const words = query(i);
    bool offered = false;
    read_[at] += std::popcount(lanes);
    for (; lanes; lanes &= lanes - 1) {
        const std::int64_t id = p * panel_points + std::countr_zero(lanes);
        float value, slack = 0;
        if (whole_) {
            value = static_cast<float>(whole_->key(words, id));
        } else {
            value = filter_.row_value(kernels_, reinterpret_cast<const float*>(words), id);
            slack = filter_.row_terms(id).slack;
        }
        if (value > threshold) continue;
        list_.offer(i, value, slack, id);
        offered = true;
    }
    if (offered) list_.settle(i);
    if (read_[at] > most_read_ && list_.filtered(i)) list_.give_up(i, exact::Cause::directions);
    if (list_.thresholds()[i] != threshold) follow(i);
}

}  // namespace kith::cpu
