// See sample.h.
#include "estimators/sample.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "api/host_view.h"
#include "api/request.h"
#include "api/validate.h"
#include "estimators/parallel.h"
#include "exact/element.h"
#include "exact/refuse.h"
#include "exact/room.h"

namespace kith::estimators {

namespace {

// The row and column of the first value that is not finite.
[[noreturn]] void refuse_value(const Sample& sample, std::int64_t row, const char* what) {
    const double* const values = sample.row(row);
    const auto c =
        std::find_if(values, values + sample.d, [](double v) { return !std::isfinite(v); }) -
        values;
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

namespace {

// The largest magnitude, and the least that is not 0; 0 and infinity where all are 0.
struct Extent {
    double most = 0, least = std::numeric_limits<double>::infinity();
    void take(double magnitude) {
        most = std::max(most, magnitude);
        if (magnitude > 0) least = std::min(least, magnitude);
    }
};

Extent extent_of(std::span<Sample* const> parts, int threads) {
    Extent all;
    for (const Sample* part : parts) {
        std::vector<Extent> of_ranges(static_cast<std::size_t>(ranges(part->n)));
        for_ranges(threads, part->n, [&](std::int64_t first, std::int64_t last) {
            Extent& here = of_ranges[static_cast<std::size_t>(first / rows_per_range)];
            for (std::int64_t i = first * part->d; i < last * part->d; ++i)
                here.take(std::fabs(part->values[static_cast<std::size_t>(i)]));
        });
        for (const Extent& range : of_ranges) {
            all.most = std::max(all.most, range.most);
            all.least = std::min(all.least, range.least);
        }
    }
    return all;
}

// The power of two that is just above.
int exponent_above(double magnitude) {
    int exponent = 0;
    std::frexp(magnitude, &exponent);
    return exponent;
}

void multiply(std::span<Sample* const> parts, int exponent, int threads) {
    if (exponent == 0) return;
    for (Sample* part : parts) {
        for_ranges(threads, part->n, [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t i = first * part->d; i < last * part->d; ++i) {
                double& v = part->values[static_cast<std::size_t>(i)];
                v = std::ldexp(v, exponent) + 0.0;
            }
        });
    }
}

}  // namespace

int scale_together(std::span<Sample* const> parts, int threads) {
    const Extent extent = extent_of(parts, threads);
    if (extent.most == 0) return 0;
    const int exponent = -exponent_above(extent.most);
    multiply(parts, exponent, threads);
    return exponent;
}

int scale_exactly(std::initializer_list<Sample*> parts_of, int threads) {
    const std::span<Sample* const> parts(parts_of.begin(), parts_of.end());
    const Extent extent = extent_of(parts, threads);
    if (extent.most == 0) return 0;
    // No value is to end below the normal ones, where it would be rounded, and no difference to
    // overflow.
    constexpr int least_normal = std::numeric_limits<double>::min_exponent;
    constexpr int most_exponent = std::numeric_limits<double>::max_exponent - 1;
    const int above = exponent_above(extent.most);
    const int exponent = std::max(-above, std::min(0, least_normal - exponent_above(extent.least)));
    if (above + exponent > most_exponent)
        refuse("samples: magnitudes from {} to {}; expected ones whose differences binary64 holds",
               extent.least, extent.most);
    multiply(parts, exponent, threads);
    return exponent;
}

void require_equal(const Sample& a, std::int64_t i, const Sample& b, std::int64_t j,
                   double distance) {
    if (distance == 0 && std::equal(a.row(i), a.row(i) + a.d, b.row(j))) return;
    refuse(
        "x: the distance of row {} to its neighbour comes to {} in this metric; expected one that "
        "binary64 holds",
        i, distance);
}

Sample joined(std::initializer_list<const Sample*> parts, int threads) {
    Sample out{(*parts.begin())->n, 0, {}};
    for (const Sample* part : parts) out.d += part->d;
    require_cells(out.n, out.d, sizeof(double),
                  [&] { return fmt::format("samples: {} x {} side by side", out.n, out.d); });
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
            std::copy_n(sample.row(rows[static_cast<std::size_t>(r)]), out.d,
                        out.values.data() + r * out.d);
    });
    return out;
}

void check_k(std::int64_t k, std::int64_t most, const char* of) {
    if (most < 1) refuse("k: {}; there are too few samples for any: it is to be {}", k, of);
    if (k < 1 || k > most) refuse("k: {}; expected 1 to {}, {}", k, most, of);
}

Options search_options(const Options& options, MetricId usual) {
    Options out = options;
    out.metric = api::named_or(out.metric, usual);
    api::check_parameters(out.metric, ElementType::f64);
    out.f64 = true;
    out.include_self = false;
    return out;
}

Options in_maximum_norm(const Options& options) {
    const MetricId id = options.metric.id;
    if (api::is_named(options.metric) && id != MetricId::chebyshev)
        refuse("metric: '{}'; this estimator takes the maximum norm, chebyshev", name(id));
    return search_options(options, MetricId::chebyshev);
}

}  // namespace kith::estimators
