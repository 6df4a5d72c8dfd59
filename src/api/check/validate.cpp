// Checks views, k, metrics and values; see validate.h.
#include "api/check/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "api/data/covariance.h"
#include "api/data/host_view.h"
#include "api/data/variances.h"
#include "cpu/metric/kernels.h"
#include "exact/element.h"
#include "exact/refuse.h"
#include "exact/report/watched.h"
#include "formula/program.h"
#include "gpu/backend.h"
#include "kith/functor.h"

namespace kith::api {

namespace {

// The least number of values per task.
constexpr std::int64_t values_per_task = 1 << 16;

void set_constants(MetricSpec& spec, std::vector<double> constants) {
    spec.constants = std::make_shared<const std::vector<double>>(std::move(constants));
    spec.params.constants = spec.constants->data();
}

// "hamming, ...": the metrics with Traits::packed_bits.
std::string metrics_of_bits() {
    std::string names;
    for (int id = 0; id < static_cast<int>(MetricId::formula); ++id) {
        const auto metric = static_cast<MetricId>(id);
        if (!traits_of(metric).packed_bits) continue;
        names += fmt::format("{}{}", names.empty() ? "" : ", ", name(metric));
    }
    return names;
}

std::string limit_text(const metric::Limit& limit) {
    return fmt::format("a {} within {:.8g} radians of 0", limit.what, limit.largest);
}

MatrixView row_of(MatrixView v, std::int64_t row) {
    const std::int64_t stride = v.layout == Layout::row_major ? v.stride : 1;
    v.data = static_cast<const char*>(v.data) +
             row * stride * static_cast<std::int64_t>(size_of(v.type));
    v.rows = 1;
    return v;
}

// The first row of a host matrix with a value that the metric does not admit, or the number of
// rows.
std::int64_t first_outside(const MatrixView& v, const metric::Traits& traits, int threads,
                           ProgressMeter& progress) {
    std::atomic<std::int64_t> first{v.rows};
    const std::int64_t rows_per_task = std::max<std::int64_t>(1, values_per_task / v.cols);
    watched_for(
        threads, v.rows, rows_per_task, progress, "prepare",
        [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin; row < end && row < first.load(std::memory_order_relaxed);
                 ++row) {
                for (std::int64_t col = 0; col < v.cols; ++col) {
                    if (traits.admits(col, exact::load(v.data, v.type, exact::offset(v, row, col))))
                        continue;
                    std::int64_t seen = first.load();
                    while (row < seen && !first.compare_exchange_weak(seen, row)) {
                    }
                    break;
                }
            }
        });
    progress.throw_if_cancelled();
    return first;
}

}  // namespace

void check_searchable(ElementType type, const char* what) {
    if (static_cast<int>(type) > static_cast<int>(ElementType::u8))
        refuse("{}: element type {} cannot be searched; expected f32, f64, f16, bf16, i8 or u8",
               what, name(type));
}

bool pass_64_bits(std::int64_t rows, std::int64_t cols, std::int64_t stride, std::size_t element) {
    std::int64_t elements = 0, bytes = 0;
    return __builtin_mul_overflow(rows - 1, stride, &elements) ||
           __builtin_add_overflow(elements, cols, &elements) ||
           __builtin_mul_overflow(elements, static_cast<std::int64_t>(element), &bytes);
}

bool is_given(const MatrixView& v, const char* what) {
    if (!v.data && v.rows != 0 && v.cols != 0)
        refuse("{}: data is null; expected {} x {} elements", what, v.rows, v.cols);
    return v.data != nullptr;
}

void check_view(const MatrixView& v, const char* what, std::int64_t least_rows) {
    if (v.rows < least_rows) refuse("{}: {} rows; expected at least {}", what, v.rows, least_rows);
    if (v.cols < 1) refuse("{}: {} columns; expected at least 1", what, v.cols);
    if (v.data == nullptr && v.rows > 0)
        refuse("{}: data is null; expected {} x {} elements", what, v.rows, v.cols);
    check_searchable(v.type, what);
    const bool row_major = v.layout == Layout::row_major;
    const std::int64_t inner = row_major ? v.cols : v.rows, outer = row_major ? v.rows : v.cols;
    if (v.stride < inner)
        refuse("{}: stride {}; expected at least the {} {} of the view", what, v.stride, inner,
               row_major ? "columns" : "rows");
    if (v.rows > 0 && pass_64_bits(outer, inner, v.stride, size_of(v.type)))
        refuse("{}: {} x {} elements, {} apart, pass 2^63 bytes", what, v.rows, v.cols, v.stride);
    check_device(v.device, what);
    if (!v.data) return;
    const int lies = gpu::location(v.data);
    if (lies != host_memory && lies != v.device)
        refuse("{}: device {}; the data lie on cuda:{}", what, v.device, lies);
}

