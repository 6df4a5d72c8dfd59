// What becomes of a row before it is rounded.
#include "cpu/filter/row_form.h"

#include <algorithm>
#include <cmath>

#include "metric/portable.h"

namespace kith::cpu {

namespace {

// That centre and scale are chosen by.
constexpr std::int64_t sampled_rows = 512;
// Of dot a centre is worth its error where it makes points this much shorter.
constexpr double largest_dot_share = 0.7;
// Norms of points less their centre, in proportion to that of the centre, that a scale is chosen
// for: a query of the centre's norm is still covered.
constexpr double least_spread = 0x1p-20;
// After a factor. The weight that splits a product of a difference and its error; the largest |W (x
// - c)|^2 of covered rows.
constexpr double factor_split = 0x1p-20, largest_factored = 1e280;

double norm_of(const double* v, const double* centre, std::int64_t d) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = 0; j < d; ++j) sum += (v[j] - centre[j]) * (v[j] - centre[j]);
    return std::sqrt(sum);
}

// Of those that are not 0, where there are any: rows of zeros say nothing of the others.
double median(std::vector<double> values) {
    if (const auto zeros = std::count(values.begin(), values.end(), 0.0);
        zeros < std::ssize(values))
        std::erase(values, 0.0);
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// 2^e, clamped so that its square stays well within binary64.
double power_of_two(double e) {
    return std::ldexp(1.0, static_cast<int>(std::clamp(e, -400.0, 400.0)));
}

}  // namespace

// The centre and the scale come from a sample, less its far outliers. Neither affects the answer,
// only how tight the bound is. The centre is coarse, so that data of few bits keep coordinates that
// f32 holds exactly.
bool RowForm::choose_centre(const MatrixView& points, const DistanceKeys& distance_keys,
                            const TileKernels& tiles, bool centre_dot) {
    const std::int64_t n = points.rows, looked_at = std::min(n, sampled_rows);
    RowBlock rows(looked_at, d);
    std::int64_t sample = 0;
    for (std::int64_t i = 0; i < looked_at; ++i) {
        distance_keys.load(points, i * n / looked_at, 1, rows, sample);
        // Rows with a NaN, and of unit vectors those of zeros, say nothing.
        if (rows.nan()[sample]) continue;
        double norm = 1;
        if (metric == metric::Gemm::cosine) make_unit(rows.row(sample), norm);
        sample += norm > 0;
    }
    centre = zero;
    if (sample == 0) return true;
    if (metric == metric::Gemm::cross_entropy) {
        for (std::int64_t j = 0; j < d; ++j) {
            double sum = 0, count = 0;
            for (std::int64_t i = 0; i < sample; ++i) {
                const double x = rows.row(i)[j];
                if (!(x >= smallest_quotient && x <= largest_quotient)) continue;
                sum += portable::log(x);
                count += 1;
            }
            if (count > 0) centre[static_cast<std::size_t>(j)] = sum / count;
        }
    }
    std::vector<std::int64_t> zeros;
    for (std::int64_t i = 0; i < sample; ++i) {
        if (metric == metric::Gemm::cross_entropy) make_logarithms(tiles, rows.row(i), zeros);
    }
    const auto norms = [&](const std::vector<double>& from) {
        std::vector<double> all(static_cast<std::size_t>(sample));
        for (std::int64_t i = 0; i < sample; ++i) {
            const double norm = norm_of(rows.row(i), from.data(), d);
            all[static_cast<std::size_t>(i)] =
                norm < max_norm ? norm : std::numeric_limits<double>::infinity();
        }
        return all;
    };
    std::vector<double> size = norms(centre);
    double typical = median(size);
    if (!(typical < max_norm)) return false;
    const bool dot = metric == metric::Gemm::dot;
    if (!dot || centre_dot) {
        const double uncentred = typical;
        // Rows of zeros among others around a mean are as short as these at first, and far from the
        // mean.
        for (int pass = 0; pass < 3; ++pass) {
            std::vector<double> mean(static_cast<std::size_t>(d), 0.0);
            double count = 0;
            for (std::int64_t i = 0; i < sample; ++i) {
                if (!(size[static_cast<std::size_t>(i)] <= 4 * typical)) continue;
                const double* row = rows.row(i);
                for (std::int64_t j = 0; j < d; ++j) mean[static_cast<std::size_t>(j)] += row[j];
                count += 1;
            }
            for (double& m : mean) m /= count;
            centre = mean;
            size = norms(centre);
            typical = median(size);
        }
        if (typical > 0 && !factored()) {
            const double grid = power_of_two(
                std::floor(std::log2(typical / std::sqrt(static_cast<double>(d)))) - 2);
            for (double& m : centre) m = std::nearbyint(m / grid) * grid;
        }
        for (std::int64_t i = 0; factored() && i < sample; ++i) make_factored(tiles, rows.row(i));
        size = norms(factored() ? zero : centre);
        typical = median(size);
        if (dot && typical > largest_dot_share * uncentred) {
            centre = zero;
            size = norms(zero);
            typical = uncentred;
        }
    }
    // Where the points are nearly all equal, queries and other points are not.
    if (!factored())
        typical = std::max(typical, least_spread * norm_of(centre.data(), zero.data(), d));
    if (typical > 0) scale = power_of_two(-std::floor(std::log2(typical)));
    return true;
}

