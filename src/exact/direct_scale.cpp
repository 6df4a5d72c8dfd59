// What a sample says of the coordinates.
#include "exact/direct_scale.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kith::exact {

namespace {

// Exponents of 2 of the scale of a key, either way.
constexpr double max_key_exponent = 800;

}  // namespace

double middle(std::vector<double>& values) {
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), at, values.end());
    return *at;
}

double direct_scale(const DirectForm& form, const DirectSample& sample) {
    if (form.degree == 0) return 1;
    std::vector<double> differences;
    for (std::int64_t s = 0; s + 1 < sample.count; ++s) {
        double largest = 0;
        for (std::int64_t i = 0; i < sample.d; ++i)
            largest = std::max(largest, std::abs(sample.at(s, i) - sample.at(s + 1, i)));
        if (largest > 0 && std::isfinite(largest)) differences.push_back(largest);
    }
    if (differences.empty()) return 1;
    const double most = std::floor(max_key_exponent / form.degree);
    return std::ldexp(1.0, static_cast<int>(std::clamp(-std::ceil(std::log2(middle(differences))), -most, most)));
}

std::vector<double> direct_centre(const DirectSample& sample, double scale) {
    constexpr double steps = 4;  // of the grid, in a typical difference
    std::vector<double> centre(static_cast<std::size_t>(sample.d)), column;
    for (std::int64_t i = 0; i < sample.d; ++i) {
        column.clear();
        for (std::int64_t s = 0; s < sample.count; ++s)
            if (std::isfinite(sample.at(s, i))) column.push_back(sample.at(s, i));
        if (column.empty()) continue;
        const auto [least, most] = std::minmax_element(column.begin(), column.end());
        const bool equal = *least == *most;
        const double median = middle(column), coarse = std::nearbyint(median * (scale * steps)) / (scale * steps);
        centre[static_cast<std::size_t>(i)] = equal || !std::isfinite(coarse) ? median : coarse;
    }
    return centre;
}

namespace {

constexpr double least_byte = -128, most_byte = 127;

// The mean share of a sample's rows.
double mean_share(const DirectForm& form, const DirectSample& sample, const ByteScale& bytes) {
    double sum = 0, rows = 0;
    for (std::int64_t s = 0; s < sample.count; ++s) {
        double residual2 = 0;
        for (std::int64_t i = 0; i < sample.d; ++i) {
            const double x = (sample.at(s, i) - bytes.centre[static_cast<std::size_t>(i)]) * bytes.scale,
                         rest = x - std::clamp(std::nearbyint(x), least_byte, most_byte);
            residual2 += rest * rest;
        }
        if (!std::isfinite(residual2)) continue;
        sum += rounded_share(form.rounding, form.rounding.factor, residual2, 0);
        rows += 1;
    }
    return sum / rows;
}

// How far the nearest pairs of a sample are apart in distance: a hundredth of them, or half of those of few rows. Pairs
// of one cluster, where there are some, are among these.
double spread_of(const DirectSample& sample) {
    std::vector<double> distances;
    for (std::int64_t s = 0; s < sample.count; ++s) {
        for (std::int64_t r = 0; r < s; ++r) {
            double sum = 0;
            for (std::int64_t i = 0; i < sample.d; ++i) sum += std::abs(sample.at(s, i) - sample.at(r, i));
            if (std::isfinite(sum)) distances.push_back(sum);
        }
    }
    if (distances.size() < 2) return 0;
    const std::size_t near = std::max(distances.size() / 100, std::min<std::size_t>(distances.size() / 2, 20));
    std::nth_element(distances.begin(), distances.begin() + static_cast<std::ptrdiff_t>(near), distances.end());
    return distances[near] - *std::min_element(distances.begin(), distances.end());
}

}  // namespace

std::optional<ByteScale> byte_scale(const DirectForm& form, const DirectSample& sample, ElementType type) {
    ByteScale bytes;
    if (type == ElementType::u8 || type == ElementType::i8) {
        bytes.centre.assign(static_cast<std::size_t>(sample.d), type == ElementType::u8 ? 128 : 0);
        return bytes;
    }
    // In fewer dimensions neighbours are nearer than a byte tells apart.
    constexpr std::int64_t least_dimensions = 32;
    std::vector<double> sizes;
    double least = std::numeric_limits<double>::infinity(), most = -least;
    bool whole = true;
    bytes.centre = direct_centre(sample, 0x1p60);
    for (std::int64_t s = 0; s < sample.count; ++s) {
        for (std::int64_t i = 0; i < sample.d; ++i) {
            const double x = sample.at(s, i);
            if (!std::isfinite(x)) continue;
            whole = whole && x == std::nearbyint(x);
            least = std::min(least, x);
            most = std::max(most, x);
            if (const double size = std::abs(x - bytes.centre[static_cast<std::size_t>(i)]); size > 0)
                sizes.push_back(size);
        }
    }
    if (sizes.empty()) return std::nullopt;
    if (whole && most - least <= most_byte - least_byte) {
        // Nothing is lost: counts, pixels.
        bytes.centre.assign(static_cast<std::size_t>(sample.d), std::floor(least + (most - least + 1) / 2));
        return bytes;
    }
    if (sample.d < least_dimensions || sample.count < 2) return std::nullopt;
    // Outliers are cut off where that costs less than coarser steps for all.
    std::sort(sizes.begin(), sizes.end());
    double least_cost = std::numeric_limits<double>::infinity(), best = 0;
    for (const double within : {1.0, 0.9999, 0.999, 0.99}) {
        bytes.scale = most_byte / sizes[static_cast<std::size_t>(within * static_cast<double>(sizes.size() - 1))];
        const double cost = mean_share(form, sample, bytes) / bytes.scale;
        if (!(cost < least_cost)) continue;
        least_cost = cost;
        best = bytes.scale;
    }
    bytes.scale = best;
    // Candidates beyond the neighbours lie within twice the shares of a query and a point: two thirds of a deviation of
    // Gaussian data's distances at most. And keys of rows that are covered must be finite, as those of `degree` are.
    constexpr double most_of_spread = 0.6;
    const double exponent = std::log2(best);
    if (!(4 * least_cost <= most_of_spread * spread_of(sample)) || !(std::abs(exponent) <= max_key_exponent))
        return std::nullopt;
    return bytes;
}

}  // namespace kith::exact
