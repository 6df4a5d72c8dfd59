// How far a projection's vectors may be from phi (docs/proofs/pca.md, lemma 2), in long double; the products of its
// kernels, and that its directions are those of the rows.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "adversarial.h"
#include "cpu/filter/projection.h"

namespace {

using namespace kith;

const std::function<bool(const Progress&)> silent;

cpu::Projection made_of(const cpu::TileKernels& tiles, const double* rows, std::int64_t stride, std::int64_t count,
                        std::int64_t d, std::int64_t columns) {
    ProgressMeter progress(silent, 1);
    return {tiles, rows, stride, count, d, columns, 2, progress};
}

std::vector<cpu::Isa> isas() {
    std::vector<cpu::Isa> list;
    for (const cpu::Isa isa : {cpu::Isa::baseline, cpu::Isa::avx2, cpu::Isa::avx512})
        if (cpu::supported(isa)) list.push_back(isa);
    return list;
}

long double dot(const double* a, const double* b, std::int64_t d) {
    long double sum = 0;
    for (std::int64_t j = 0; j < d; ++j) sum += static_cast<long double>(a[j]) * static_cast<long double>(b[j]);
    return sum;
}

// 16, 24 and 48 coordinates with what is left take the room of 32, 32 and 64 in matrix registers.
TEST(Projection, ChargesWhatRegistersRoundUp) {
    const auto cost = [](std::int64_t directions) { return cpu::cost_of_directions(cpu::Isa::amx, directions); };
    EXPECT_EQ(cost(15), cost(31));
    EXPECT_EQ(cost(23), cost(31));
    EXPECT_LT(cost(31), cost(47));
    EXPECT_EQ(cost(47), cost(63));
    EXPECT_LT(cost(63), cost(95));
    for (const cpu::Isa isa : {cpu::Isa::baseline, cpu::Isa::avx2, cpu::Isa::avx512})
        EXPECT_LT(cpu::cost_of_directions(isa, 15), cpu::cost_of_directions(isa, 23));
}

// Images of 784 whole numbers are bytes at once in matrix registers.
TEST(Projection, IsLookedForWhereItMayPay) {
    EXPECT_FALSE(cpu::directions_may_pay(cpu::Isa::amx, 64, true));
    EXPECT_FALSE(cpu::directions_may_pay(cpu::Isa::amx, 784, true));
    EXPECT_TRUE(cpu::directions_may_pay(cpu::Isa::amx, 1536, true));
    for (const std::int64_t d : {64, 784, 1536}) {
        EXPECT_TRUE(cpu::directions_may_pay(cpu::Isa::amx, d, false)) << d;
        for (const cpu::Isa isa : {cpu::Isa::baseline, cpu::Isa::avx2, cpu::Isa::avx512})
            for (const bool whole : {false, true}) EXPECT_TRUE(cpu::directions_may_pay(isa, d, whole)) << d;
    }
}

TEST(Projection, ProductsOfEachWidth) {
    adversarial::Random random(1);
    for (const cpu::Isa isa : isas()) {
        for (const std::int64_t count : {1, 4, 7}) {
            for (const std::int64_t columns : {8, 16, 24, 32, 40, 56, 136}) {
                const std::int64_t d = 37, stride = 41, width = columns + columns % 16, out_stride = columns + 3;
                std::vector<double> rows(count * stride), matrix(d * width), out(count * out_stride, -7);
                for (double& x : rows) x = random.gaussian();
                for (double& x : matrix) x = random.gaussian();
                cpu::tile_kernels(isa).project(rows.data(), stride, count, matrix.data(), d, width, columns, out.data(),
                                               out_stride);
                for (std::int64_t i = 0; i < count; ++i) {
                    for (std::int64_t c = 0; c < columns; ++c) {
                        long double want = 0;
                        for (std::int64_t j = 0; j < d; ++j) want += rows[i * stride + j] * matrix[j * width + c];
                        EXPECT_NEAR(static_cast<double>(want), out[i * out_stride + c], 1e-12);
                    }
                    for (std::int64_t c = columns; c < out_stride; ++c) EXPECT_EQ(-7, out[i * out_stride + c]);
                }
            }
        }
        for (std::int64_t d = 1; d < 140; ++d) {
            std::vector<float> a(d), b(d);
            double want = 0;
            for (std::int64_t j = 0; j < d; ++j) {
                a[j] = static_cast<float>(random.gaussian());
                b[j] = static_cast<float>(random.gaussian());
                want += static_cast<double>(a[j]) * static_cast<double>(b[j]);
            }
            EXPECT_NEAR(want, cpu::tile_kernels(isa).product(a.data(), b.data(), d), 1e-4) << d;
        }
    }
}

// <u, v> <= <phi(u), phi(v)> for what is computed, but for the errors that it says: |phi^(u)| eps(v) + eps(u) |phi(v)|.
TEST(Projection, EnclosesProducts) {
    constexpr std::int64_t d = 48, n = 160;
    adversarial::Random random(2);
    double closest = 1e300;
    for (const cpu::Isa isa : isas()) {
        const cpu::TileKernels& tiles = cpu::tile_kernels(isa);
        for (const double fall : {0.0, 1.0, 4.0, 12.0}) {
            for (const double size : {1e-140, 1.0, 1e9}) {
                std::vector<double> rows(n * d);
                for (std::int64_t i = 0; i < n; ++i)
                    for (std::int64_t j = 0; j < d; ++j)
                        rows[i * d + j] = random.gaussian() * std::pow(static_cast<double>(j + 1), -fall) * size;
                const cpu::Projection made = made_of(tiles, rows.data(), d, n / 2, d, 20);
                ProgressMeter progress(silent, 1);
                for (const std::int64_t columns : {made.columns(), made.columns() / 2}) {
                    const cpu::Projection projection = made.first(tiles, columns, progress);
                    ASSERT_EQ(columns, projection.columns());
                    const std::int64_t room = projection.room();
                    // A row within the columns' span, and one that they leave whole, as nearly as binary64 has them.
                    std::vector<double> own = rows, phi(n * room), error(n), norm2(n);
                    projection.coordinates(tiles, own.data(), d, n, phi.data());
                    for (std::int64_t i = 0; i < n; ++i)
                        norm2[i] = static_cast<double>(dot(&own[i * d], &own[i * d], d));
                    for (std::int64_t i = 0; i < n; ++i) error[i] = projection.complete(norm2[i], &phi[i * room]);
                    for (std::int64_t i = 0; i < n; ++i) {
                        const long double length = std::sqrt(dot(&phi[i * room], &phi[i * room], columns + 1));
                        EXPECT_LE(std::abs(length - std::sqrt(dot(&own[i * d], &own[i * d], d))), error[i]);
                        for (std::int64_t j = 0; j < n; ++j) {
                            const long double want = dot(&own[i * d], &own[j * d], d);
                            const long double have = dot(&phi[i * room], &phi[j * room], columns + 1);
                            const long double paid =
                                length * error[j] + error[i] * std::sqrt(static_cast<long double>(norm2[j]));
                            ASSERT_LE(want, have + paid) << fall << " " << size << " " << i << " " << j;
                            if (paid > 0) closest = std::min(closest, static_cast<double>((have + paid - want) / paid));
                        }
                    }
                }
            }
        }
    }
    RecordProperty("closest", std::to_string(closest));
}

// Remainders that their squares do not hold: what is left of a row within the span but for a small part is any number
// from 0 to some 10^-8 of it.
TEST(Projection, PaysForRemaindersNearNothing) {
    constexpr std::int64_t d = 40, spanned = 20, n = 60;
    adversarial::Random random(4);
    std::vector<double> rows(n * d, 0.0);
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < spanned; ++j) rows[i * d + j] = random.gaussian();
    for (const cpu::Isa isa : isas()) {
        const cpu::TileKernels& tiles = cpu::tile_kernels(isa);
        const cpu::Projection projection = made_of(tiles, rows.data(), d, n, d, spanned);
        ASSERT_EQ(spanned, projection.columns());
        std::vector<double> beyond(d, 0.0), phi(projection.room()), phi_beyond(projection.room());
        beyond[30] = 1;
        projection.coordinates(tiles, beyond.data(), d, 1, phi_beyond.data());
        const double error_beyond = projection.complete(1, phi_beyond.data());
        for (std::int64_t i = 0; i < n; ++i) {
            std::vector<double> row(&rows[i * d], &rows[i * d] + d);
            for (const double part : {1e-7, 1e-8, 1e-9, 1e-11}) {
                row[30] = part;
                projection.coordinates(tiles, row.data(), d, 1, phi.data());
                const long double norm2 = dot(row.data(), row.data(), d);
                const double error = projection.complete(static_cast<double>(norm2), phi.data());
                const long double have = dot(phi.data(), phi_beyond.data(), spanned + 1);
                EXPECT_LE(part, have + error + error_beyond * std::sqrt(norm2)) << part;
                EXPECT_LE(error, 1e-5 * static_cast<double>(std::sqrt(norm2)));
            }
        }
    }
}