void check_f64(const MatrixView& v, const char* what, std::int64_t least_rows) {
    check_view(v, what, least_rows);
    if (v.type != ElementType::f64) refuse("{}: elements are {}; expected f64", what, name(v.type));
}

void check_device(int device, const char* what) {
    if (device == host_memory) return;
    const int count = gpu::device_count();
    if (device >= 0 && device < count) return;
    if (count == 0)
        refuse("{}: device {}; expected host memory (-1): this machine has no usable GPU ({})",
               what, device, gpu::absence());
    refuse("{}: device {}; expected host memory (-1) or a CUDA ordinal below {}", what, device,
           count);
}

void check_dimensions(std::int64_t points, std::int64_t queries) {
    if (points != queries)
        refuse("queries: {} columns; expected {}, as the points have", queries, points);
}

void check_shard(const MatrixView& shard, std::int64_t first_point, const MatrixView& queries,
                 const Metric& metric) {
    check_view(shard, "shard", 0);
    check_view(queries, "queries", 0);
    check_dimensions(shard.cols, queries.cols);
    if (first_point < 0 || first_point > std::numeric_limits<std::int64_t>::max() - shard.rows)
        refuse("first_point: {}; expected ids of at least 0 and below 2^63", first_point);
    for (const MatrixView* view : {&shard, &queries})
        if (view->device != host_memory)
            refuse("device: cuda:{}; expected a shard in host memory", view->device);
    if (metric.id == MetricId::mahalanobis && !metric.inverse_covariance.data)
        refuse("inverse_covariance: none; expected that of all points: a shard has another");
    if (metric.id == MetricId::seuclidean && !metric.variances.data)
        refuse("variances: none; expected those of all points: a shard has others");
}

void check_k(std::int64_t k, std::int64_t rows) {
    if (k < 1) refuse("k: {}; expected at least 1", k);
    std::int64_t cells = 0;
    if (__builtin_mul_overflow(k, rows, &cells) ||
        cells > std::numeric_limits<std::int64_t>::max() / 16)
        refuse("k: {} for {} queries: the result passes 2^63 bytes", k, rows);
}

void check_out(const NeighborsView& out, std::int64_t rows) {
    if (!out.ids && rows > 0) refuse("out.ids: null; expected room for queries x k ids");
    check_device(out.device, "out");
}

void check_selection(const MatrixView& m, std::int64_t k) {
    if (m.type != ElementType::f32 && m.type != ElementType::f64 && m.type != ElementType::f16 &&
        m.type != ElementType::bf16)
        refuse("distances: element type {}; expected f32, f64, f16 or bf16", name(m.type));
    if (k < 0) refuse("k: {}; expected at least 0", k);
    if (k > 0) check_k(k, m.rows);
    if (k > m.cols) refuse("k: {}; expected at most the {} columns", k, m.cols);
}

void check_lengths(const MatrixView& lengths, const MatrixView& m) {
    if (!is_given(lengths, "lengths")) return;
    const bool column = lengths.cols == 1 && lengths.rows == m.rows,
               row = lengths.rows == 1 && lengths.cols == m.rows;
    const bool narrow = lengths.type == ElementType::i32;
    if (!(narrow || lengths.type == ElementType::i64) || !(column || row))
        refuse("lengths: {} x {} of {}; expected {} x 1 of i64 or i32", lengths.rows, lengths.cols,
               name(lengths.type), m.rows);
    const std::int64_t step = (lengths.layout == Layout::row_major) == column ? lengths.stride : 1;
    if (step != 1 && m.rows > 1)
        refuse("lengths: stride {}; expected them side by side", lengths.stride);
    check_device(lengths.device, "lengths");
    const int lies = gpu::location(lengths.data);
    if (lies != host_memory && lies != lengths.device)
        refuse("lengths: device {}; the data lie on cuda:{}", lengths.device, lies);
    if (lengths.device != host_memory) return;
    for (std::int64_t i = 0; i < m.rows; ++i) {
        const std::int64_t value = narrow ? static_cast<const std::int32_t*>(lengths.data)[i]
                                          : static_cast<const std::int64_t*>(lengths.data)[i];
        if (value < 0 || value > m.cols)
            refuse("lengths: {} in row {}; expected 0 to the {} columns", value, i, m.cols);
    }
}

metric::Traits traits_of(MetricId id) {
    return cpu::metric_traits(id);
}

