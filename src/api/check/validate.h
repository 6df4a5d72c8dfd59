// The only place that validates input: views, k, metrics and values, or an Error that names the
// argument.
#pragma once

#include "exact/metric_spec.h"
#include "exact/report/progress.h"
#include "kith/types.h"

namespace kith::api {

// Throws invalid_argument, naming `what`, for element types that cannot be searched.
void check_searchable(ElementType type, const char* what);

// Checks one view: data, sizes, stride, element type, overflow. `what` names the argument in
// messages. If it has no rows, and may have none, its data is not checked.
void check_view(const MatrixView& view, const char* what, std::int64_t least_rows = 1);

// True if the last byte of this many rows, at least one, has an offset beyond 63 bits.
bool pass_64_bits(std::int64_t rows, std::int64_t cols, std::int64_t stride, std::size_t element);

// True if an optional matrix is given. Rejects one with a shape but no data, which would count as
// left out.
bool is_given(const MatrixView& view, const char* what);

// Checks a view of a metric's parameter: see check_view(), and its elements must be f64.
void check_f64(const MatrixView& view, const char* what, std::int64_t least_rows = 1);

// Checks that queries have the points' dimension.
void check_dimensions(std::int64_t points, std::int64_t queries);

// Rejects a `device` that is neither host memory nor a GPU of this machine; `what` names the field
// in messages.
void check_device(int device, const char* what);

// Checks a shard of the points, with the id of its first row, and its queries. Rejects metrics that
// need other points.
void check_shard(const MatrixView& shard, std::int64_t first_point, const MatrixView& queries,
                 const Metric& metric);

// Checks that k >= 1 and that q * k is addressable.
void check_k(std::int64_t k, std::int64_t rows);

// Checks that a result of `rows` rows has ids, and is on an existing device.
void check_out(const NeighborsView& out, std::int64_t rows);

// Checks the type and sizes of select()'s matrix, and k; does not read its data.
void check_selection(const MatrixView& matrix, std::int64_t k);
// Checks the lengths of that matrix' rows; lengths on a device are not read.
void check_lengths(const MatrixView& lengths, const MatrixView& matrix);

// True if the caller named the metric: assigned it, or changed its id.
inline bool is_named(const Metric& metric) {
    return metric.chosen || metric.id != Metric{}.id;
}

// The metric to compute: minkowski with an infinite exponent becomes chebyshev. Rejects exponents
// below 1.
MetricId computed_metric(const Metric& metric);

// A metric's traits. Formulas and functors have none.
metric::Traits traits_of(MetricId id);

// Rejects unknown metrics, parameters of other metrics, which would be ignored, and packed bits of
// elements other than u8.
void check_parameters(const Metric& metric, ElementType type);

// Completes a metric for these points; it reads them only to estimate a parameter (mahalanobis,
// seuclidean). Polls `progress` and throws when it is cancelled, as do the other functions that
// take one.
MetricSpec validate_metric(const Metric& metric, const MatrixView& points, int threads,
                           ProgressMeter& progress);

// Rejects coordinates that are invalid for the metric, naming the row, counted from `first_row`,
// and the column.
void check_values(const MatrixView& view, const MetricSpec& metric, const char* what, int threads,
                  ProgressMeter& progress, std::int64_t first_row = 0);

}  // namespace kith::api