// Most of the squares lie along the first directions of a spectrum that falls, nearly as much as along its axes.
TEST(Projection, FindsDirections) {
    constexpr std::int64_t d = 200, n = 400, columns = 20;
    adversarial::Random random(3);
    std::vector<double> rows(n * d);
    double along_axes = 0, all = 0, along = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < d; ++j) {
            const double x = rows[i * d + j] = random.gaussian() * std::pow(static_cast<double>(j + 1), -0.8);
            all += x * x;
            along_axes += j < columns ? x * x : 0;
        }
    }
    const cpu::TileKernels& tiles = cpu::tile_kernels(cpu::Isa::baseline);
    const cpu::Projection projection = made_of(tiles, rows.data(), d, n, d, columns);
    std::vector<double> phi(n * projection.room());
    projection.coordinates(tiles, rows.data(), d, n, phi.data());
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t c = 0; c < columns; ++c)
            along += phi[i * projection.room() + c] * phi[i * projection.room() + c];
    EXPECT_GT(along, 0.95 * along_axes);
    EXPECT_LT(along, all);
    // As many columns as there are rows of their own.
    EXPECT_LE(made_of(tiles, rows.data(), 0, 5, d, 4).columns(), 1);
    const std::vector<double> zeros(5 * d, 0.0);
    EXPECT_EQ(0, made_of(tiles, zeros.data(), d, 5, d, 4).columns());
}

}  // namespace
