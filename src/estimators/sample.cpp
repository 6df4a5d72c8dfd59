// See sample.h.
#include "estimators/sample.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "api/host_view.h"
#include "api/request.h"
#include "api/validate.h"
#include "exact/element.h"
#include "exact/refuse.h"
#include "exact/watched.h"
#include "kith/radius.h"

namespace kith::estimators {

namespace {

constexpr std::int64_t rows_per_task = 1 << 13;

// Of one dimension the others within a radius lie side by side: two binary searches a sample. fl(v - u) grows with v,
// so that the values at a rounded difference of at most r, or below it, are those of a range.
std::vector<std::int64_t> counts_in_line(const Sample& sample, const std::vector<double>& radii, bool open,
                                         const Options& options) {
    std::vector<double> sorted = sample.values;
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::int64_t> counts(radii.size());
    ProgressMeter progress(options.progress, static_cast<double>(sample.n));
    watched_for(
        api::threads_of(options), sample.n, rows_per_task, progress, "count",
        [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t i = first; i < last; ++i) {
                const double at = sample.values[static_cast<std::size_t>(i)], r = radii[static_cast<std::size_t>(i)];
                const auto outside = [&](double distance) { return open ? distance >= r : distance > r; };
                const auto from = std::partition_point(sorted.begin(), sorted.end(),
                                                       [&](double v) { return v < at && outside(at - v); });
                const auto to =
                    std::partition_point(from, sorted.end(), [&](double v) { return v <= at || !outside(v - at); });
                // Without the sample itself, which an open ball of radius 0 does not hold.
                counts[static_cast<std::size_t>(i)] = open && r == 0 ? 0 : static_cast<std::int64_t>(to - from) - 1;
            }
            progress.add(static_cast<double>(last - first));
        });
    progress.throw_if_cancelled();
    return counts;
}

}  // namespace

Sample sample_of(const MatrixView& view, const char* what) {
    api::check_view(view, what);
    if (view.rows == 0) refuse("{}: no samples", what);
    std::vector<std::byte> storage;
    const MatrixView here = api::on_host(view, storage);
    Sample out{here.rows, here.cols, {}};
    out.values.resize(static_cast<std::size_t>(here.rows * here.cols));
    auto to = out.values.begin();
    for (std::int64_t r = 0; r < here.rows; ++r) {
        for (std::int64_t c = 0; c < here.cols; ++c, ++to) {
            *to = exact::load(here.data, here.type, exact::offset(here, r, c)) + 0.0;
            if (!std::isfinite(*to)) refuse("{}: row {}, column {} is {}; expected finite values", what, r, c, *to);
        }
    }
    return out;
}

int scale_together(std::span<Sample* const> parts) {
    double most = 0;
    for (const Sample* part : parts)
        for (const double v : part->values) most = std::max(most, std::fabs(v));
    if (most == 0) return 0;
    int exponent = 0;
    std::frexp(most, &exponent);
    for (Sample* part : parts)
        for (double& v : part->values) v = std::ldexp(v, -exponent);
    return -exponent;
}

void require_equal(const Sample& a, std::int64_t i, const Sample& b, std::int64_t j, double distance) {
    const auto row = a.values.begin() + i * a.d;
    if (distance == 0 && std::equal(row, row + a.d, b.values.begin() + j * b.d)) return;
    refuse("x: the distance of row {} to its neighbour comes to {} in this metric; expected one that binary64 holds", i,
           distance);
}

std::vector<std::int64_t> equal_counts(const Sample& sample) {
    const auto row = [&](std::int64_t i) { return sample.values.begin() + i * sample.d; };
    std::vector<std::int64_t> order(static_cast<std::size_t>(sample.n)), counts(order.size());
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
        return std::lexicographical_compare(row(i), row(i) + sample.d, row(j), row(j) + sample.d);
    });
    for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
        while (last < order.size() && std::equal(row(order[first]), row(order[first]) + sample.d, row(order[last])))
            ++last;
        for (std::size_t i = first; i < last; ++i)
            counts[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(last - first) - 1;
    }
    return counts;
}

