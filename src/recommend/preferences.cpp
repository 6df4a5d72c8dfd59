// See preferences.h.
#include "recommend/preferences.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "exact/refuse.h"
#include "exact/split_mix.h"

namespace kith::recommending {

namespace {

void check_shape(const SparseView& view) {
    constexpr std::int64_t most_items = std::numeric_limits<std::int32_t>::max();
    if (view.rows < 1 || view.cols < 1 || view.cols > most_items)
        refuse("preferences: {} users x {} items; expected 1 or more of each, at most {} items",
               view.rows, view.cols, most_items);
    if (!view.offsets || view.offsets[0] != 0) refuse("preferences: no offsets that begin with 0");
    for (std::int64_t user = 0; user < view.rows; ++user)
        if (view.offsets[user + 1] < view.offsets[user])
            refuse("preferences: row {} ends at {} and begins at {}; expected ascending offsets",
                   user, view.offsets[user + 1], view.offsets[user]);
    if (view.offsets[view.rows] > 0 && (!view.ids || !view.values))
        refuse("preferences: {} cells without ids or values", view.offsets[view.rows]);
}

void check_row(const SparseView& view, std::int64_t user, PreferenceForm form) {
    std::int64_t before = -1;
    for (std::int64_t at = view.offsets[user]; at < view.offsets[user + 1]; ++at) {
        const std::int64_t item = view.ids[at];
        const double value = view.values[at];
        if (item <= before || item >= view.cols)
            refuse("preferences: row {} has column {} after {}; expected ascending ones below {}",
                   user, item, before, view.cols);
        before = item;
        if (!std::isfinite(static_cast<float>(value)))
            refuse("preferences: row {}, column {} is {}; expected values that f32 holds", user,
                   item, value);
        if (form == PreferenceForm::shares && value < 0)
            refuse("preferences: row {}, column {} is {}; shares expected none below 0", user, item,
                   value);
    }
}

}  // namespace

Preferences::Preferences(const SparseView& view, const RecommendOptions& options)
    : items_(view.cols) {
    check_shape(view);
    const auto cells = static_cast<std::size_t>(view.offsets[view.rows]);
    offsets_.reserve(static_cast<std::size_t>(view.rows) + 1);
    columns_.reserve(cells);
    values_.reserve(cells);
    if (options.hold_out) held_out_.reserve(static_cast<std::size_t>(view.rows));
    std::vector<double> popularity(static_cast<std::size_t>(view.cols));
    std::vector<std::int64_t> kept;  // cells of a user
    for (std::int64_t user = 0; user < view.rows; ++user) {
        check_row(view, user, options.form);
        kept.clear();
        for (std::int64_t at = view.offsets[user]; at < view.offsets[user + 1]; ++at)
            if (view.values[at] != 0) kept.push_back(at);
        if (options.hold_out) {
            std::int64_t item = -1;
            if (kept.size() > 1) {
                const std::uint64_t drawn =
                    split_mix(options.seed, static_cast<std::uint64_t>(user));
                const auto place = kept.begin() + static_cast<std::ptrdiff_t>(drawn % kept.size());
                item = view.ids[*place];
                kept.erase(place);
            }
            held_out_.push_back(item);
        }
        double sum = 0;
        for (const std::int64_t at : kept) sum += view.values[at];
        for (const std::int64_t at : kept) {
            const double value = view.values[at];
            popularity[static_cast<std::size_t>(view.ids[at])] += value;
            columns_.push_back(static_cast<std::int32_t>(view.ids[at]));
            values_.push_back(
                static_cast<float>(options.form == PreferenceForm::shares ? value / sum : value));
        }
        offsets_.push_back(static_cast<std::int64_t>(columns_.size()));
    }
    by_popularity_.resize(popularity.size());
    std::iota(by_popularity_.begin(), by_popularity_.end(), std::int64_t{0});
    std::stable_sort(by_popularity_.begin(), by_popularity_.end(),
                     [&](std::int64_t a, std::int64_t b) {
                         return popularity[static_cast<std::size_t>(a)] >
                                popularity[static_cast<std::size_t>(b)];
                     });
}

bool Preferences::has(std::int64_t user, std::int64_t item) const {
    const auto begin = columns_.begin();
    return std::binary_search(begin + offsets_[static_cast<std::size_t>(user)],
                              begin + offsets_[static_cast<std::size_t>(user) + 1],
                              static_cast<std::int32_t>(item));
}

std::vector<float> Preferences::dense(std::int64_t first_user, std::int64_t count) const {
    std::vector<float> rows(static_cast<std::size_t>(count * items_));
    for (std::int64_t i = 0; i < count; ++i) {
        float* const row = rows.data() + i * items_;
        for (std::size_t cell = first(first_user + i); cell < first(first_user + i + 1); ++cell)
            row[columns_[cell]] = values_[cell];
    }
    return rows;
}

}  // namespace kith::recommending