MetricId computed_metric(const Metric& m) {
    if (m.id != MetricId::minkowski) return m.id;
    if (!(m.p >= 1.0)) refuse("p: {}; expected at least 1", m.p);
    return std::isinf(m.p) ? MetricId::chebyshev : m.id;
}

void check_parameters(const Metric& m, ElementType type) {
    if (m.id > MetricId::functor) refuse("metric: id {} is unknown", static_cast<int>(m.id));
    if (m.id == MetricId::functor && !m.functor)
        refuse("functor: null; expected the result of functor_metric()");
    if (m.packed_bits) {
        if (!traits_of(m.id).packed_bits)
            refuse("packed_bits: serves {}, not {}", metrics_of_bits(), name(m.id));
        if (type != ElementType::u8)
            refuse("packed_bits: elements are {}; expected u8", name(type));
    }
    const auto only = [&m](bool given, const char* what, MetricId wanted) {
        if (given && m.id != wanted)
            refuse("{}: serves {}, not {}", what, name(wanted), name(m.id));
    };
    only(m.p != Metric{}.p, "p", MetricId::minkowski);
    only(is_given(m.inverse_covariance, "inverse_covariance"), "inverse_covariance",
         MetricId::mahalanobis);
    only(is_given(m.variances, "variances"), "variances", MetricId::seuclidean);
    only(m.start != 0, "start", MetricId::formula);
    if (!is_named(m)) {  // giving them implies these metrics
        only(!m.formula.empty(), "formula", MetricId::formula);
        only(m.functor != nullptr, "functor", MetricId::functor);
    }
}

MetricSpec validate_metric(const Metric& m, const MatrixView& points, int threads,
                           ProgressMeter& progress) {
    check_parameters(m, points.type);
    MetricSpec spec;
    spec.id = m.id;
    spec.params.d = points.cols;
    spec.params.p = m.p;
    spec.params.packed_bits = m.packed_bits;
    const metric::Traits traits = traits_of(m.id);
    if (traits.dimensions && points.cols != traits.dimensions)
        refuse("points: {} columns; {} expected {}", points.cols, name(m.id), traits.dimensions);
    // Without points there is nothing to estimate from, and no distance to compute.
    const auto without = [&](const MatrixView& parameter) {
        return !parameter.data && points.rows == 0;
    };
    switch (m.id) {
        case MetricId::minkowski:
            spec.id = computed_metric(m);
            break;
        case MetricId::mahalanobis:
            set_constants(spec, without(m.inverse_covariance) ? std::vector<double>{}
                                : m.inverse_covariance.data
                                    ? given_inverse_covariance(m.inverse_covariance, points.cols,
                                                               threads, progress)
                                    : estimated_inverse_covariance(points, threads, progress));
            break;
        case MetricId::seuclidean:
            set_constants(spec,
                          without(m.variances)
                              ? std::vector<double>{}
                              : deviations(m.variances.data
                                               ? given_variances(m.variances, points.cols)
                                               : estimated_variances(points, threads, progress)));
            break;
        case MetricId::haversine:
            set_constants(spec, {1.0, 0.0});
            break;
        case MetricId::formula:
            spec.formula = formula::compile(m.formula);
            spec.start = m.start;
            break;
        case MetricId::functor:
            if (!m.functor->host)
                refuse("functor: no host function; expected the result of functor_metric()");
            spec.functor = m.functor;
            spec.start = m.functor->start;
            break;
        default:
            break;
    }
    return spec;
}

void check_values(const MatrixView& view, const MetricSpec& metric, const char* what, int threads,
                  ProgressMeter& progress, std::int64_t first_row) {
    if (metric.params.packed_bits && view.type != ElementType::u8)
        refuse("packed_bits: elements of {} are {}; expected u8", what, name(view.type));
    const metric::Traits traits = traits_of(metric.id);
    if (view.rows == 0 || !traits.limited() ||
        (traits.non_negative && view.type == ElementType::u8))
        return;
    const std::int64_t row = view.device == host_memory
                                 ? first_outside(view, traits, threads, progress)
                                 : gpu::first_outside(view, traits);
    if (row == view.rows) return;
    std::vector<std::byte> storage;
    const MatrixView v = on_host(row_of(view, row), storage);
    for (std::int64_t col = 0; col < v.cols; ++col) {
        const double value = exact::load(v.data, v.type, exact::offset(v, 0, col));
        if (traits.admits(col, value)) continue;
        const std::string expected =
            traits.non_negative ? "values of at least 0" : limit_text(traits.limits[col]);
        refuse("{}: row {}, column {} is {}; {} expected {}", what, first_row + row, col, value,
               name(metric.id), expected);
    }
}

}  // namespace kith::api
