// Boxes are taken to hold as many points along each coordinate as medians leave them, and
// neighbours to be as far as a sample's nearest rows say.
#include "exact/box_trial.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>

#include "exact/value_at_rank.h"

namespace kith::exact {

namespace {

constexpr std::int64_t trial_queries = 16;
// Rows that say whether boxes would be split along few coordinates, and without which nothing is
// said.
constexpr std::int64_t first_rows = 64, least_rows = 32;

// A distance key of differences, one coordinate after the other.
class Key {
public:
    explicit Key(const metric::Traits& traits)
        : largest_(traits.direct == metric::Direct::maximum),
          plain_(traits.direct == metric::Direct::sum) {}
    double joined(double key, double difference) const {
        if (largest_) return std::max(key, difference);
        return key + (plain_ ? difference : difference * difference);
    }
    // Of some coordinates and the others.
    double joined_keys(double some, double others) const {
        return largest_ ? std::max(some, others) : some + others;
    }

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

// How often ranges of points are split along each coordinate until they are boxes, always along the
// widest, as far as these are few; empty where they are not for half of the splits.
std::vector<int> splits(const BoxTrial& trial, const std::vector<double>& rows,
                        std::int64_t count) {
    const std::int64_t axes = std::min(trial.axes, trial.d);
    std::vector<double> low(rows.begin(), rows.begin() + axes), high = low, width(low.size());
    for (std::int64_t i = 1; i < count; ++i) {
        const double* const row = rows.data() + i * trial.d;
        for (std::int64_t j = 0; j < axes; ++j) {
            const auto at = static_cast<std::size_t>(j);
            low[at] = std::min(low[at], row[j]);
            high[at] = std::max(high[at], row[j]);
        }
    }
    std::ranges::transform(high, low, width.begin(), std::minus());
    std::vector<int> out(static_cast<std::size_t>(trial.d), 0);
    std::int64_t coordinates = 0, all = 0, done = 0;
    for (std::int64_t points = trial.n; points > trial.leaf; points /= 2) ++all;
    for (; done < all; ++done) {
        const auto widest = std::ranges::max_element(width);
        int& times = out[static_cast<std::size_t>(widest - width.begin())];
        if (times == 0 && coordinates == most_split_coordinates) break;
        coordinates += times == 0;
        times += 1;
        *widest /= 2;
    }
    if (2 * done < all) return {};
    return out;
}

// One coordinate of the boxes that rows lie in: a box has its share of the points, and may reach
// that far to either side of a row.
class Reach {
public:
    Reach(const std::vector<double>& rows, std::int64_t count, std::int64_t d,
          std::int64_t coordinate, int times) {
        for (std::int64_t i = 0; i < count; ++i)
            sorted_.push_back(rows[static_cast<std::size_t>(i * d + coordinate)]);
        std::ranges::sort(sorted_);
        places_ = std::max<std::ptrdiff_t>(1, count >> std::min(times, 62));
    }
    // How far the box of x is from q, at least.
    double gap(double q, double x) const {
        if (q > x) {
            const auto place = std::ranges::upper_bound(sorted_, x) - sorted_.begin() - 1 + places_;
            return std::max(
                0.0,
                q - sorted_[static_cast<std::size_t>(std::min(place, std::ssize(sorted_) - 1))]);
        }
        const auto place = std::ranges::lower_bound(sorted_, x) - sorted_.begin() - places_;
        return std::max(0.0,
                        sorted_[static_cast<std::size_t>(std::max<std::ptrdiff_t>(place, 0))] - q);
    }

private:
    std::vector<double> sorted_;
    std::ptrdiff_t places_;
};

bool splits_few(const BoxTrial& trial, std::vector<double> rows) {
    const std::int64_t count = keep_finite(rows, trial.d);
    return count >= least_rows && !splits(trial, rows, count).empty();
}

}  // namespace

double share_in_boxes(const BoxTrial& trial, std::vector<double> rows) {
    const std::int64_t d = trial.d, count = keep_finite(rows, d);
    if (count < least_rows) return 1;
    const std::vector<int> times = splits(trial, rows, count);
    if (times.empty()) return 1;
    std::vector<Reach> reaches;
    std::vector<std::int64_t> split;
    for (std::int64_t j = 0; j < d; ++j) {
        if (times[static_cast<std::size_t>(j)] == 0) continue;
        split.push_back(j);
        reaches.emplace_back(rows, count, d, j, times[static_cast<std::size_t>(j)]);
    }
    const Key key(trial.traits);
    double passed = 0, pairs = 0;
    std::vector<double> along, others, gaps;
    for (std::int64_t i = 0; i < trial_queries; ++i) {
        const std::int64_t query = i * count / trial_queries;
        const double* const q = rows.data() + query * d;
        along.clear();
        others.clear();
        gaps.clear();
        for (std::int64_t row = 0; row < count; ++row) {
            if (row == query) continue;
            const double* const x = rows.data() + row * d;
            double near = 0, rest = 0, gap = 0;
            for (std::int64_t j = 0; j < d; ++j)
                if (times[static_cast<std::size_t>(j)] == 0)
                    rest = key.joined(rest, std::abs(q[j] - x[j]));
            for (std::size_t c = 0; c < split.size(); ++c) {
                near = key.joined(near, std::abs(q[split[c]] - x[split[c]]));
                gap = key.joined(gap, reaches[c].gap(q[split[c]], x[split[c]]));
            }
            along.push_back(near);
            others.push_back(rest);
            gaps.push_back(gap);
        }
        const auto middle = others.begin() + std::ssize(others) / 2;
        std::nth_element(others.begin(), middle, others.end());
        const double rank = static_cast<double>(trial.k) * static_cast<double>(count) /
                            static_cast<double>(trial.n),
                     reach = key.joined_keys(value_at_rank(along, 0, rank), *middle);
        passed += static_cast<double>(
            std::ranges::count_if(gaps, [&](double gap) { return gap <= reach; }));
        pairs += static_cast<double>(gaps.size());
    }
    return passed / pairs;
}

bool boxes_pay(const BoxTrial& trial, const BoxLimits& limits, const Sampler& sample) {
    return splits_few(trial, sample(std::min(trial.n, first_rows))) &&
           share_in_boxes(trial, sample(std::min(trial.n, limits.sampled_rows))) <=
               limits.most_in_boxes;
}

}  // namespace kith::exact
