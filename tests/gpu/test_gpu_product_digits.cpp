// Products by digits of 8 bits against sums in long double: no row is further away than it says, and little for rows
// and matrices as they are.
#include <cuda_fp16.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "gpu/primitives/products/product_digits.h"
#include "gpu/runtime/device.h"
#include "gpu_arrays.h"

namespace {

using gpu_arrays::check;
using kith::gpu::DigitInstructions;
using kith::gpu::DigitMatrix;

constexpr double infinity = std::numeric_limits<double>::infinity();

// Row-major, without gaps.
template <class T>
struct Matrix {
    std::int64_t rows, columns;
    std::vector<T> values;

    Matrix(std::int64_t r, std::int64_t c) : rows(r), columns(c), values(static_cast<std::size_t>(r * c)) {}
    T& at(std::int64_t i, std::int64_t j) { return values[static_cast<std::size_t>(i * columns + j)]; }
    const T& at(std::int64_t i, std::int64_t j) const { return values[static_cast<std::size_t>(i * columns + j)]; }
};

double number(__half x) {
    return static_cast<double>(__half2float(x));
}
__half half(double x) {
    return __double2half(x);
}

// Rows whose coordinates have deviations (i + 1)^-decay.
Matrix<__half> rows_of(std::int64_t count, std::int64_t depth, double decay) {
    std::mt19937_64 random(static_cast<std::uint64_t>(count * 7 + depth));
    std::normal_distribution<double> normal;
    Matrix<__half> v(count, depth);
    for (std::int64_t i = 0; i < count; ++i)
        for (std::int64_t j = 0; j < depth; ++j)
            v.at(i, j) = half(normal(random) * std::pow(static_cast<double>(j + 1), -decay));
    return v;
}

// Orthonormal columns, as many of them as there can be, and unit vectors behind them.
Matrix<double> columns_of(std::int64_t depth, std::int64_t columns) {
    std::mt19937_64 random(static_cast<std::uint64_t>(depth * 3 + columns));
    std::normal_distribution<double> normal;
    std::vector<std::vector<double>> found;
    for (std::int64_t c = 0; c < columns; ++c) {
        std::vector<double> x(static_cast<std::size_t>(depth));
        for (double& e : x) e = normal(random);
        if (c < depth)
            for (const std::vector<double>& y : found) {
                double along = 0;
                for (std::size_t j = 0; j < x.size(); ++j) along += x[j] * y[j];
                for (std::size_t j = 0; j < x.size(); ++j) x[j] -= along * y[j];
            }
        double length2 = 0;
        for (const double e : x) length2 += e * e;
        for (double& e : x) e /= std::sqrt(length2);
        found.push_back(std::move(x));
    }
    Matrix<double> p(depth, columns);
    for (std::int64_t c = 0; c < columns; ++c)
        for (std::int64_t j = 0; j < depth; ++j)
            p.at(j, c) = found[static_cast<std::size_t>(c)][static_cast<std::size_t>(j)];
    return p;
}

// A matrix on the device, `gap` more numbers behind each row, and its digits.
struct There {
    std::int64_t stride;
    gpu_arrays::Buffer<double> numbers;
    DigitMatrix digits;

