// Boxes are taken to be as wide as medians leave them, and neighbours to be as far as a sample's nearest rows say.
#include "exact/box_trial.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "exact/value_at_rank.h"

namespace kith::exact {

namespace {

constexpr std::int64_t trial_queries = 16;

// A distance key of differences, one coordinate after the other.
class Key {
public:
    explicit Key(const metric::Traits& traits)
        : largest_(traits.direct == metric::Direct::maximum), plain_(traits.direct == metric::Direct::sum) {}
    double joined(double key, double difference) const {
        if (largest_) return std::max(key, difference);
        return key + (plain_ ? difference : difference * difference);
    }
    // Of some coordinates and the others.
    double joined_keys(double some, double others) const { return largest_ ? std::max(some, others) : some + others; }

private:
    bool largest_, plain_;
};

// Rows that are not finite are dropped.
std::int64_t keep_finite(std::vector<double>& rows, std::int64_t d) {
    std::size_t kept = 0;
    const auto width = static_cast<std::size_t>(d);
    for (std::size_t at = 0; at < rows.size(); at += width) {
        const auto row = rows.begin() + static_cast<std::ptrdiff_t>(at);
        if (!std::all_of(row, row + d, [](double x) { return std::isfinite(x); })) continue;
        if (kept < at) std::copy(row, row + d, rows.begin() + static_cast<std::ptrdiff_t>(kept));
        kept += width;
    }
    rows.resize(kept);
    return static_cast<std::int64_t>(kept / width);
}

// How far each of the first coordinates reaches, but for the outermost rows.
std::vector<double> extents(const std::vector<double>& rows, std::int64_t count, std::int64_t d, std::int64_t axes) {
    const std::int64_t looked_at = std::min<std::int64_t>(count, 256);
    std::vector<double> out, column(static_cast<std::size_t>(looked_at));
    const std::ptrdiff_t out_of_reach = looked_at / 20;
    for (std::int64_t j = 0; j < axes; ++j) {
        for (std::int64_t i = 0; i < looked_at; ++i)
            column[static_cast<std::size_t>(i)] = rows[static_cast<std::size_t>(i * count / looked_at * d + j)];
        const auto low = column.begin() + out_of_reach, high = column.end() - 1 - out_of_reach;
        std::nth_element(column.begin(), low, column.end());
        std::nth_element(low, high, column.end());
        out.push_back(*high - *low);
    }
    return out;
}

}  // namespace

double share_in_boxes(BoxTrial trial) {
    const std::int64_t d = trial.d, count = keep_finite(trial.rows, d);
    if (count < 4 * trial_queries) return 1;
    std::vector<double> box = extents(trial.rows, count, d, std::min(trial.axes, d));
    std::vector<std::int64_t> split;
    for (std::int64_t points = trial.n; points > trial.leaf; points /= 2) {
        const auto widest = std::max_element(box.begin(), box.end());
        *widest /= 2;
        const std::int64_t j = widest - box.begin();
        if (std::find(split.begin(), split.end(), j) == split.end()) split.push_back(j);
        if (std::ssize(split) > most_split_coordinates) return 1;
    }
    const Key key(trial.traits);
    std::vector<char> is_split(static_cast<std::size_t>(d), 0);
    for (const std::int64_t j : split) is_split[static_cast<std::size_t>(j)] = 1;
    double passed = 0, pairs = 0;
    std::vector<double> along, others, gaps;
    for (std::int64_t i = 0; i < trial_queries; ++i) {
        const std::int64_t query = i * count / trial_queries;
        const double* const q = trial.rows.data() + query * d;
        along.clear();
        others.clear();
        gaps.clear();
        for (std::int64_t row = 0; row < count; ++row) {
            if (row == query) continue;
            const double* const x = trial.rows.data() + row * d;
            double near = 0, rest = 0, gap = 0;
            for (std::int64_t j = 0; j < d; ++j) {
                const double difference = std::abs(q[j] - x[j]);
                if (!is_split[static_cast<std::size_t>(j)]) {
                    rest = key.joined(rest, difference);
                    continue;
                }
                near = key.joined(near, difference);
                gap = key.joined(gap, std::max(0.0, difference - box[static_cast<std::size_t>(j)]));
            }
            along.push_back(near);
            others.push_back(rest);
            gaps.push_back(gap);
        }
        const auto middle = others.begin() + std::ssize(others) / 2;
        std::nth_element(others.begin(), middle, others.end());
        const double rank = static_cast<double>(trial.k) * static_cast<double>(count) / static_cast<double>(trial.n),
                     reach = key.joined_keys(value_at_rank(along, 0, rank), *middle);
        passed += static_cast<double>(std::ranges::count_if(gaps, [&](double gap) { return gap <= reach; }));
        pairs += static_cast<double>(gaps.size());
    }
    return passed / pairs;
}

}  // namespace kith::exact
