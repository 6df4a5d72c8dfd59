// Scales and centres of direct forms, from a sample.
#include "exact/bounds/direct_scale.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kith::exact {

namespace {

// Largest magnitude of the binary exponent of a key's scale.
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
    return std::ldexp(
        1.0, static_cast<int>(std::clamp(-std::ceil(std::log2(middle(differences))), -most, most)));
}

std::vector<double> direct_centre(const DirectSample& sample, double scale) {
    constexpr double steps = 4;  // grid steps per typical difference
    std::vector<double> centre(static_cast<std::size_t>(sample.d)), column;
    for (std::int64_t i = 0; i < sample.d; ++i) {
        column.clear();
        for (std::int64_t s = 0; s < sample.count; ++s)
            if (std::isfinite(sample.at(s, i))) column.push_back(sample.at(s, i));
        if (column.empty()) continue;
        const auto [least, most] = std::minmax_element(column.begin(), column.end());
        const bool equal = *least == *most;
        const double median = middle(column),
                     coarse = std::nearbyint(median * (scale * steps)) / (scale * steps);
        centre[static_cast<std::size_t>(i)] = equal || !std::isfinite(coarse) ? median : coarse;
    }
    return centre;
}

namespace {

// The mean residual length of a sampled row, in coordinates.
double mean_loss(const DirectForm& form, const DirectSample& sample, const CoarseScale& words) {
    const WholeRange range = whole_range(form.coordinates);
    double sum = 0, rows = 0;
    for (std::int64_t s = 0; s < sample.count; ++s) {
        double residual2 = 0;
        for (std::int64_t i = 0; i < sample.d; ++i) {
            const double x = (sample.at(s, i) - words.centre[static_cast<std::size_t>(i)]) *
                             words.scale,
                         rest = x - std::clamp(std::nearbyint(x), range.least, range.most);
            residual2 =
                form.rounding.largest ? std::max(residual2, rest * rest) : residual2 + rest * rest;
        }
        if (!std::isfinite(residual2)) continue;
        sum += std::sqrt(residual2);
        rows += 1;
    }
    return sum / rows / words.scale;
}

// The key of a pair.
double key_of(const DirectForm& form, const DirectSample& sample, std::int64_t s, std::int64_t r) {
    double key = 0;
    const double *const a = sample.row(s), *const b = sample.row(r);
    if (form.step == Step::chebyshev) {
        for (std::int64_t i = 0; i < sample.d; ++i) {
            const double difference = std::abs(a[i] - b[i]);
            key = difference <= key ? key : difference;
        }
    } else if (form.step == Step::cityblock) {
#pragma omp simd reduction(+ : key)
        for (std::int64_t i = 0; i < sample.d; ++i) key += std::abs(a[i] - b[i]);
    } else if (form.step == Step::squares) {
#pragma omp simd reduction(+ : key)
        for (std::int64_t i = 0; i < sample.d; ++i) key += (a[i] - b[i]) * (a[i] - b[i]);
    } else {
        for (std::int64_t i = 0; i < sample.d; ++i) {
            const double p = a[i], x = b[i];
            if (!(std::abs(p - x) > 0)) continue;
            key += p * std::log(2 * p / (p + x) + (p > 0 ? 0 : 1)) +
                   x * std::log(2 * x / (p + x) + (x > 0 ? 0 : 1));
        }
    }
    return key;
}

// The nearest pairs of a sample: one percent of them, or 20 (at most half) if that is more. Gives
// the largest key among them, and its difference from the smallest. Pairs within a cluster, if any,
// are among these.
struct NearPairs {
    double key = 0, spread = 0;
};
NearPairs near_pairs(const DirectForm& form, const DirectSample& sample) {
    // A more precise form needs fewer pairs to show that it serves. A logarithm costs as much as
    // many differences.
    const std::int64_t most = form.step == Step::logarithms  ? 16
                              : form.step == Step::chebyshev ? 32
                                                             : 64;
    const std::int64_t rows = std::min(sample.count, most);
    std::vector<double> distances;
    for (std::int64_t s = 0; s < rows; ++s) {
        for (std::int64_t r = 0; r < s; ++r)
            if (const double key = key_of(form, sample, s, r); std::isfinite(key))
                distances.push_back(key);
    }
    if (distances.size() < 2) return {};
    const std::size_t near =
        std::max(distances.size() / 100, std::min<std::size_t>(distances.size() / 2, 20));
    std::nth_element(distances.begin(), distances.begin() + static_cast<std::ptrdiff_t>(near),
                     distances.end());
    return {distances[near],
            distances[near] - *std::min_element(distances.begin(), distances.end())};
}

// The largest acceptable cost of a row. Candidates beyond the neighbours lie within twice the costs
// of a query and a point. These costs are at most two thirds of a standard deviation of Gaussian
// data's distances; slightly more for squares, where the split adapts to the data.
double most_cost(const DirectForm& form, const NearPairs& near) {
    const double most_of_spread = form.step == Step::squares ? 0.8 : 0.6;
    return most_of_spread / 4 * near.spread;
}

// The cost of a row with this loss: its share and, for squares at the best split, half of the
// growth.
double cost_of(const DirectForm& form, double loss, const NearPairs& near) {
    return form.step == Step::squares ? 2 * std::sqrt(near.key) * loss
                                      : form.rounding.factor * loss;
}
double best_split(const DirectForm& form, double loss, const NearPairs& near) {
    if (form.step != Step::squares || !(near.key > 0)) return 0;
    return std::clamp(2 * loss / std::sqrt(near.key), 0x1p-20, 0.5);
}

// In fewer dimensions neighbours are too near for a coarse form to separate.
std::int64_t least_dimensions(const DirectForm& form) {
    return form.coordinates == Coordinates::rounded_bytes ? 32 : 8;
}

std::optional<CoarseScale> scale_of_shares(const DirectForm& form, const DirectSample& sample) {
    CoarseScale words{{}, share_scale(sample.d)};
    double sum = 0, rows = 0;
    for (std::int64_t s = 0; s < sample.count; ++s) {
        ShareTerms terms;
        for (std::int64_t i = 0; i < sample.d; ++i) terms.add(sample.at(s, i) * words.scale);
        if (!std::isfinite(terms.size)) continue;
        sum += terms.size;
        rows += 1;
    }
    if (!(share_weight(sample.d) * sum / rows <= most_cost(form, near_pairs(form, sample))))
        return std::nullopt;
    return words;
}

}  // namespace