Sample joined(std::initializer_list<const Sample*> parts) {
    Sample out{(*parts.begin())->n, 0, {}};
    for (const Sample* part : parts) out.d += part->d;
    out.values.reserve(static_cast<std::size_t>(out.n * out.d));
    for (std::int64_t r = 0; r < out.n; ++r)
        for (const Sample* part : parts)
            out.values.insert(out.values.end(), part->values.begin() + r * part->d,
                              part->values.begin() + (r + 1) * part->d);
    return out;
}

Sample rows_of(const Sample& sample, std::int64_t first, std::int64_t n) {
    return {n, sample.d, {sample.values.begin() + first * sample.d, sample.values.begin() + (first + n) * sample.d}};
}

void check_k(std::int64_t k, std::int64_t most, const char* of) {
    if (most < 1) refuse("k: {}; there are too few samples for any: it is to be {}", k, of);
    if (k < 1 || k > most) refuse("k: {}; expected 1 to {}, {}", k, most, of);
}

Options search_options(const Options& options) {
    Options out = options;
    if (!out.metric.chosen) out.metric = MetricId::euclidean;
    out.f64 = true;
    out.include_self = false;
    return out;
}

Options in_maximum_norm(const Options& options) {
    const MetricId id = options.metric.id;
    if (options.metric.chosen && id != MetricId::chebyshev)
        refuse("metric: '{}'; this estimator takes the maximum norm, chebyshev", name(id));
    Options out = search_options(options);
    out.metric = MetricId::chebyshev;
    return out;
}

std::vector<std::int64_t> counts_within(const Sample& sample, const std::vector<double>& radii, bool open,
                                        const Options& options) {
    if (sample.d == 1) return counts_in_line(sample, radii, open, options);
    Sample asked{0, sample.d, {}};
    std::vector<double> asked_radii;
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < radii.size(); ++i) {
        if (radii[i] == 0) continue;
        rows.push_back(i);
        asked_radii.push_back(radii[i]);
        const auto first = sample.values.begin() + static_cast<std::ptrdiff_t>(i) * sample.d;
        asked.values.insert(asked.values.end(), first, first + sample.d);
    }
    asked.n = static_cast<std::int64_t>(rows.size());
    std::vector<std::int64_t> counts(radii.size());
    if (asked.n < sample.n && !open) counts = equal_counts(sample);
    if (asked.n == 0) return counts;
    Radius r(kith::view(asked_radii.data(), asked.n, 1));
    r.open = open;
    const std::vector<std::int64_t> found = radius_counts(sample.view(), asked.view(), r, options).counts;
    for (std::size_t i = 0; i < rows.size(); ++i) counts[rows[i]] = found[i] - 1;  // without the sample itself
    return counts;
}

Estimate mean_of(const std::vector<double>& terms, double constant, std::int64_t left_out) {
    if (terms.empty()) refuse("samples: all {} are equal to others; nothing can be estimated", left_out);
    // Neumaier's sum: the terms may be many.
    double sum = 0, lost = 0;
    for (const double t : terms) {
        const double next = sum + t;
        lost += std::fabs(sum) >= std::fabs(t) ? (sum - next) + t : (t - next) + sum;
        sum = next;
    }
    const double n = static_cast<double>(terms.size()), mean = (sum + lost) / n;
    double squares = 0;
    for (const double t : terms) squares += (t - mean) * (t - mean);
    return {mean + constant, std::sqrt(squares) / n, static_cast<std::int64_t>(terms.size()), left_out};
}

double digamma(std::int64_t n) {
    constexpr std::int64_t small = 16;
    constexpr double euler = 0.57721566490153286061;
    if (n < small) {
        double sum = -euler;
        for (std::int64_t i = 1; i < n; ++i) sum += 1 / static_cast<double>(i);
        return sum;
    }
    // The asymptotic series; its next term is below 2^-60 from 16 on.
    const double x = static_cast<double>(n), s = 1 / (x * x);
    return std::log(x) - 0.5 / x -
           s * (1.0 / 12 - s * (1.0 / 120 - s * (1.0 / 252 - s * (1.0 / 240 - s * (1.0 / 132 - s * 691.0 / 32760)))));
}

}  // namespace kith::estimators
