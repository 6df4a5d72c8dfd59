// Distance keys of any metric, built-in or the user's own, for one thread.
#include "cpu/metric/distance_keys.h"

#include "exact/canonical.h"
#include "exact/wide_key.h"
#include "kith/functor.h"

namespace kith::cpu {

RowBlock::RowBlock(std::int64_t capacity, std::int64_t d)
    : capacity_(capacity),
      d_(d),
      stride_((d + 7) / 8 * 8),
      rows_(capacity * stride_),
      aux_(capacity * metric::max_aux),
      nan_(capacity) {}

double* RowBlock::columns() {
    if (columns_.size() == 0) columns_ = Buffer<double>(Formula::columns(capacity_) * d_);
    return columns_.data();
}

DistanceKeys::DistanceKeys(const MetricSpec& metric, Isa isa)
    : metric_(metric), rows_(row_kernels(isa)) {
    if (metric.id == MetricId::formula)
        formula_ = std::make_unique<Formula>(metric.formula, metric.start, isa);
    else if (metric.id != MetricId::functor) kernels_ = &metric_kernels(metric.id, isa);
}

void DistanceKeys::load(const MatrixView& m, std::int64_t first, std::int64_t count,
                        RowBlock& block, std::int64_t at) const {
    widen_view(rows_, m, first, count, block.row(at), block.stride(), block.nan() + at);
    if (kernels_)
        kernels_->prepare(block.row(at), block.stride(), count, block.aux(at), metric_.params);
}

void DistanceKeys::load_numbered(const MatrixView& m, const std::int64_t* numbers,
                                 std::int64_t count, RowBlock& block) const {
    for (std::int64_t i = 0, run = 1; i < count; i += run) {
        for (run = 1; i + run < count && numbers[i + run] == numbers[i] + run;) ++run;
        load(m, numbers[i], run, block, i);
    }
}

void DistanceKeys::load_points(const MatrixView& m, std::int64_t first, std::int64_t count,
                               RowBlock& block) const {
    load(m, first, count, block);
    if (formula_)
        formula_->transpose(block.row(0), block.stride(), count, metric_.params.d, block.columns());
}

void DistanceKeys::compute(const RowBlock& queries, std::int64_t i, RowBlock& points,
                           std::int64_t count, double* out) {
    const double* q = queries.row(i);
    if (kernels_) {
        kernels_->ranks(q, queries.aux(i), points.row(0), points.stride(), points.aux(0), count,
                        metric_.params, out);
        if (metric_.wide && has_root(*kernels_, metric_.params)) widen(q, points, count, out);
        return;
    }
    const std::int64_t d = metric_.params.d;
    if (formula_) {
        formula_->distances(q, points.columns(), count, d, out);
    } else {
        metric_.functor->host(metric_.functor->state, q, points.row(0), points.stride(), count, d,
                              metric_.start, out);
    }
    for (std::int64_t j = 0; j < count; ++j) out[j] = exact::ordered_rank(out[j]);
}

void DistanceKeys::widen(const double* q, const RowBlock& points, std::int64_t count,
                         double* keys) {
    for (std::int64_t j = 0; j < count; ++j) {
        if (exact::in_range(keys[j])) continue;
        scratch_.resize(static_cast<std::size_t>(3 * metric_.params.d));
        keys[j] = exact::wide_key(
            keys[j], kernels_->scaled(q, points.row(j), metric_.params, scratch_.data()));
    }
}

}  // namespace kith::cpu
