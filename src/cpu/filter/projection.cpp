// PCA by subspace iteration on a sample.
#include "cpu/filter/projection.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "cpu/filter/product.h"
#include "exact/report/watched.h"

namespace kith::cpu {

namespace {

// Multiplications by the sample's second-moment matrix. For a decaying spectrum the leading columns
// have converged closely enough after two.
constexpr int iterations = 2;
// A vector is linearly dependent if its component orthogonal to the others is below this share.
constexpr double least_left = 1e-6;

using Basis = std::vector<double>;  // vectors of d coordinates, one after the other

std::vector<double> transposed(const double* rows, std::int64_t count, std::int64_t columns,
                               std::int64_t stride, std::int64_t out_stride) {
    std::vector<double> out(static_cast<std::size_t>(columns * out_stride), 0.0);
    for (std::int64_t i = 0; i < count; ++i)
        for (std::int64_t j = 0; j < columns; ++j)
            out[static_cast<std::size_t>(j * out_stride + i)] = rows[i * stride + j];
    return out;
}

// The Gram matrix of `count` vectors of d coordinates, `stride` apart. Its rows are padded(count)
// apart.
std::vector<double> gram(const TileKernels& tiles, const double* vectors, std::int64_t stride,
                         std::int64_t count, std::int64_t d, int threads, ProgressMeter& progress) {
    const std::int64_t width = Projection::padded(count);
    const std::vector<double> columns = transposed(vectors, count, d, stride, width);
    std::vector<double> out(static_cast<std::size_t>(count * width));
    watched_for(threads, count, 16, progress, "prepare",
                [&](std::int64_t first, std::int64_t last) {
                    tiles.project(vectors + first * stride, stride, last - first, columns.data(), d,
                                  width, width, out.data() + first * width, width);
                });
    return out;
}

// Replaces vectors of `width` coordinates by an orthonormal basis of their span; linearly dependent
// vectors are dropped. Cholesky QR, twice (CholeskyQR2: Yamamoto et al. 2015).
void orthonormalise(const TileKernels& tiles, Basis& basis, std::int64_t width, int threads,
                    ProgressMeter& progress) {
    for (int pass = 0; pass < 2; ++pass) {
        const std::int64_t count = static_cast<std::int64_t>(basis.size()) / width,
                           stride = Projection::padded(count);
        const std::vector<double> products =
            gram(tiles, basis.data(), width, count, width, threads, progress);
        if (progress.cancelled()) return;
        // Row r of the inverse factor combines the vectors up to r into orthonormal vector r.
        std::vector<double> factor, inverse;
        std::vector<std::int64_t> kept;
        for (std::int64_t i = 0; i < count; ++i) {
            const auto size = static_cast<std::int64_t>(kept.size());
            std::vector<double> row(static_cast<std::size_t>(count), 0.0), of_vectors(row);
            double left = products[static_cast<std::size_t>(i * stride + i)];
            const double least = least_left * least_left * left;
            for (std::int64_t r = 0; r < size; ++r) {
                const double* const other = factor.data() + r * count;
                const double with = products[static_cast<std::size_t>(
                    i * stride + kept[static_cast<std::size_t>(r)])];
                const double along = (with - product(row.data(), other, r)) / other[r];
                row[static_cast<std::size_t>(r)] = along;
                left -= along * along;
                const double* const made = inverse.data() + r * count;
                for (std::int64_t c = 0; c <= i; ++c)
                    of_vectors[static_cast<std::size_t>(c)] -= along * made[c];
            }
            if (!(left > least)) continue;
            const double length = std::sqrt(left);
            row[static_cast<std::size_t>(size)] = length;
            of_vectors[static_cast<std::size_t>(i)] += 1;
            for (double& v : of_vectors) v /= length;
            factor.insert(factor.end(), row.begin(), row.end());
            inverse.insert(inverse.end(), of_vectors.begin(), of_vectors.end());
            kept.push_back(i);
        }
        const auto size = static_cast<std::int64_t>(kept.size());
        Basis made(static_cast<std::size_t>(size * width));
        watched_for(
            threads, size, 16, progress, "prepare", [&](std::int64_t first, std::int64_t last) {
                tiles.project(inverse.data() + first * count, count, last - first, basis.data(),
                              count, width, width, made.data() + first * width, width);
            });
        basis = std::move(made);
    }
}

}  // namespace

Projection::Projection(const TileKernels& tiles, const double* rows, std::int64_t stride,
                       std::int64_t count, std::int64_t d, std::int64_t columns, int threads,
                       ProgressMeter& progress) {
    // `rows` as a matrix of count x d with zero-padded rows, the layout of the basis.
    const std::int64_t width = padded(d);
    Buffer<double> sample(count * width);
    for (std::int64_t i = 0; i < count; ++i) {
        std::copy_n(rows + i * stride, d, sample.data() + i * width);
        std::fill_n(sample.data() + i * width + d, width - d, 0.0);
    }
    Basis basis;
    for (std::int64_t i = 0; i < std::min(columns, count); ++i) {
        const double* const row = sample.data() + i * count / std::min(columns, count) * width;
        basis.insert(basis.end(), row, row + width);
    }
    orthonormalise(tiles, basis, width, threads, progress);
    std::vector<double> length2;
    for (int iteration = 0; iteration <= iterations; ++iteration) {
        if (progress.cancelled()) return;
        set(basis, width, d);
        std::vector<double> along(static_cast<std::size_t>(count * room()));
        watched_for(threads, count, 32, progress, "prepare",
                    [&](std::int64_t first, std::int64_t last) {
                        coordinates(tiles, sample.data() + first * width, width, last - first,
                                    along.data() + first * room());
                    });
        const std::vector<double> by_column =
            transposed(along.data(), count, columns_, room(), count);
        if (iteration == iterations) {
            for (std::int64_t c = 0; c < columns_; ++c)
                length2.push_back(
                    product(by_column.data() + c * count, by_column.data() + c * count, count));
            break;
        }
        basis.resize(static_cast<std::size_t>(columns_ * width));
        watched_for(
            threads, columns_, 4, progress, "prepare", [&](std::int64_t first, std::int64_t last) {
                tiles.project(by_column.data() + first * count, count, last - first, sample.data(),
                              count, width, width, basis.data() + first * width, width);
            });
        orthonormalise(tiles, basis, width, threads, progress);
    }
    std::vector<std::int64_t> order(length2.size());
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        return length2[static_cast<std::size_t>(a)] > length2[static_cast<std::size_t>(b)];
    });
    Basis widest;
    for (const std::int64_t c : order)
        widest.insert(widest.end(), basis.data() + c * width, basis.data() + (c + 1) * width);
    set(widest, width, d);
    measure(tiles, widest, width, progress);
}

