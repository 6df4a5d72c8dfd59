// Panels of columns: what lies left of a panel is taken off all its columns side by side, so that
// sums which must each keep their order run beside each other. See cholesky.h.
#include "exact/cholesky.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "exact/watched.h"

namespace kith::exact {

namespace {

constexpr const char* stage = "prepare";
// Sums side by side; columns of a panel; rows of a task.
constexpr std::int64_t lanes = 16, panel = 64, rows_per_task = 16;

std::size_t at(std::int64_t i, std::int64_t j, std::int64_t d) {
    return static_cast<std::size_t>(i * d + j);
}

// sums[c] -= x[k] y[k * lanes + c] for k from 0 to count, in order.
void subtract_products(double* sums, const double* x, const double* y, std::int64_t count) {
    typedef double Pair __attribute__((vector_size(16), aligned(8), may_alias));
    constexpr int pairs = lanes / 2;
    Pair s[pairs];
    std::memcpy(s, sums, sizeof s);
    for (std::int64_t k = 0; k < count; ++k) {
        const auto* const row = reinterpret_cast<const Pair*>(y + k * lanes);
        const Pair factor = {x[k], x[k]};
#pragma GCC unroll 8
        for (int c = 0; c < pairs; ++c) s[c] -= factor * row[c];
    }
    std::memcpy(sums, s, sizeof s);
}

// Of rows [first, first + panel) their columns before `first`, transposed in groups of `lanes`
// rows; rows beyond d are zero.
std::vector<double> transposed(const std::vector<double>& a, std::int64_t d, std::int64_t first) {
    std::vector<double> out(static_cast<std::size_t>(panel * first), 0.0);
    for (std::int64_t r = first; r < std::min(first + panel, d); ++r) {
        const std::int64_t group = (r - first) / lanes, lane = (r - first) % lanes;
        double* const to = out.data() + group * lanes * first + lane;
        for (std::int64_t k = 0; k < first; ++k) to[k * lanes] = a[at(r, k, d)];
    }
    return out;
}

}  // namespace

bool cholesky(std::vector<double>& a, std::int64_t d, int threads, ProgressMeter& progress) {
    std::vector<double> scales(static_cast<std::size_t>(d));
    for (std::int64_t j = 0; j < d; ++j)
        scales[static_cast<std::size_t>(j)] = std::abs(a[at(j, j, d)]);
    for (std::int64_t first = 0; first < d; first += panel) {
        const std::int64_t last = std::min(first + panel, d);
        const std::vector<double> left = transposed(a, d, first);
        // Row i of the panel's columns up to `end` less the products of the columns before the
        // panel.
        const auto subtract_left = [&](std::int64_t i, std::int64_t end) {
            double sums[panel] = {};  // whole groups of lanes are read
            std::copy_n(&a[at(i, first, d)], end - first, sums);
            for (std::int64_t c = 0; c < end - first; c += lanes)
                subtract_products(sums + c, &a[at(i, 0, d)], left.data() + c * first, first);
            std::copy_n(sums, end - first, &a[at(i, first, d)]);
        };
        // Element (i, j) less the products of the panel's columns before j.
        const auto rest = [&](std::int64_t i, std::int64_t j) {
            double sum = a[at(i, j, d)];
            for (std::int64_t k = first; k < j; ++k) sum -= a[at(i, k, d)] * a[at(j, k, d)];
            return sum;
        };
        for (std::int64_t i = first; i < last; ++i) {
            subtract_left(i, i + 1);
            for (std::int64_t j = first; j < i; ++j) a[at(i, j, d)] = rest(i, j) / a[at(j, j, d)];
            const double diagonal = rest(i, i);
            if (!(diagonal >
                  scales[static_cast<std::size_t>(i)] * static_cast<double>(d) * 0x1p-52))
                return false;
            a[at(i, i, d)] = std::sqrt(diagonal);
        }
        watched_for(threads, d - last, rows_per_task, progress, stage,
                    [&](std::int64_t begin, std::int64_t end) {
                        for (std::int64_t i = last + begin; i < last + end; ++i) {
                            subtract_left(i, last);
                            for (std::int64_t j = first; j < last; ++j)
                                a[at(i, j, d)] = rest(i, j) / a[at(j, j, d)];
                        }
                    });
        progress.poll(stage);
        progress.throw_if_cancelled();
    }
    return true;
}

// Column c solves L L' y = e_c, `lanes` columns side by side. The columns of a group begin
// together: what that adds are products with zeros, taken off zeros.
std::vector<double> inverse_from_cholesky(const std::vector<double>& l, std::int64_t d, int threads,
                                          ProgressMeter& progress) {
    std::vector<double> upper(l.size()), inverse(l.size());
    watched_for(threads, d, rows_per_task, progress, stage,
                [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t k = begin; k < d; ++k)
                        for (std::int64_t i = begin; i < std::min(end, k); ++i)
                            upper[at(i, k, d)] = l[at(k, i, d)];
                });
    progress.throw_if_cancelled();
    watched_for(threads, d, lanes, progress, stage, [&](std::int64_t begin, std::int64_t end) {
        // From row `begin` on: first the forward solution, then the backward one in its place.
        std::vector<double> solution(static_cast<std::size_t>((d - begin) * lanes));
        const auto row = [&](std::int64_t i) { return solution.data() + (i - begin) * lanes; };
        for (std::int64_t i = begin; i < d && !progress.cancelled(); ++i) {
            for (std::int64_t c = begin; c < end; ++c) row(i)[c - begin] = i == c ? 1.0 : 0.0;
            subtract_products(row(i), &l[at(i, begin, d)], solution.data(), i - begin);
            for (std::int64_t c = 0; c < lanes; ++c) row(i)[c] /= l[at(i, i, d)];
        }
        for (std::int64_t i = d - 1; i >= begin && !progress.cancelled(); --i) {
            if (i + 1 < d)
                subtract_products(row(i), &upper[at(i, i + 1, d)], row(i + 1), d - 1 - i);
            for (std::int64_t c = 0; c < lanes; ++c) row(i)[c] /= l[at(i, i, d)];
            for (std::int64_t c = begin; c < std::min(end, i + 1); ++c)
                inverse[at(i, c, d)] = row(i)[c - begin];
        }
    });
    progress.throw_if_cancelled();
    for (std::int64_t i = 0; i < d; ++i)
        for (std::int64_t j = i + 1; j < d; ++j) inverse[at(i, j, d)] = inverse[at(j, i, d)];
    return inverse;
}

}  // namespace kith::exact
