// See sample.h.
#include "estimators/sample.h"

#include <algorithm>
#include <cmath>

#include "api/host_view.h"
#include "api/validate.h"
#include "estimators/parallel.h"
#include "exact/element.h"
#include "exact/refuse.h"

namespace kith::estimators {

namespace {

// The row and column of the first value that is not finite.
[[noreturn]] void refuse_value(const Sample& sample, std::int64_t row, const char* what) {
    const double* const values = sample.row(row);
    const auto c = std::find_if(values, values + sample.d, [](double v) { return !std::isfinite(v); }) - values;
    refuse("{}: row {}, column {} is {}; expected finite values", what, row, c, values[c]);
}

}  // namespace

Sample sample_of(const MatrixView& view, const char* what, int threads) {
    api::check_view(view, what);
    if (view.rows == 0) refuse("{}: no samples", what);
    std::vector<std::byte> storage;
    const MatrixView here = api::on_host(view, storage);
    Sample out{here.rows, here.cols, {}};
    out.values.resize(static_cast<std::size_t>(here.rows * here.cols));
    std::vector<std::int64_t> refused(static_cast<std::size_t>(ranges(out.n)), out.n);
    for_ranges(threads, out.n, [&](std::int64_t first, std::int64_t last) {
        double* to = out.values.data() + first * out.d;
        for (std::int64_t r = first; r < last; ++r) {
            for (std::int64_t c = 0; c < out.d; ++c, ++to) {
                *to = exact::load(here.data, here.type, exact::offset(here, r, c)) + 0.0;
                if (!std::isfinite(*to)) {
                    std::int64_t& row = refused[static_cast<std::size_t>(first / rows_per_range)];
                    row = std::min(row, r);
                }
            }
        }
    });
    const std::int64_t row = *std::min_element(refused.begin(), refused.end());
    if (row < out.n) refuse_value(out, row, what);
    return out;
}

int scale_together(std::span<Sample* const> parts, int threads) {
    double most = 0;
    for (const Sample* part : parts) {
        std::vector<double> largest(static_cast<std::size_t>(ranges(part->n)));
        for_ranges(threads, part->n, [&](std::int64_t first, std::int64_t last) {
            double& here = largest[static_cast<std::size_t>(first / rows_per_range)];
            for (std::int64_t i = first * part->d; i < last * part->d; ++i)
                here = std::max(here, std::fabs(part->values[static_cast<std::size_t>(i)]));
        });
        most = std::max(most, *std::max_element(largest.begin(), largest.end()));
    }
    if (most == 0) return 0;
    int exponent = 0;
    std::frexp(most, &exponent);
    for (Sample* part : parts) {
        for_ranges(threads, part->n, [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t i = first * part->d; i < last * part->d; ++i) {
                double& v = part->values[static_cast<std::size_t>(i)];
                v = std::ldexp(v, -exponent) + 0.0;
            }
        });
    }
    return -exponent;
}

void require_equal(const Sample& a, std::int64_t i, const Sample& b, std::int64_t j, double distance) {
    if (distance == 0 && std::equal(a.row(i), a.row(i) + a.d, b.row(j))) return;
    refuse("x: the distance of row {} to its neighbour comes to {} in this metric; expected one that binary64 holds", i,
           distance);
}

Sample joined(std::initializer_list<const Sample*> parts, int threads) {
    Sample out{(*parts.begin())->n, 0, {}};
    for (const Sample* part : parts) out.d += part->d;
    out.values.resize(static_cast<std::size_t>(out.n * out.d));
    for_ranges(threads, out.n, [&](std::int64_t first, std::int64_t last) {
        double* to = out.values.data() + first * out.d;
        for (std::int64_t r = first; r < last; ++r)
            for (const Sample* part : parts) to = std::copy_n(part->row(r), part->d, to);
    });
    return out;
}

Sample rows_of(const Sample& sample, std::int64_t first, std::int64_t n) {
    return {n, sample.d, {sample.row(first), sample.row(first + n)}};
}

Sample rows_of(const Sample& sample, const std::vector<std::int64_t>& rows, int threads) {
    Sample out{static_cast<std::int64_t>(rows.size()), sample.d, {}};
    out.values.resize(static_cast<std::size_t>(out.n * out.d));
    for_ranges(threads, out.n, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t r = first; r < last; ++r)
            std::copy_n(sample.row(rows[static_cast<std::size_t>(r)]), out.d, out.values.data() + r * out.d);
    });
    return out;
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

}  // namespace kith::estimators
