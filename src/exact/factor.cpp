// The factor of a matrix and its bounds; see factor.h.
#include "exact/factor.h"

#include <algorithm>
#include <cmath>

#include "exact/cholesky.h"
#include "exact/watched.h"

namespace kith::exact {

namespace {

// The most that an exponent of W may be, either way: coordinates, ranks and their squares stay
// within binary64.
constexpr int largest_exponent = 500;
// Room for the rounding of the norms below and for what is of second order.
constexpr double slack = 1.01;

double norm(const std::vector<double>& values) {
    double sum = 0;
    for (const double v : values) sum += v * v;
    return std::sqrt(sum);
}

}  // namespace

Factor factorise(const std::vector<double>& matrix, std::int64_t d, int threads,
                 ProgressMeter& progress) {
    const auto size = static_cast<std::size_t>(d);
    std::vector<int> exponents(size);
    std::vector<double> scaled(size * size);
    for (std::size_t i = 0; i < size; ++i) {
        const double diagonal = matrix[i * size + i];
        if (!(diagonal > 0) || !std::isfinite(diagonal)) return {};
        exponents[i] = static_cast<int>(std::floor(0.5 * std::ilogb(diagonal)));
        if (std::abs(exponents[i]) > largest_exponent) return {};
    }
    watched_for(threads, d, 16, progress, "prepare", [&](std::int64_t first, std::int64_t last) {
        for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i)
            for (std::size_t j = 0; j < size; ++j)
                scaled[i * size + j] =
                    std::ldexp(matrix[i * size + j], -exponents[i] - exponents[j]);
    });
    progress.throw_if_cancelled();
    const double size_of_scaled = norm(scaled);
    // What is antisymmetric adds nothing to a quadratic form.
    for (std::size_t i = 0; i < size; ++i)
        for (std::size_t j = 0; j < i; ++j)
            scaled[i * size + j] = 0.5 * (scaled[i * size + j] + scaled[j * size + i]);
    if (!cholesky(scaled, d, threads, progress)) return {};
    for (std::size_t i = 0; i < size; ++i)
        for (std::size_t j = i + 1; j < size; ++j) scaled[i * size + j] = 0;
    Factor out;
    const double size_of_factor = norm(scaled), unit = 0x1p-53 * slack,
                 terms = static_cast<double>(d);
    out.coordinate_error = (terms + 3) * unit * size_of_factor;
    out.rank_error = (terms + 4) * unit * size_of_factor * size_of_factor +
                     (2 * terms + 18) * unit * size_of_scaled;
    if (!std::isfinite(out.coordinate_error) || !std::isfinite(out.rank_error)) return {};
    out.values = std::move(scaled);
    for (const int e : exponents) out.values.push_back(std::ldexp(1.0, e));
    return out;
}

}  // namespace kith::exact
