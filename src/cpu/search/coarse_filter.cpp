// The filter of coarse panels.
#include "cpu/search/coarse_filter.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace kith::cpu {

namespace {

// Of a row ahead of its use: hardware goes on from there.
constexpr std::int64_t prefetched_words = 128;

}  // namespace

CoarseFilter::CoarseFilter(const Search& search, const Filter& filter, Shortlist& list, std::int64_t count)
    : filter_(filter),
      list_(list),
      kernels_(tile_kernels(search.isa)),
      count_(count),
      row_words_(filter.row_words()),
      words_(filter.words()),
      query_words_(filter.query_words()),
      width_(filter.tile_queries(kernels_)),
      most_read_(search.max_rows_read),
      queries_(count * row_words_),
      projected_(count * query_words_),
      thresholds_(static_cast<std::size_t>(count)),
      further_(thresholds_.size(), 0),
      read_(thresholds_.size(), 0) {
    for (std::int64_t i = 0; i < count; ++i)
        list.add_query(filter.query(list.rows(), i, kernels_, queries_.data() + i * row_words_));
    Buffer<float> forms(count * query_words_);
    filter.coarse_queries(list.rows(), count, kernels_, forms.data(), further_.data());
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t tile = i / width_ * width_, here = std::min(width_, count - tile);
        float* out = projected_.data() + (filter.by_query() ? i : tile) * query_words_;
        const std::int64_t step = filter.by_query() ? 1 : here;
        if (!filter.by_query()) out += i - tile;
        const float* form = forms.data() + i * query_words_;
        const bool used = list.filtered(i);
        for (std::int64_t j = 0; j < query_words_; ++j) out[j * step] = used ? form[j] : 0.0f;
        further_[static_cast<std::size_t>(i)] -= list.error(i);
        if (!used) further_[static_cast<std::size_t>(i)] = 0;
        follow(i);
    }
}

// A panel's value is at most w + its error where a row's is at most w + its own.
void CoarseFilter::follow(std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    const float of_rows = list_.thresholds()[i];
    const double w = of_rows;
    thresholds_[at] = std::isfinite(of_rows) ? round_up(w + further_[at] + std::abs(w) * 0x1p-50) : of_rows;
}

void CoarseFilter::group(std::int64_t p) {
    const float* panel = filter_.panel(p);
    constexpr int most = std::max(max_tile_queries, max_byte_queries);
    std::uint32_t hits[most];
    alignas(64) float values[most * panel_points];
    for (std::int64_t first = 0; first < count_; first += width_) {
        const std::int64_t here = std::min(width_, count_ - first);
        const Tile tile = filter_.tiles(kernels_)[here];
        if (!tile(panel, words_, projected_.data() + first * query_words_, thresholds_.data() + first,
                  filter_.exponent(), hits, values))
            continue;
        for (std::int64_t i = 0; i < here; ++i) {
            for (; hits[i]; hits[i] &= hits[i] - 1) {
                const int lane = std::countr_zero(hits[i]);
                // Padding, or a point with a NaN.
                if (panel[lane] == std::numeric_limits<float>::infinity()) continue;
                const std::int64_t id = p * panel_points + lane;
                for (std::int64_t j = 0; j < std::min(row_words_, prefetched_words); j += 16)
                    __builtin_prefetch(filter_.row(id) + j);
                pairs_.push_back({first + i, id});
            }
        }
    }
    for (std::size_t pair = 0; pair < pairs_.size(); ++pair) {
        const auto [i, id] = pairs_[pair];
        const PointTerms& terms = filter_.row_terms(id);
        const float value = terms.half_norm + filter_.product(kernels_, queries_.data() + i * row_words_, id);
        read_[static_cast<std::size_t>(i)] += 1;
        const float threshold = list_.thresholds()[i];
        if (!(value > threshold)) list_.offer(i, value, terms.slack, id);
        if (pair + 1 < pairs_.size() && pairs_[pair + 1].query == i) continue;
        list_.settle(i);
        if (read_[static_cast<std::size_t>(i)] > most_read_ && list_.filtered(i))
            list_.give_up(i, exact::Cause::directions);
        if (list_.thresholds()[i] != threshold) follow(i);
    }
    pairs_.clear();
}

}  // namespace kith::cpu
