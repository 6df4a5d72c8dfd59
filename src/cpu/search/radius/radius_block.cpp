// See radius_block.h.
#include "cpu/search/radius/radius_block.h"

#include <algorithm>

namespace kith::cpu {

RadiusBlock::RadiusBlock(const RadiusSearch& search, const std::int64_t* numbers,
                         std::int64_t count)
    : search_(search),
      count_(count),
      distance_keys_(search.points.metric, search.isa),
      rows_(count, search.points.rows.cols),
      scattered_keys_(search.points.rows, distance_keys_) {
    const auto size = static_cast<std::size_t>(count);
    distance_keys_.load_numbered(search.queries, numbers, count, rows_);
    own_.resize(size, -1);
    for (std::int64_t i = 0; search.graph && i < count; ++i) {
        const std::int64_t id = search.first_own + numbers[i];
        if (id >= 0 && id < search.points.rows.rows) own_[static_cast<std::size_t>(i)] = id;
    }
    balls_.reserve(size);
    for (std::int64_t i = 0; i < count; ++i) {
        const double r = search.radii[numbers[i]];
        // Usually all queries have the same radius.
        if (i > 0 && r == search.radii[numbers[i - 1]]) balls_.push_back(balls_.back());
        else balls_.emplace_back(search.points.metric, r, search.open);
    }
    answered_.resize(size, 1);
    exact_.resize(size, 0);
    causes_.resize(size, exact::Cause::none);
    needless_.resize(size, 0);
    pending_.resize(size);
    found_.resize(size);
    counts_.resize(size, 0);
}

void RadiusBlock::add_query(const QueryTerms& terms) {
    const auto i = static_cast<std::int64_t>(thresholds_.size());
    const Ball& ball = balls_[static_cast<std::size_t>(i)];
    const bool none = has_nan(i) || ball.empty();
    const bool usable = terms.usable && !terms.alike;
    // Only a NaN passes the threshold of a query that is not filtered.
    constexpr float nothing = -std::numeric_limits<float>::infinity();
    thresholds_.push_back(usable && !none ? ball.threshold(terms) : nothing);
    accepted_.push_back(usable && !none ? ball.accepted(terms) : nothing);
    exact_[static_cast<std::size_t>(i)] = usable && terms.exact;
    if (!usable && !none) give_up(i, exact::Cause::out_of_range);
}

void RadiusBlock::give_up(std::int64_t i, exact::Cause cause) {
    const auto at = static_cast<std::size_t>(i);
    answered_[at] = 0;
    causes_[at] = cause;
    // A tree search has no thresholds.
    if (at < thresholds_.size()) thresholds_[at] = -std::numeric_limits<float>::infinity();
    listed_ -= static_cast<std::int64_t>(found_[at].size());
    found_[at] = {};
    counts_[at] = 0;
}

void RadiusBlock::refine(std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    std::vector<std::int64_t>& ids = pending_[at];
    const Ball& ball = balls_[at];
    if (has_nan(i) || ball.empty() || !answered(i)) {
        ids.clear();
        return;
    }
    const auto size = static_cast<std::int64_t>(ids.size());
    const std::int64_t before = counts_[at];
    scattered_keys_.each(
        rows_, i, size, [&](std::int64_t j) { return ids[static_cast<std::size_t>(j)]; },
        [&](std::int64_t j, double key) {
            if (ball.within(key)) take(i, key, ids[static_cast<std::size_t>(j)]);
        });
    ids.clear();
    evaluated_ += static_cast<double>(size);
    // For counts every computed key is wasted: a tighter bound could have counted the point.
    needless_[at] += static_cast<double>(search_.counts ? size : size - (counts_[at] - before));
    if (needless_[at] > search_.max_needless) give_up(i, exact::Cause::alike);
}

void RadiusBlock::finish() {
    for (std::int64_t i = 0; i < count_; ++i)
        if (!pending_[static_cast<std::size_t>(i)].empty()) refine(i);
}

void RadiusBlock::scan(std::int64_t i, RowBlock& tile, std::int64_t first, std::int64_t count,
                       double* keys) {
    const Ball& ball = balls_[static_cast<std::size_t>(i)];
    if (has_nan(i) || ball.empty()) return;
    distance_keys_.compute(rows_, i, tile, count, keys);
    evaluated_ += static_cast<double>(count);
    for (std::int64_t j = 0; j < count; ++j) {
        if (tile.nan()[j] || !ball.within(keys[j])) continue;
        if (first + j == own_[static_cast<std::size_t>(i)]) continue;
        take(i, keys[j], first + j);
    }
}

}  // namespace kith::cpu
