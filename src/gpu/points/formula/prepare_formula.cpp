// Chooses a formula's form from a sample; see prepare_formula.h.
#include "gpu/points/formula/prepare_formula.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "exact/rounding.h"
#include "formula/error_bound.h"
#include "gpu/filter/direct/direct.h"
#include "gpu/points/formula/formula_range.h"
#include "gpu/points/sample.h"

namespace kith::gpu {

namespace {

// Rows of plain coordinates have the same words as with any metric that takes coordinates
// unchanged.
const MetricKernels& plain_rows() {
    return metric_kernels(MetricId::cityblock);
}

constexpr std::int64_t sample_rows = 128;

// A sample of the points' rows, on the host.
struct Sample {
    std::vector<double> values;
    std::int64_t rows, d;
    const double* row(std::int64_t r) const { return values.data() + r * d; }
};

// The scale on which neighbours differ: the spread of the keys of the sample's nearest pairs. Uses
// few rows, because each pair is evaluated operation by operation.
double spread_of(const Sample& sample, const MetricSpec& metric) {
    constexpr std::int64_t most_rows = 24;
    const std::int64_t rows = std::min(sample.rows, most_rows);
    std::vector<double> keys;
    for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < i; ++j) {
            const double key = formula::evaluate(*metric.formula, metric.start, sample.row(i),
                                                 sample.row(j), sample.d);
            if (std::isfinite(key)) keys.push_back(key);
        }
    }
    if (keys.size() < 2) return 0;
    std::sort(keys.begin(), keys.end());
    return keys[keys.size() / 4] - keys.front();
}

}  // namespace

bool filters_nothing(const FilterForm& form) {
    return std::isinf(form.lost);
}

void set_formula_form(const DeviceRows& points, const DeviceMetric& metric, FilterVectors& out,
                      cudaStream_t stream) {
    FilterForm& form = out.form;
    // Determines the words only; the pass has its own step.
    form.direct.step = exact::Step::cityblock;
    form.direct.coordinates = exact::Coordinates::exact;
    form.direct.exponent = static_cast<float>(metric.spec.start);
    form.width = direct_width(form.direct, metric.params.d);
    form.lost = std::numeric_limits<float>::infinity();
    const std::int64_t rows = std::min(points.rows.count, sample_rows), d = metric.params.d;
    const Sample sample{sample_of(points, plain_rows(), form, rows, metric.params, stream), rows,
                        d};
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for (const double x : sample.values) {
        if (!std::isfinite(x)) continue;
        least = std::min(least, x);
        most = std::max(most, x);
    }
    // An error relative to the key leaves few candidates. An error that is the same for all keys
    // must be small compared with their spread. A spread is about one standard deviation of
    // distances of Gaussian data.
    constexpr double next_to_nothing = 0x1p-100, most_of_spread = 0.15;
    std::optional<formula::ErrorBound> best;
    formula::Range range{};
    for (const formula::Range& tried : formula::ranges_around(least, most)) {
        formula::ErrorBound bound =
            formula::error_bound(*metric.spec.formula, metric.spec.start, metric.params.d, tried);
        // The widest range, unless a narrower one has a much better bound.
        if (!bound.refused.empty() || (best && !(bound.absolute < best->absolute / 2))) continue;
        range = tried;
        best = std::move(bound);
        if (best->absolute <= next_to_nothing) break;
    }
    if (!best) return;
    if (best->absolute > next_to_nothing &&
        !(best->absolute <= most_of_spread * spread_of(sample, metric.spec)))
        return;
    const double growth = (1 + best->relative) / (1 - best->relative);
    form.growth = form.rounded_growth = exact::round_up(growth * (1 + 0x1p-30));
    // The sum may start at another value in f32. A threshold includes twice this error; the
    // absolute error takes 1 + 1 / growth of it.
    form.lost = exact::round_up(best->absolute * growth * (1 + 0x1p-30));
    out.range = range;
}

void formula_points(const PreparedRows& rows, const FilterVectors& of, void* words,
                    float* half_norm, float* point_error, const metric::Params& params,
                    cudaStream_t stream) {
    plain_rows().filter_points(rows, of.form, words, half_norm, point_error, params, stream);
    leave_out_points(rows, of.form, of.range, half_norm, point_error, params.d, stream);
}

void formula_queries(const PreparedRows& rows, const FilterVectors& of, void* words,
                     float* query_error, std::uint8_t* unfit, const metric::Params& params,
                     cudaStream_t stream) {
    plain_rows().filter_queries(rows, of.form, words, query_error, unfit, params, stream);
    leave_out_queries(rows, of.range, query_error, unfit, params.d, stream);
}

}  // namespace kith::gpu
