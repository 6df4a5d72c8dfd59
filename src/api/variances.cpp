// Variances in binary64; see variances.h.
#include "api/variances.h"

#include <algorithm>
#include <cmath>

#include "api/estimate.h"
#include "api/host_view.h"
#include "api/validate.h"
#include "exact/element.h"
#include "exact/refuse.h"
#include "exact/watched.h"
#include "kith/kith.h"

namespace kith::api {

namespace {

constexpr const char* stage = "prepare";
constexpr std::int64_t rows_per_look = 1 << 12;
// Columns that a task sums: each sum has the order of the rows, for any number of threads.
constexpr std::int64_t columns_per_task = 16;

// For each row, whether all its coordinates are finite.
std::vector<std::uint8_t> finite_rows(const MatrixView& v, int threads, ProgressMeter& progress) {
    std::vector<std::uint8_t> finite(static_cast<std::size_t>(v.rows));
    const std::int64_t rows = std::clamp<std::int64_t>((1 << 16) / v.cols, 1, rows_per_look);
    watched_for(threads, v.rows, rows, progress, stage, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t r = first; r < last; ++r) {
            bool all = true;
            for (std::int64_t c = 0; c < v.cols; ++c)
                all &= std::isfinite(exact::load(v.data, v.type, exact::offset(v, r, c)));
            finite[static_cast<std::size_t>(r)] = all;
        }
    });
    progress.throw_if_cancelled();
    return finite;
}

// Calls use(column, value) for each value of the rows that are `finite`: those of a column in
// order, on one thread.
template <class Use>
void each_value(const MatrixView& v, const std::vector<std::uint8_t>& finite, int threads,
                ProgressMeter& progress, const Use& use) {
    const std::int64_t tasks = (v.cols + columns_per_task - 1) / columns_per_task;
    watched_tasks(threads, tasks, progress, stage, [&](std::int64_t task, int worker) {
        const std::int64_t first = task * columns_per_task,
                           last = std::min(v.cols, first + columns_per_task);
        for (std::int64_t r = 0; r < v.rows; ++r) {
            if (r % rows_per_look == 0) {
                if (worker == 0) progress.poll(stage);
                if (progress.cancelled()) return;
            }
            if (!finite[static_cast<std::size_t>(r)]) continue;
            for (std::int64_t c = first; c < last; ++c)
                use(static_cast<std::size_t>(c),
                    exact::load(v.data, v.type, exact::offset(v, r, c)));
        }
    });
    progress.throw_if_cancelled();
}

}  // namespace

std::vector<double> given_variances(const MatrixView& view, std::int64_t d) {
    if (!(view.rows == d && view.cols == 1) && !(view.rows == 1 && view.cols == d))
        refuse("variances: {} x {}; expected {}, one for each column of the points", view.rows,
               view.cols, d);
    check_f64(view, "variances");
    std::vector<std::byte> storage;
    const MatrixView v = on_host(view, storage);
    std::vector<double> variances;
    for (std::int64_t i = 0; i < d; ++i) {
        const std::int64_t at = v.rows == d ? exact::offset(v, i, 0) : exact::offset(v, 0, i);
        variances.push_back(static_cast<const double*>(v.data)[at]);
        if (!(variances.back() > 0.0) || std::isinf(variances.back()))
            refuse("variances: number {} is {}; expected finite values above 0", i,
                   variances.back());
    }
    return variances;
}

std::vector<double> estimated_variances(const MatrixView& points, int threads,
                                        ProgressMeter& progress) {
    std::vector<std::byte> storage;
    const MatrixView v = on_host(points, storage);
    const auto d = static_cast<std::size_t>(v.cols);
    const std::vector<std::uint8_t> finite = finite_rows(v, threads, progress);
    const auto count = std::count(finite.begin(), finite.end(), std::uint8_t{1});
    if (count < 2)
        refuse("points: {} finite rows; estimating the variances expected at least 2", count);
    const auto first = std::find(finite.begin(), finite.end(), std::uint8_t{1}) - finite.begin();
    std::vector<double> value(d), mean(d, 0.0), variances(d, 0.0);
    for (std::size_t c = 0; c < d; ++c)
        value[c] =
            exact::load(v.data, v.type, exact::offset(v, first, static_cast<std::int64_t>(c)));
    // The mean of equal values can be off by a rounding, which would give them a variance.
    std::vector<std::uint8_t> varies(d, 0);
    each_value(v, finite, threads, progress, [&](std::size_t c, double x) {
        mean[c] += x;
        varies[c] |= static_cast<std::uint8_t>(x != value[c]);
    });
    for (double& m : mean) m /= static_cast<double>(count);
    each_value(v, finite, threads, progress,
               [&](std::size_t c, double x) { variances[c] += (x - mean[c]) * (x - mean[c]); });
    for (std::size_t c = 0; c < d; ++c) {
        variances[c] = varies[c] ? variances[c] / static_cast<double>(count - 1) : 0.0;
        // A subnormal one has lost most of its bits.
        if (!std::isnormal(variances[c]))
            refuse(
                "points: column {} has variance {}; seuclidean expected a normal number above 0, "
                "give variances",
                c, variances[c]);
    }
    return variances;
}

std::vector<double> deviations(std::vector<double> variances) {
    for (double& v : variances) v = std::sqrt(v);
    return variances;
}

}  // namespace kith::api

namespace kith {

std::vector<double> variances(const MatrixView& points, const Options& options) {
    return api::estimate(points, options, api::estimated_variances);
}

}  // namespace kith
