// The only place that validates input: views, k, metrics and values, or an Error that names the
// argument.
#pragma once

#include "exact/metric_spec.h"
#include "exact/progress.h"
#include "kith/types.h"

namespace kith::api {

// Throws invalid_argument, naming `what`, of elements that cannot be searched.
void check_searchable(ElementType type, const char* what);

// Checks one view: data, sizes, stride, element type, overflow. `what` names the argument in
// messages. Where it may have no rows, none of its data is looked at then.
void check_view(const MatrixView& view, const char* what, std::int64_t least_rows = 1);

// Whether the last byte of so many rows, at least one, is beyond 63 bits.
bool pass_64_bits(std::int64_t rows, std::int64_t cols, std::int64_t stride, std::size_t element);

// Whether a matrix that may be left out is there. Refuses one of a shape without data, which would
// count as left out.
bool is_given(const MatrixView& view, const char* what);

// Checks one view of a metric's parameter: as above, and that its elements are f64.
void check_f64(const MatrixView& view, const char* what, std::int64_t least_rows = 1);

// Checks that queries have the dimensions of the points.
void check_dimensions(std::int64_t points, std::int64_t queries);

// Refuses a `device` that is neither host memory nor a GPU of this machine; `what` names the field
// in messages.
void check_device(int device, const char* what);

// Checks a shard of the points, whose first row has that id, the queries that are looked for in it,
// and that the metric needs no other points.
void check_shard(const MatrixView& shard, std::int64_t first_point, const MatrixView& queries,
                 const Metric& metric);

// Checks k against nothing but sense: k >= 1, q * k addressable.
void check_k(std::int64_t k, std::int64_t rows);

// Checks that a result of so many rows has ids, and lies on a device that is there.
void check_out(const NeighborsView& out, std::int64_t rows);

// What select() asks of a matrix' type and sizes, and of k; does not look at its data.
void check_selection(const MatrixView& matrix, std::int64_t k);
// Of the rows of that matrix; those on a device are not read.
void check_lengths(const MatrixView& lengths, const MatrixView& matrix);

// Whether a caller named the metric: it was assigned, or has another id than one that was left
// alone.
inline bool is_named(const Metric& metric) {
    return metric.chosen || metric.id != Metric{}.id;
}

// What a metric is computed as: minkowski of an infinite exponent as chebyshev. Refuses exponents
// below 1.
MetricId computed_metric(const Metric& metric);

// A metric's traits. A formula and a functor have none.
metric::Traits traits_of(MetricId id);

// Refuses metrics that there are not, what describes another one and would be left unread, and
// packed bits of other elements than u8.
void check_parameters(const Metric& metric, ElementType type);

// A complete metric for these points (mahalanobis may be estimated from them). Reads the points
// only for that. Polls `progress` and throws where it is cancelled, as do the others that take one.
MetricSpec validate_metric(const Metric& metric, const MatrixView& points, int threads,
                           ProgressMeter& progress);

// Refuses coordinates that the metric has no meaning for, naming row, counted from `first_row`, and
// column.
void check_values(const MatrixView& view, const MetricSpec& metric, const char* what, int threads,
                  ProgressMeter& progress, std::int64_t first_row = 0);

}  // namespace kith::api