bool RowForm::make_unit(double* row, double& norm) const {
    norm = norm_of(row, zero.data(), d);
    const double factor_of_unit = norm == 0 ? 0 : 1 / norm;
    for (std::int64_t j = 0; j < d; ++j) row[j] *= factor_of_unit;
    return norm == 0 || (norm >= min_norm && norm <= max_norm);
}

// Coordinates that are 0 have the centre's logarithm, and their places.
bool RowForm::make_logarithms(const TileKernels& tiles, double* row,
                              std::vector<std::int64_t>& zeros) const {
    bool covered = true;
    zeros.clear();
    for (std::int64_t j = 0; j < d; ++j) {
        if (row[j] == 0) zeros.push_back(j);
        covered &= row[j] == 0 || (row[j] >= smallest_quotient && row[j] <= largest_quotient);
    }
    tiles.logarithms(row, d);
    for (const std::int64_t j : zeros) row[j] = centre[static_cast<std::size_t>(j)];
    return covered;
}

double RowForm::make_factored(const TileKernels& tiles, double* row) const {
    std::vector<double> y(static_cast<std::size_t>(d));
    const double* const weights = factor.values.data() + d * d;
    double size2 = 0;
    for (std::int64_t j = 0; j < d; ++j) {
        const double v = (row[j] - centre[static_cast<std::size_t>(j)]) * weights[j];
        y[static_cast<std::size_t>(j)] = v;
        size2 += v * v;
    }
    tiles.multiply_factor(y.data(), factor.values.data(), d, row);
    if (!(size2 <= largest_factored)) return std::numeric_limits<double>::quiet_NaN();
    double norm2 = 0;
    for (std::int64_t j = 0; j < d; ++j) norm2 += row[j] * row[j];
    const double c = factor.coordinate_error;
    return scale * scale *
           (norm2 * factor_split + size2 * ((1 + 1 / factor_split) * c * c + factor.rank_error));
}

bool RowForm::make(const TileKernels& tiles, double* row, BesideSums& beside) const {
    double norm = 1;
    const bool covered = metric != metric::Gemm::cosine || make_unit(row, norm);
    beside.half_norm = norm == 0 && own == metric::Gemm::l2 ? scale * scale / 2 : 0;
    beside.error = factored() ? make_factored(tiles, row) : 0;
    return covered && beside.error == beside.error;
}

bool RowForm::make_vector(const TileKernels& tiles, double* row, double* vector,
                          BesideSums& beside) const {
    const bool covered = make(tiles, row, beside);
    const double* const from = origin();
    for (std::int64_t j = 0; j < d; ++j) vector[j] = (row[j] - from[j]) * scale;
    return covered;
}

}  // namespace kith::cpu