std::optional<CoarseScale> coarse_scale(const DirectForm& form, const DirectSample& sample,
                                        ElementType type) {
    CoarseScale words;
    const bool enough = sample.d >= least_dimensions(form) && sample.count >= 2;
    if (form.step == Step::logarithms) return enough ? scale_of_shares(form, sample) : std::nullopt;
    if (type == ElementType::u8 || type == ElementType::i8) {
        words.centre.assign(static_cast<std::size_t>(sample.d), type == ElementType::u8 ? 128 : 0);
        return words;
    }
    const WholeRange range = whole_range(form.coordinates);
    std::vector<double> sizes;
    double least = std::numeric_limits<double>::infinity(), most = -least;
    bool whole = true;
    words.centre = direct_centre(sample, 0x1p60);
    for (std::int64_t s = 0; s < sample.count; ++s) {
        for (std::int64_t i = 0; i < sample.d; ++i) {
            const double x = sample.at(s, i);
            if (!std::isfinite(x)) continue;
            whole = whole && x == std::nearbyint(x);
            least = std::min(least, x);
            most = std::max(most, x);
            if (const double size = std::abs(x - words.centre[static_cast<std::size_t>(i)]);
                size > 0)
                sizes.push_back(size);
        }
    }
    if (sizes.empty()) return std::nullopt;
    if (whole && most - least <= range.most - range.least) {
        // Nothing is lost: counts, pixels.
        words.centre.assign(static_cast<std::size_t>(sample.d),
                            std::floor(least + (most - least + 1) / 2));
        return words;
    }
    if (!enough) return std::nullopt;
    // Clips outliers if that costs less than coarser steps for all rows. A clipped row is a
    // candidate of all queries, or of many for squares. Therefore, where steps are precise enough,
    // the range keeps a margin for values beyond the sample's maxima (measured: benchmarks of
    // Gaussian data). Sums need no margin: they lose only what is clipped.
    const NearPairs near = near_pairs(form, sample);
    const double room = form.step == Step::chebyshev ? 1.5 : form.step == Step::squares ? 1.2 : 1;
    const double enough_for = most_cost(form, near);
    double least_loss = std::numeric_limits<double>::infinity(), best = 0;
    for (const double within : {1.0, 0.9999, 0.999, 0.99}) {
        const auto at = sizes.begin() +
                        static_cast<std::ptrdiff_t>(within * static_cast<double>(sizes.size() - 1));
        std::nth_element(sizes.begin(), at, sizes.end());
        words.scale = range.most / (room * *at);
        const double loss = mean_loss(form, sample, words);
        if (!(loss < least_loss)) continue;
        least_loss = loss;
        best = words.scale;
        if (room > 1 && cost_of(form, loss, near) <= enough_for) break;
    }
    words.scale = best;
    words.split = best_split(form, least_loss, near);
    // Keys of covered rows must be finite; they scale with the power `degree`.
    const double exponent = std::log2(best) * form.degree;
    if (!(cost_of(form, least_loss, near) <= enough_for) ||
        !(std::abs(exponent) <= max_key_exponent))
        return std::nullopt;
    return words;
}

}  // namespace kith::exact
