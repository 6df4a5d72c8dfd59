// Boxes are taken to be as wide as medians leave them, and neighbours to be as far as a sample's nearest rows say.
#include "exact/box_trial.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>

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

// Boxes as wide as ranges of points become that are split at their medians, always along the widest coordinate; empty
// where that is along too many.
struct Boxes {
    std::vector<double> width;
    std::vector<char> is_split;
};
std::optional<Boxes> split(const BoxTrial& trial, const std::vector<double>& rows, std::int64_t count) {
    const std::int64_t axes = std::min(trial.axes, trial.d);
    Boxes out{std::vector<double>(static_cast<std::size_t>(axes)),
              std::vector<char>(static_cast<std::size_t>(trial.d), 0)};
    std::vector<double> low(rows.begin(), rows.begin() + axes), high = low;
    for (std::int64_t i = 1; i < count; ++i) {
        const double* const row = rows.data() + i * trial.d;
        for (std::int64_t j = 0; j < axes; ++j) {
            const auto at = static_cast<std::size_t>(j);
            low[at] = std::min(low[at], row[j]);
            high[at] = std::max(high[at], row[j]);
        }
    }
    std::ranges::transform(high, low, out.width.begin(), std::minus());
    std::int64_t coordinates = 0;
    for (std::int64_t points = trial.n; points > trial.leaf; points /= 2) {
        const auto widest = std::ranges::max_element(out.width);
        *widest /= 2;
        char& known = out.is_split[static_cast<std::size_t>(widest - out.width.begin())];
        coordinates += !known;
        known = 1;
        if (coordinates > most_split_coordinates) return std::nullopt;
    }
    return out;
}

constexpr std::int64_t least_rows = 32;

}  // namespace

bool splits_few(const BoxTrial& trial, std::vector<double> rows) {
    const std::int64_t count = keep_finite(rows, trial.d);
    return count >= least_rows && split(trial, rows, count);
}

double share_in_boxes(const BoxTrial& trial, std::vector<double> rows) {
    const std::int64_t d = trial.d, count = keep_finite(rows, d);
    if (count < least_rows) return 1;
    const std::optional<Boxes> boxes = split(trial, rows, count);
    if (!boxes) return 1;
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
            for (std::int64_t j = 0; j < d; ++j) {
                const double difference = std::abs(q[j] - x[j]);
                if (!boxes->is_split[static_cast<std::size_t>(j)]) {
                    rest = key.joined(rest, difference);
                    continue;
                }
                near = key.joined(near, difference);
                gap = key.joined(gap, std::max(0.0, difference - boxes->width[static_cast<std::size_t>(j)]));
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
