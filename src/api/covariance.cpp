// Covariance and its inversion in binary64; see covariance.h.
#include "api/covariance.h"

#include <algorithm>
#include <cmath>

#include "api/estimate.h"
#include "api/host_view.h"
#include "api/validate.h"
#include "exact/cholesky.h"
#include "exact/element.h"
#include "exact/refuse.h"
#include "exact/watched.h"
#include "kith/kith.h"

namespace kith::api {

namespace {

constexpr const char* stage = "prepare";
// Values between two looks at the progress.
constexpr std::int64_t values_per_poll = 1 << 20;

}  // namespace

std::vector<double> given_inverse_covariance(const MatrixView& view, std::int64_t d, int threads,
                                             ProgressMeter& progress) {
    if (view.rows != d || view.cols != d)
        refuse("inverse_covariance: {} x {}; expected {} x {}, the dimensions of the points",
               view.rows, view.cols, d, d);
    check_f64(view, "inverse_covariance");
    std::vector<std::byte> storage;
    const MatrixView v = on_host(view, storage);
    std::vector<double> matrix(static_cast<std::size_t>(d * d));
    double largest = 0;
    const auto look = [&](std::int64_t row) {
        if (row * d % values_per_poll < d) progress.poll(stage);
        progress.throw_if_cancelled();
    };
    for (std::int64_t i = 0; i < d; ++i) {
        for (std::int64_t j = 0; j < d; ++j) {
            const double value = static_cast<const double*>(v.data)[exact::offset(v, i, j)];
            if (!std::isfinite(value))
                refuse("inverse_covariance: row {}, column {} is {}; expected finite values", i, j,
                       value);
            matrix[static_cast<std::size_t>(i * d + j)] = value;
            largest = std::max(largest, std::abs(value));
        }
        look(i);
    }
    for (std::int64_t i = 0; i < d; ++i) {
        for (std::int64_t j = 0; j < i; ++j) {
            const double a = matrix[static_cast<std::size_t>(i * d + j)],
                         b = matrix[static_cast<std::size_t>(j * d + i)];
            if (std::abs(a - b) > 1e-9 * largest)
                refuse(
                    "inverse_covariance: row {}, column {} is {} and row {}, column {} is {}; "
                    "expected a symmetric "
                    "matrix",
                    i, j, a, j, i, b);
        }
        look(i);
    }
    std::vector<double> factor = matrix;
    if (!exact::cholesky(factor, d, threads, progress))
        refuse("inverse_covariance: expected a positive definite matrix");
    return matrix;
}

std::vector<double> estimated_inverse_covariance(const MatrixView& points, int threads,
                                                 ProgressMeter& progress) {
    std::vector<std::byte> storage;
    const MatrixView v = on_host(points, storage);
    const std::int64_t n = v.rows, d = v.cols;
    const auto size = static_cast<std::size_t>(d);
    std::vector<double> mean(size, 0.0), row(size);
    const auto load_row = [&](std::int64_t r, std::vector<double>& into) {
        bool whole = true;
        for (std::int64_t c = 0; c < d; ++c) {
            into[static_cast<std::size_t>(c)] = exact::load(v.data, v.type, exact::offset(v, r, c));
            whole &= std::isfinite(into[static_cast<std::size_t>(c)]);
        }
        return whole;
    };
    std::int64_t count = 0;
    for (std::int64_t r = 0; r < n; ++r) {
        if (r * d % values_per_poll < d) progress.poll(stage);
        progress.throw_if_cancelled();
        if (!load_row(r, row)) continue;
        ++count;
        for (std::size_t c = 0; c < size; ++c) mean[c] += row[c];
    }
    if (count < 2)
        refuse("points: {} finite rows; estimating the inverse covariance expected at least 2",
               count);
    for (double& m : mean) m /= static_cast<double>(count);
    // Blocks of centred rows; each thread owns whole rows of the covariance, so the sums have one
    // order.
    constexpr std::int64_t block = 256;
    std::vector<double> covariance(size * size, 0.0), centred(size * block);
    for (std::int64_t first = 0; first < n; first += block) {
        std::int64_t rows = 0;
        for (std::int64_t r = first; r < std::min(n, first + block); ++r) {
            if (!load_row(r, row)) continue;
            for (std::size_t c = 0; c < size; ++c)
                centred[static_cast<std::size_t>(rows) * size + c] = row[c] - mean[c];
            ++rows;
        }
        watched_for(threads, d, 32, progress, stage, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                double* const out = &covariance[static_cast<std::size_t>(i) * size];
                for (std::int64_t r = 0; r < rows; ++r) {
                    const double* const x = &centred[static_cast<std::size_t>(r) * size];
                    const double xi = x[i];
                    for (std::int64_t j = 0; j <= i; ++j) out[j] += xi * x[j];
                }
            }
        });
        progress.poll(stage);
        progress.throw_if_cancelled();
    }
    for (double& c : covariance) c /= static_cast<double>(count - 1);
    if (!exact::cholesky(covariance, d, threads, progress))
        refuse(
            "points: their covariance is singular ({} rows, {} columns); give inverse_covariance",
            count, d);
    return exact::inverse_from_cholesky(covariance, d, threads, progress);
}

}  // namespace kith::api

namespace kith {

std::vector<double> inverse_covariance(const MatrixView& points, const Options& options) {
    return api::estimate(points, options, api::estimated_inverse_covariance);
}

}  // namespace kith