void Projection::set(const std::vector<double>& basis, std::int64_t stride, std::int64_t d) {
    d_ = d;
    columns_ = static_cast<std::int64_t>(basis.size()) / stride;
    const std::int64_t width = room();
    matrix_ = Buffer<double>(d * width);
    std::fill_n(matrix_.data(), d * width, 0.0);
    for (std::int64_t c = 0; c < columns_; ++c)
        for (std::int64_t j = 0; j < d; ++j)
            matrix_[j * width + c] = basis[static_cast<std::size_t>(c * stride + j)];
}

Projection Projection::first(const TileKernels& tiles, std::int64_t columns,
                             ProgressMeter& progress) const {
    const Basis basis = transposed(matrix_.data(), d_, columns, room(), d_);
    Projection out;
    out.set(basis, d_, d_);
    out.measure(tiles, basis, d_, progress);
    return out;
}

void Projection::measure(const TileKernels& tiles, const std::vector<double>& basis,
                         std::int64_t stride, ProgressMeter& progress) {
    const std::vector<double> products =
        gram(tiles, basis.data(), stride, columns_, d_, 1, progress);
    double defect2 = 0;
    for (std::int64_t a = 0; a < columns_; ++a) {
        for (std::int64_t b = 0; b < columns_; ++b) {
            const double e =
                products[static_cast<std::size_t>(a * padded(columns_) + b)] - (a == b ? 1 : 0);
            defect2 += e * e;
        }
    }
    error_ = exact::ProjectionError(defect2, d_, columns_);
}

void Projection::coordinates(const TileKernels& tiles, const double* rows, std::int64_t stride,
                             std::int64_t count, double* out) const {
    tiles.project(rows, stride, count, matrix_.data(), d_, room(), padded(columns_), out, room());
}

double Projection::complete(double norm2, double* coordinates) const {
    const double along2 = product(coordinates, coordinates, columns_);
    const double left2 = std::max(0.0, norm2 - along2), left = std::sqrt(left2);
    coordinates[columns_] = left;
    return error_.of(norm2, left) * (1 + 0x1p-20) + 0x1p-500;
}

}  // namespace kith::cpu
