// Prepares points: dense row-major storage, and the filter of the plan's path.
#include "cpu/points/points.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cpu/backend.h"
#include "cpu/filter/panels.h"
#include "cpu/metric/kernels.h"
#include "exact/bounds/box_trial.h"
#include "exact/report/watched.h"

namespace kith::cpu {

namespace {

// Most values that a task copies, unless one row is larger.
constexpr std::int64_t copied_values = 1 << 22;

// Transposes rows [first, last) of a column-major matrix with columns `stride` elements apart. It
// copies as many columns at a time as fill a cache line of a row.
template <class T>
void transpose(const T* in, std::int64_t stride, std::int64_t first, std::int64_t last,
               std::int64_t columns, T* out) {
    constexpr std::int64_t line = 64 / sizeof(T);
    for (std::int64_t j = 0; j < columns; j += line) {
        const std::int64_t here = std::min(line, columns - j);
        for (std::int64_t i = first; i < last; ++i) {
            const T* const from = in + j * stride + i;
            T* const to = out + i * columns + j;
            for (std::int64_t c = 0; c < here; ++c) to[c] = from[c * stride];
        }
    }
}

// Dispatches on the element size in bytes.
void transpose(std::int64_t element, const std::byte* in, std::int64_t stride, std::int64_t first,
               std::int64_t last, std::int64_t columns, std::byte* out) {
    const auto as = [&]<class T>(T) {
        transpose(reinterpret_cast<const T*>(in), stride, first, last, columns,
                  reinterpret_cast<T*>(out));
    };
    if (element == 1) as(std::uint8_t{});
    else if (element == 2) as(std::uint16_t{});
    else if (element == 4) as(std::uint32_t{});
    else as(std::uint64_t{});
}

// Dense rows of `m`, in its own element type.
Buffer<std::byte> copy_rows(const MatrixView& m, int threads, ProgressMeter& progress) {
    const auto element = static_cast<std::int64_t>(size_of(m.type));
    Buffer<std::byte> copy(m.rows * m.cols * element);
    const auto* data = static_cast<const std::byte*>(m.data);
    const std::int64_t block = std::clamp<std::int64_t>(copied_values / m.cols, 1, 256);
    watched_for(
        threads, m.rows, block, progress, "prepare", [&](std::int64_t first, std::int64_t last) {
            if (m.layout == Layout::row_major) {
                for (std::int64_t i = first; i < last; ++i)
                    std::memcpy(copy.data() + i * m.cols * element, data + i * m.stride * element,
                                static_cast<std::size_t>(m.cols * element));
                return;
            }
            transpose(element, data, m.stride, first, last, m.cols, copy.data());
        });
    progress.throw_if_cancelled();
    return copy;
}

// Limits for choosing the tree. A tree compares each point in binary64, a filter in f32. Trees win
// only where one column's spread exceeds the others' many times (measured: benchmarks).
constexpr exact::BoxLimits box_limits{.sampled_rows = 512, .most_in_boxes = 1.0 / 48};

bool sample_says_boxes(const Points& points, Isa isa, ProgressMeter& progress) {
    const MatrixView& rows = points.rows;
    const metric::Traits traits = metric_traits(points.metric.id);
    const exact::BoxTrial trial{
        .traits = traits, .d = rows.cols, .n = rows.rows, .leaf = leaf_points, .axes = rows.cols};
    return exact::boxes_pay(trial, box_limits, [&](std::int64_t count) {
        std::vector<double> out;
        for (std::int64_t i = 0; i < count && !progress.cancelled(); ++i) {
            const MappedRows row = map_rows(rows, i * rows.rows / count, 1, points.metric, isa, 1,
                                            progress, "prepare");
            out.insert(out.end(), row.values.data(), row.values.data() + rows.cols);
        }
        progress.throw_if_cancelled();
        return out;
    });
}

}  // namespace

template <class T>
template <class Make>
const T* Points::Lazy<T>::get(const Make& make) {
    const std::shared_ptr<const T>* known = value.load(std::memory_order_acquire);
    if (known) return known->get();
    // No call waits for another's result: the callback may search these points itself, and a
    // waiting call could not be cancelled.
    auto own = std::make_unique<const std::shared_ptr<const T>>(make());
    return (value.compare_exchange_strong(known, own.get()) ? own.release() : known)->get();
}

const Filter* Points::filter(Isa isa, int threads, Rounding rounding, ProgressMeter& progress,
                             bool always, const MatrixView* queries) const {
    return made(isa, rounding).get([&] {
        return Filter::make(rows, metric, isa, threads, rounding, always, progress, queries);
    });
}

Rounding Points::rounding(Path path, const MatrixView& queries, Isa isa) const {
    const Rounding own = rounding_of(path);
    if (!is_coarse(own)) return own;
    std::optional<double> least;
    if (const Filter* const found = known(made(isa, own))) {
        // Rounded rows serve all queries.
        if (!found->whole_rows()) return own;
        least = found->whole_rows()->least();
    } else {
        least = least_whole(rows, metric, isa);
    }
    return !least || whole_from(*least, queries, metric, isa) ? own : with_fractions(own);
}

Path Points::served(Path path, const MatrixView& queries, Isa isa, int threads,
                    ProgressMeter& progress, bool always, bool only) const {
    const MatrixView* const tried = only ? &queries : nullptr;
    const auto serves = [&] {
        return filter(isa, threads, rounding(path, queries, isa), progress, always, tried);
    };
    if (path == Path::projected && !serves()) path = Path::gemm_i8;
    if (path == Path::gemm_i8 && !serves())
        path =
            product_rounding(isa, rows.cols) == Rounding::bf16 ? Path::gemm_bf16 : Path::gemm_f32;
    return path;
}

const Tree* Points::tree(Isa isa, int threads, ProgressMeter& progress) const {
    return tree_.get([&] { return Tree::make(rows, metric, isa, threads, progress); });
}

const Repeats* Points::repeats(int threads, ProgressMeter& progress) const {
    return repeats_.get([&] { return Repeats::count(rows, threads, progress); });
}

const Repeats* Points::likely_repeats(int threads, ProgressMeter& progress) const {
    const bool likely =
        *repeats_likely_.get([&] { return std::make_shared<const bool>(Repeats::likely(rows)); });
    return likely ? repeats(threads, progress) : known_repeats();
}

std::shared_ptr<const Points> prepare(const MatrixView& points, const MetricSpec& metric,
                                      const Plan& plan, bool copy, ProgressMeter& progress) {
    auto prepared = std::make_shared<Points>();
    prepared->metric = metric;
    prepared->metric.params.d = points.cols;
    prepared->rows = points;
    if (copy || points.layout != Layout::row_major) {
        prepared->storage = copy_rows(points, std::max(plan.threads, 1), progress);
        prepared->rows = {prepared->storage.data(), points.rows, points.cols, points.cols,
                          points.type};
    }
    const Isa isa = isa_named(plan.isa);
    const int threads = std::max(plan.threads, 1);
    prepared->boxes_pay = plan.tries_tree && sample_says_boxes(*prepared, isa, progress);
    if (!copy || plan.path == Path::exact) return prepared;
    if (plan.path == Path::tree || prepared->boxes_pay) {
        prepared->tree(isa, threads, progress);
        return prepared;
    }
    // Assumes that queries are distributed as the points are.
    const Path path =
        prepared->served(plan.path, prepared->rows, isa, threads, progress, plan.forced);
    prepared->filter(isa, threads, rounding_of(path), progress, plan.forced);
    return prepared;
}

MatrixView elements(const Points& points) {
    return points.rows;
}

bool boxes_pay(const Points& points) {
    return points.boxes_pay;
}

bool has_tree(const Points& points) {
    return points.known_tree() != nullptr;
}

}  // namespace kith::cpu
