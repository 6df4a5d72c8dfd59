// See magnitudes.h.
#include "api/check/magnitudes.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>

#include "api/data/host_view.h"
#include "cpu/metric/kernels.h"
#include "exact/element.h"
#include "exact/report/watched.h"
#include "exact/wide_key.h"
#include "kith/memory.h"

namespace kith::api {

namespace {

using metric::Root;

// The least number of values per task.
constexpr std::int64_t values_per_task = 1 << 16;
// Range of the largest magnitude of a row within which its sums, and products of two such sums, are
// within binary64's range.
constexpr double least_row = 0x1p-200, largest_row = 0x1p200;
// A double is an integer multiple of at least this share of its magnitude.
constexpr double double_unit = 0x1p-53;

const cpu::MetricKernels* kernels_of(const MetricSpec& metric) {
    if (is_user_metric(metric.id)) return nullptr;
    return &cpu::metric_kernels(metric.id, cpu::Isa::baseline);
}

Extent extent_of_type(ElementType type) {
    switch (type) {
        case ElementType::f32:
            return {{0x1p-149, 0x1p128}, 0x1p-149};
        case ElementType::f16:
            return {{0x1p-24, 0x1p16}, 0x1p-24};
        case ElementType::bf16:
            return {{0x1p-133, 0x1p128}, 0x1p-133};
        case ElementType::i8:
        case ElementType::u8:
            return {{1, 0x1p8}, 1};
        default:
            return {{std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max()},
                    std::numeric_limits<double>::denorm_min()};
    }
}

// Calls work(first, last) for ranges of a view's lines: its rows, or the columns of a column-major
// view.
template <class Work>
void for_lines(const MatrixView& v, int threads, ProgressMeter& progress, const Work& work) {
    const bool by_rows = v.layout == Layout::row_major;
    const std::int64_t lines = by_rows ? v.rows : v.cols, length = by_rows ? v.cols : v.rows;
    watched_for(threads, lines,
                std::max<std::int64_t>(1, values_per_task / std::max<std::int64_t>(length, 1)),
                progress, "prepare", work);
    progress.throw_if_cancelled();
}

Magnitudes measure(const MatrixView& v, int threads, ProgressMeter& progress) {
    if (v.device != host_memory) return gpu::magnitudes(v);
    Magnitudes all;
    std::mutex joining;
    const std::int64_t length = v.layout == Layout::row_major ? v.cols : v.rows;
    for_lines(v, threads, progress, [&](std::int64_t first, std::int64_t last) {
        Magnitudes here;
        exact::with_elements(v.data, v.type, [&](const auto* elements) {
            for (std::int64_t line = first; line < last; ++line)
                for (std::int64_t i = 0; i < length; ++i)
                    here.add(exact::value_of(elements[line * v.stride + i]));
        });
        const std::scoped_lock lock(joining);
        all.join(here);
    });
    return all;
}

// The smallest and largest coordinate of a mapped row in which every coordinate has this magnitude.
Magnitudes mapped(const MetricSpec& metric, double magnitude) {
    const cpu::MetricKernels& kernels = *kernels_of(metric);
    metric::Params params = metric.params;
    if (!kernels.traits.per_coordinate) params.d = 1;  // all coordinates are alike
    std::vector<double> row(static_cast<std::size_t>(params.d), magnitude);
    double aux[metric::max_aux] = {};
    kernels.prepare(row.data(), params.d, 1, aux, params);
    const auto [least, most] = std::minmax_element(row.begin(), row.end());
    return {*least, *most};
}

// The largest magnitude in a row; infinite or NaN if a coordinate is.
double largest_of(const MatrixView& v, std::int64_t row) {
    double largest = 0;
    for (std::int64_t col = 0; col < v.cols; ++col) {
        const double size =
            std::abs(static_cast<const double*>(v.data)[exact::offset(v, row, col)]);
        if (!(size <= largest)) largest = size;
    }
    return largest;
}

bool is_far_out(double largest) {
    return (largest > 0 && largest < least_row) ||
           (largest > largest_row && std::isfinite(largest));
}

}  // namespace

Extent join(const Extent& a, const Extent& b) {
    Extent both{a.magnitudes, std::min(a.unit, b.unit)};
    both.magnitudes.join(b.magnitudes);
    return both;
}

Extent extent_of(const MatrixView& view, const MetricSpec& metric, int threads,
                 ProgressMeter& progress) {
    const Extent type = extent_of_type(view.type);
    if (!key_range(metric, type).is_left()) return type;
    return {measure(view, threads, progress), type.unit};
}

KeyRange key_range(const MetricSpec& metric, const Extent& extent) {
    const cpu::MetricKernels* const kernels = kernels_of(metric);
    if (!kernels || !cpu::has_root(*kernels, metric.params) || extent.magnitudes.most == 0)
        return {};
    const double d = static_cast<double>(metric.params.d),
                 power = kernels->traits.root == Root::square ? 2 : metric.params.p;
    const Magnitudes& plain = extent.magnitudes;
    const double least = kernels->identity_map ? plain.least : mapped(metric, plain.least).least,
                 most = kernels->identity_map ? plain.most : mapped(metric, plain.most).most;
    // The least difference of two unequal coordinates.
    const double unit = kernels->identity_map ? extent.unit : 0;
    double smallest = power * std::log2(std::max(unit, least * double_unit)),
           largest = power * (std::log2(most) + 1) + std::log2(d);
    // Limits of the keys' binary exponents, with a margin. The terms of a key never exceed it.
    double lowest = std::log2(exact::least_key) + 10;
    const double highest = std::log2(exact::end_of_keys) - 10;
    if (kernels->traits.factored) {
        double diagonal = 0;  // holds the largest magnitude of a positive definite matrix
        for (std::int64_t i = 0; i < metric.params.d; ++i)
            diagonal = std::max(diagonal, metric.params.constants[i * metric.params.d + i]);
        smallest += std::log2(diagonal);
        largest += std::log2(diagonal) + std::log2(d);
        // Terms may cancel, down to their roundings.
        lowest += 150;
    }
    return {!(smallest >= lowest), !(largest <= highest)};
}

MatrixView scaled_rows(const MatrixView& view, const MetricSpec& metric, int threads,
                       ProgressMeter& progress, std::vector<double>& storage) {
    const cpu::MetricKernels* const kernels = kernels_of(metric);
    if (!kernels || !kernels->traits.scale_free || view.type != ElementType::f64) return view;
    const Magnitudes all = measure(view, threads, progress);
    if (all.most <= largest_row && all.least >= least_row) return view;
    std::vector<std::byte> host_storage;
    const MatrixView host = on_host(view, host_storage);
    const std::int64_t rows_per_task = std::max<std::int64_t>(1, values_per_task / view.cols);
    std::atomic<bool> some = false;
    watched_for(threads, view.rows, rows_per_task, progress, "prepare",
                [&](std::int64_t first, std::int64_t last) {
                    for (std::int64_t row = first; row < last && !some; ++row)
                        if (is_far_out(largest_of(host, row))) some = true;
                });
    progress.throw_if_cancelled();
    if (!some) return view;
    require_memory(view.rows * view.cols * 8, "rows to be scaled: a copy in host memory");
    storage.resize(static_cast<std::size_t>(view.rows * view.cols));
    watched_for(
        threads, view.rows, rows_per_task, progress, "prepare",
        [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t row = first; row < last; ++row) {
                const double largest = largest_of(host, row);
                const int exponent = is_far_out(largest) ? -std::ilogb(largest) : 0;
                for (std::int64_t col = 0; col < view.cols; ++col)
                    storage[static_cast<std::size_t>(row * view.cols + col)] = std::ldexp(
                        static_cast<const double*>(host.data)[exact::offset(host, row, col)],
                        exponent);
            }
        });
    progress.throw_if_cancelled();
    return kith::view(storage.data(), view.rows, view.cols);
}

}  // namespace kith::api
