// See row_filter.h.
#include "cpu/search/row_filter.h"

#include <algorithm>
#include <cmath>

#include "cpu/metric/kernels.h"

namespace kith::cpu {

namespace {

// Requires a metric that the filter serves.
RowSweepForm sweep_form(metric::Direct direct) {
    switch (direct) {
        case metric::Direct::squares:
            return RowSweepForm::l2;
        case metric::Direct::sum:
            return RowSweepForm::cityblock;
        case metric::Direct::maximum:
            return RowSweepForm::chebyshev;
        default:
            return RowSweepForm::dot;
    }
}

bool has_nan(const float* row, std::int64_t d) {
    bool nan = false;
    for (std::int64_t j = 0; j < d; ++j) nan |= row[j] != row[j];
    return nan;
}

}  // namespace

bool row_filter_serves(MetricId metric, ElementType type, std::int64_t d) {
    if (type != ElementType::f32 || d > max_filter_dimensions || is_user_metric(metric))
        return false;
    const MetricKernels& kernels = metric_kernels(metric, Isa::baseline);
    const metric::Traits& t = kernels.traits;
    return kernels.identity_map &&
           (t.direct == metric::Direct::squares || t.direct == metric::Direct::sum ||
            t.direct == metric::Direct::maximum || t.gemm == metric::Gemm::dot ||
            t.gemm == metric::Gemm::cosine);
}

bool row_filter_serves(const Points& points, const MatrixView& queries) {
    return queries.type == ElementType::f32 &&
           row_filter_serves(points.metric.id, points.rows.type, points.rows.cols);
}

RowFilter::RowFilter(const Search& search, Shortlist& list, std::int64_t count)
    : search_(search),
      points_(search.points),
      list_(list),
      count_(count),
      d_(search.points.rows.cols),
      errors_(static_cast<std::size_t>(count), 0.0f),
      queries_(count * d_) {
    const metric::Traits traits = metric_traits(points_.metric.id);
    form_ = traits.direct != metric::Direct::none ? metric::Gemm::none : traits.gemm;
    const TileKernels& tiles = tile_kernels(search.isa);
    sweep_ = tiles.sweep[static_cast<int>(sweep_form(traits.direct))];
    lower_ = tiles.lower;
    g_ = (static_cast<double>(d_) + 4) * 0x1p-24 * (1 + static_cast<double>(d_) * 0x1p-23);
    floor_ = round_up(std::sqrt(static_cast<double>(d_)) * 0x1p-62);
    const bool cosine = form_ == metric::Gemm::cosine;
    for (std::int64_t i = 0; i < count; ++i) {
        const double* q = list.rows().row(i);
        float* out = queries_.data() + i * d_;
        if (form_ == metric::Gemm::none) {
            for (std::int64_t j = 0; j < d_; ++j) out[j] = static_cast<float>(q[j]);
            list.add_query(direct_terms(exact::direct_bound({}, d_)));
            continue;
        }
        double sum = 0, lost = 0;
        for (std::int64_t j = 0; j < d_; ++j) sum += q[j] * q[j];
        const double norm = std::sqrt(sum);
        QueryTerms terms = direct_terms(exact::direct_bound({}, d_));
        terms.growth = 1;
        terms.usable = norm == 0 || (norm > 0x1p-120 && norm < 0x1p127);
        terms.alike = norm == 0;  // squares of f32 do not underflow in binary64
        const double scale = norm > 0 && terms.usable ? std::ldexp(1.0, -std::ilogb(norm)) : 0;
        for (std::int64_t j = 0; j < d_; ++j) {
            out[j] = static_cast<float>(q[j] * scale);
            lost += std::abs(q[j] * scale - static_cast<double>(out[j]));
        }
        // Only underflow in scaling loses anything.
        terms.usable = terms.usable && lost == 0;
        if (form_ == metric::Gemm::dot) {
            terms.scale = scale;
        } else {
            terms.scale = norm * scale;
            terms.offset = -norm * scale;
        }
        // The rounding of binary64, here and in the canonical form.
        terms.error += norm * scale * static_cast<double>(d_ + 20) * 0x1p-50;
        // The 2^-20 covers the evaluation of the bound itself in f32.
        const double g = (cosine ? 3 : 1) * g_ * (1 + g_) + 0x1p-20;
        errors_[static_cast<std::size_t>(i)] = round_up(norm * scale * g * (1 + 0x1p-20));
        list.add_query(terms);
    }
}

void RowFilter::group(std::int64_t g) {
    const std::int64_t first = g * panel_points;
    const std::int64_t here = std::min<std::int64_t>(panel_points, points_.rows.rows - first);
    const float* rows = static_cast<const float*>(points_.rows.data) + first * points_.rows.stride;
    alignas(64) float values[max_row_queries * panel_points], squares[panel_points],
        low[panel_points];
    if (here < panel_points) std::fill_n(squares, panel_points, 0.0f);
    sweep_(rows, points_.rows.stride, here, d_, queries_.data(), count_, values, squares);
    for (std::int64_t i = 0; i < count_; ++i) {
        const float* value = values + i * panel_points;
        const float error = errors_[static_cast<std::size_t>(i)];
        const bool cosine = form_ == metric::Gemm::cosine;
        if (form_ != metric::Gemm::none) {
            lower_(value, squares, cosine, error, floor_, low);
            value = low;
        }
        const float threshold = list_.thresholds()[i];
        for (std::int64_t p = 0; p < here; ++p) {
            if (value[p] > threshold) continue;
            // A maximum ignores NaN, so check the row: its value must not lower the threshold.
            if (has_nan(rows + p * points_.rows.stride, d_) || search_.left_out(first + p))
                continue;
            // The bound asks for 2 errors. Another half covers the rounding of `low`, and of its
            // sum with the slack.
            const double size = form_ == metric::Gemm::none ? 0
                                : cosine                    ? 1
                                         : std::sqrt(static_cast<double>(squares[p])) + floor_;
            list_.offer(i, value[p], round_up(2.5 * static_cast<double>(error) * size), first + p);
        }
        list_.settle(i);
    }
}

}  // namespace kith::cpu