    explicit There(const Matrix<double>& p, std::int64_t gap = 3)
        : stride(p.columns + gap), numbers(static_cast<std::size_t>(p.rows * stride)) {
        check(cudaMemcpy2D(numbers.data(), static_cast<std::size_t>(stride) * sizeof(double), p.values.data(),
                           static_cast<std::size_t>(p.columns) * sizeof(double),
                           static_cast<std::size_t>(p.columns) * sizeof(double), static_cast<std::size_t>(p.rows),
                           cudaMemcpyHostToDevice));
        digits = DigitMatrix(numbers.data(), p.rows, p.columns, stride, nullptr);
    }
    Matrix<double> host() const {
        const std::vector<double> all = numbers.host();
        Matrix<double> p(digits.depth(), digits.columns());
        for (std::int64_t i = 0; i < p.rows; ++i)
            for (std::int64_t j = 0; j < p.columns; ++j) p.at(i, j) = all[static_cast<std::size_t>(i * stride + j)];
        return p;
    }
};

struct Result {
    std::vector<double> out;  // rows `stride` apart
    std::vector<float> lost;
};

Result multiplied(const Matrix<__half>& v, const DigitMatrix& digits, std::int64_t columns, std::int64_t stride,
                  DigitInstructions instructions) {
    const gpu_arrays::Buffer<__half> rows(v.values.size());
    const gpu_arrays::Buffer<double> out(static_cast<std::size_t>(v.rows * stride));
    const gpu_arrays::Buffer<float> lost(static_cast<std::size_t>(v.rows));
    check(cudaMemcpy(rows.data(), v.values.data(), v.values.size() * sizeof(__half), cudaMemcpyHostToDevice));
    product(rows.data(), v.rows, digits, columns, out.data(), stride, lost.data(), nullptr, instructions);
    check(cudaDeviceSynchronize());
    return {out.host(), lost.host()};
}

std::vector<DigitInstructions> instructions() {
    if (kith::gpu::device_attributes().capability != 90) return {DigitInstructions::sm_80};
    return {DigitInstructions::sm_80, DigitInstructions::sm_90a};
}

// How far rows are from the products with the matrix that the digits make, and how far they say; lengths of rows.
struct Lengths {
    std::vector<double> away, said, rows;
};

Lengths lengths_of(const Matrix<__half>& v, const There& p, std::int64_t columns, std::int64_t stride) {
    const Result result = multiplied(v, p.digits, columns, stride, DigitInstructions::any);
    for (const DigitInstructions each : instructions()) {
        const Result other = multiplied(v, p.digits, columns, stride, each);
        EXPECT_TRUE(std::equal(result.lost.begin(), result.lost.end(), other.lost.begin()));
        // What lies behind a row's numbers stays as it was: its bytes are alike, too.
        EXPECT_EQ(0, std::memcmp(result.out.data(), other.out.data(), result.out.size() * sizeof(double)));
    }
    const Matrix<double> matrix = p.host();
    const std::uint64_t untouched = gpu_arrays::Buffer<std::uint64_t>(1).host()[0];
    Lengths lengths;
    for (std::int64_t i = 0; i < v.rows; ++i) {
        std::vector<long double> exact(static_cast<std::size_t>(columns));
        double length2 = 0;
        for (std::int64_t j = 0; j < v.columns; ++j) {
            const double x = number(v.at(i, j));
            length2 += x * x;
            for (std::int64_t c = 0; c < columns; ++c)
                exact[static_cast<std::size_t>(c)] += static_cast<long double>(x) * matrix.at(j, c);
        }
        long double away2 = 0;
        const double* const row = result.out.data() + i * stride;
        for (std::int64_t c = 0; c < columns; ++c) {
            const long double e = exact[static_cast<std::size_t>(c)] - row[c];
            away2 += e * e;
        }
        for (std::int64_t c = columns; c < stride; ++c) EXPECT_EQ(untouched, std::bit_cast<std::uint64_t>(row[c]));
        lengths.away.push_back(static_cast<double>(std::sqrt(away2)));
        lengths.said.push_back(static_cast<double>(result.lost[static_cast<std::size_t>(i)]));
        lengths.rows.push_back(std::sqrt(length2));
    }
    return lengths;
}

// No row is further away than it says, and it says no more than `most` of its length; returns the largest share that
// was of what was said.
double held(const Matrix<__half>& v, const There& p, std::int64_t columns, std::int64_t stride, double most) {
    const Lengths lengths = lengths_of(v, p, columns, stride);
    double share = 0;
    for (std::size_t i = 0; i < lengths.away.size(); ++i) {
        EXPECT_LE(lengths.away[i], lengths.said[i]) << "row " << i;
        EXPECT_LE(lengths.said[i], most * lengths.rows[i]) << "row " << i;
        if (lengths.said[i] > 0) share = std::max(share, lengths.away[i] / lengths.said[i]);
    }
    return share;
}

TEST(GpuProductDigits, AnyShape) {
    for (const std::int64_t depth : {16, 48, 64, 784, 1536})
        for (const std::int64_t columns : {1, 63, 96, 97, 575}) {
            const There p(columns_of(depth, columns), columns % 2);
            for (const std::int64_t count : {1, 128, 129})
                for (const double decay : {0.0, 0.7}) {
                    SCOPED_TRACE(testing::Message() << count << " x " << depth << " x " << columns << ", " << decay);
                    const double most = decay > 0 ? 5e-5 : 3e-5;
                    const double share = held(rows_of(count, depth, decay), p, columns, columns + count % 3, most);
                    EXPECT_LT(0, share);
                }
        }
}

TEST(GpuProductDigits, FirstColumns) {
    const There p(columns_of(208, 200));
    const Matrix<__half> v = rows_of(300, 208, 0.3);
    for (const std::int64_t columns : {1, 95, 96, 100, 199}) held(v, p, columns, columns + 2, 3e-5);
}

// More panels of rows and columns than a device has multiprocessors.
TEST(GpuProductDigits, ManyPanels) {
    const There p(columns_of(80, 500));
    held(rows_of(8000, 80, 0.5), p, 500, 501, 3e-5);
}

TEST(GpuProductDigits, LongRows) {
    const There p(columns_of(kith::gpu::most_digit_depth, 40));
    held(rows_of(20, kith::gpu::most_digit_depth, 0), p, 40, 40, 3e-5);
}

TEST(GpuProductDigits, RowsOfAnySize) {
    constexpr std::int64_t depth = 112;
    const double largest = 65504, least = 0x1p-24;
    Matrix<__half> v = rows_of(9, depth, 0);
    for (std::int64_t j = 0; j < depth; ++j) {
        v.at(0, j) = half(0);
        v.at(1, j) = half(j == 77 ? largest : least);
        v.at(2, j) = half(j % 2 ? largest : -largest);
        v.at(3, j) = half(least);
        v.at(4, j) = half(j == 3 ? -largest : std::ldexp(1.0, -static_cast<int>(j % 25)));
        v.at(5, j) = half(j == 5 ? least : 0);
        v.at(6, j) = half(1.984375);  // the largest number of three digits
        v.at(7, j) = half(std::nextafter(1.0F, 2.0F));
        v.at(8, j) = half(j % 3 ? -1.9990234375 : 1.984375);
    }
    const There p(columns_of(depth, 70));
    const Lengths lengths = lengths_of(v, p, 70, 70);
    for (std::size_t i = 0; i < 9; ++i) EXPECT_LE(lengths.away[i], lengths.said[i]) << i;
    EXPECT_EQ(0, lengths.said[0]);
    EXPECT_EQ(0, lengths.away[0]);
    EXPECT_EQ(0, lengths.said[6]);
}

TEST(GpuProductDigits, RowsThatAreNotFinite) {
    Matrix<__half> v = rows_of(140, 32, 0);
    v.at(3, 31) = half(infinity);
    v.at(70, 0) = half(-infinity);
    v.at(128, 7) = half(std::numeric_limits<double>::quiet_NaN());
    v.at(139, 16) = half(-std::numeric_limits<double>::quiet_NaN());
    const There p(columns_of(32, 20));
    for (const DigitInstructions each : instructions()) {
        const Result result = multiplied(v, p.digits, 20, 20, each);
        for (std::int64_t i = 0; i < v.rows; ++i) {
            const bool finite = i != 3 && i != 70 && i != 128 && i != 139;
            EXPECT_EQ(finite, std::isfinite(result.lost[static_cast<std::size_t>(i)])) << i;
            for (std::int64_t c = 0; c < 20 && !finite; ++c)
                EXPECT_EQ(0, result.out[static_cast<std::size_t>(i * 20 + c)]);
        }
    }
}

// The matrix is what digits make of it, near what it was; its lengths are no less than what they bound.
void hold_digits(const Matrix<double>& before) {
    const There there(before);
    const Matrix<double> after = there.host();
    const double unit = there.digits.unit();
    int exponent = 0;
    ASSERT_EQ(0.5, std::frexp(unit, &exponent));
    Matrix<double> parts[] = {after, after, after};
    for (std::size_t i = 0; i < before.values.size(); ++i) {
        const double whole = after.values[i] / unit;
        ASSERT_LE(std::abs(after.values[i] - before.values[i]), unit / 2);
        ASSERT_EQ(std::rint(whole), whole);
        ASSERT_LE(std::abs(whole), 127 * 65536.0);
        const auto x = static_cast<int>(whole);
        const int third = ((x + 128) & 255) - 128, second = (((x - third) / 256 + 128) & 255) - 128;
        parts[1].values[i] = second * 256 * unit;
        parts[2].values[i] = third * unit;
    }
    const kith::gpu::DigitNorms& norms = there.digits.norms();
    const double said[] = {norms.all, norms.second, norms.third};
    for (std::size_t p = 0; p < 3; ++p) {
        // The columns' sum and each of them.
        double sum2 = 0, column2 = 0, squares = 0;
        for (std::int64_t i = 0; i < before.rows; ++i) {
            double sum = 0;
            for (std::int64_t j = 0; j < before.columns; ++j) sum += parts[p].at(i, j);
            sum2 += sum * sum;
        }
        for (std::int64_t j = 0; j < before.columns; ++j) {
            double own = 0;
            for (std::int64_t i = 0; i < before.rows; ++i) own += parts[p].at(i, j) * parts[p].at(i, j);
            column2 = std::max(column2, own);
            squares += own;
        }
        EXPECT_GE(said[p], std::sqrt(sum2 / static_cast<double>(before.columns)) * (1 - 1e-9));
        EXPECT_GE(said[p], std::sqrt(column2) * (1 - 1e-9));
        EXPECT_LE(said[p], std::sqrt(squares) * (1 + 1e-5));
    }
}

TEST(GpuProductDigits, MatrixBecomesDigits) {
    hold_digits(columns_of(784, 130));
    Matrix<double> p = columns_of(48, 10);
    for (std::int64_t i = 0; i < p.rows; ++i) p.at(i, 4) = 0;
    hold_digits(p);
    held(rows_of(30, 48, 0), There(p), 10, 10, 3e-5);
    for (double& x : p.values) x *= 0x1p300;
    hold_digits(p);
    for (std::int64_t i = 0; i < p.rows; ++i) p.at(i, 3) *= 0x1p-30;
    hold_digits(p);
    p.at(7, 2) = 127.0 / 64 * 0x1p310;
    hold_digits(p);
    p.at(7, 2) = std::nextafter(p.at(7, 2), infinity);
    hold_digits(p);
    for (double& x : p.values) x *= 0x1p-700;
    hold_digits(p);
}

TEST(GpuProductDigits, MatrixOfZeros) {
    const There p(Matrix<double>(32, 5));
    EXPECT_EQ(0, p.digits.norms().all);
    const Lengths lengths = lengths_of(rows_of(3, 32, 0), p, 5, 5);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(0, lengths.away[i] + lengths.said[i]);
}

// Rows and matrices of which one product is left out, all of one sign: each part of what is said is needed.
TEST(GpuProductDigits, NoPartIsTooLarge) {
    // In units, where the first coordinate alone decides what they are: 2^22 of a row and of a matrix.
    struct Parts {
        double row, first, matrix;
        const char* what;
    };
    const Parts parts[] = {{64 * 65536.0 + 112 * 256, 64 * 65536.0, -128, "v2 P3"},
                           {127, 64 * 65536.0, 127 * 256, "v3 P2"},
                           {127, 64 * 65536.0, -128, "v3 P3"},
                           {0.5, 64 * 65536.0, 64 * 65536.0, "l P"}};
    for (const Parts& each : parts) {
        SCOPED_TRACE(each.what);
        constexpr std::int64_t depth = 1024, columns = 24;
        Matrix<double> p(depth, columns);
        Matrix<__half> v(2, depth);
        for (std::int64_t j = 0; j < depth; ++j) {
            // Halves of 2^-23 and 2^-8 of a row's largest are exact.
            for (std::int64_t i = 0; i < v.rows; ++i)
                v.at(i, j) = half(std::ldexp(j == 0 && each.row < 65536 ? 64 * 65536.0 : each.row, i == 0 ? -8 : -16));
            for (std::int64_t c = 0; c < columns; ++c) p.at(j, c) = j == 0 ? 64 * 65536.0 : each.matrix;
        }
        const There there(p);
        ASSERT_EQ(1, there.digits.unit());
        EXPECT_LT(0.99, held(v, there, columns, columns, infinity));
    }
}

TEST(GpuProductDigits, Repeats) {
    const Matrix<double> p = columns_of(400, 300);
    const Matrix<__half> v = rows_of(1000, 400, 0.2);
    const There one(p), other(p);
    EXPECT_EQ(one.digits.norms().all, other.digits.norms().all);
    EXPECT_EQ(one.digits.norms().second, other.digits.norms().second);
    EXPECT_EQ(one.digits.norms().third, other.digits.norms().third);
    for (const DigitInstructions each : instructions()) {
        const Result first = multiplied(v, one.digits, 300, 300, each);
        for (int i = 0; i < 5; ++i) {
            const Result again = multiplied(v, other.digits, 300, 300, each);
            EXPECT_EQ(first.out, again.out);
            EXPECT_EQ(first.lost, again.lost);
        }
    }
}

}  // namespace
