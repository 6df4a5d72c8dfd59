// What users have: their vectors, of which only what is not 0 is stored, without the items that are
// held out.
#pragma once

#include <cstdint>
#include <vector>

#include "kith/recommend.h"

namespace kith::recommending {

class Preferences {
public:
    // Throws invalid_argument for what `view` or its values may not be.
    Preferences(const SparseView& view, const RecommendOptions& options);

    std::int64_t users() const { return static_cast<std::int64_t>(offsets_.size()) - 1; }
    std::int64_t items() const { return items_; }
    // The cells of a user, ascending by item: from first(u) to first(u + 1).
    std::size_t first(std::int64_t user) const {
        return static_cast<std::size_t>(offsets_[static_cast<std::size_t>(user)]);
    }
    std::int64_t item(std::size_t cell) const { return columns_[cell]; }
    float value(std::size_t cell) const { return values_[cell]; }
    bool has(std::int64_t user, std::int64_t item) const;

    // Of each user the item that was held out, or -1; none without options.hold_out.
    const std::vector<std::int64_t>& held_out() const { return held_out_; }
    // The items by (sum of all users' preferences as they were given, descending; smaller item).
    const std::vector<std::int64_t>& by_popularity() const { return by_popularity_; }

    // The vectors of users [first, first + count), row-major.
    std::vector<float> dense(std::int64_t first, std::int64_t count) const;

private:
    std::int64_t items_;
    std::vector<std::int64_t> offsets_{0};
    std::vector<std::int32_t> columns_;
    std::vector<float> values_;
    std::vector<std::int64_t> held_out_, by_popularity_;
};

}  // namespace kith::recommending
