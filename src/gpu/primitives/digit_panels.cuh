// Whole numbers of three digits, where digits lie in memory, and what kernels that multiply them
// are given.
//
// digits   x = 2^16 d1 + 2^8 d2 + d3, each from -128 to 127; the first is no less than -127, where
// |x| <= 127 * 2^16 vector   a row of one matrix, a column of the other: its depth is filled up
// with zeros to K-tiles of 64 panel    128 rows or 96 columns: for each K-tile three planes, of the
// first digits, the second and the third plane    64 bytes of each vector, swizzled by 64 bytes as
// wgmma and TMA understand it: the four pieces of 16 bytes of
//          eight vectors lie so that the same piece of all of them fills every bank once
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

namespace kith::gpu::digits {

inline constexpr int planes = 3, k_tile = 64, piece = 16, pieces = k_tile / piece;
inline constexpr int panel_rows = 128, panel_columns = 96;
template <int vectors>
inline constexpr int plane_bytes = vectors* k_tile;
template <int vectors>
inline constexpr int tile_bytes = planes* plane_bytes<vectors>;
// What is in shared memory of a K-tile: of a panel of rows, then of one of columns.
inline constexpr int stage_bytes = tile_bytes<panel_rows> + tile_bytes<panel_columns>;

// Where piece c of a vector of a plane begins.
__host__ __device__ __forceinline__ constexpr int swizzled(int vector, int c) {
    return vector * k_tile + (c ^ (vector / 2 & 3)) * piece;
}
// Where piece c, counted from the vector's first, begins in the first plane.
template <int vectors>
__device__ __forceinline__ std::int64_t piece_at(std::int64_t vector, int c, int k_tiles) {
    return (vector / vectors * k_tiles + c / pieces) * tile_bytes<vectors> +
           swizzled(static_cast<int>(vector % vectors), c % pieces);
}

// The largest number of three digits.
inline constexpr int most = 127 << 16;
// The unit of numbers of which `largest`, finite and no zero, is the largest.
template <class T>
__host__ __device__ T unit_of(T largest) {
    int exponent = 0;
    frexp(largest, &exponent);
    const T unit = ldexp(T{1}, exponent - 23);
    return largest / unit > most ? 2 * unit : unit;
}

struct Digits {
    int first, second, third;
};
__device__ __forceinline__ Digits digits_of(int x) {
    Digits d{};
    d.third = static_cast<signed char>(x);
    x = (x - d.third) >> 8;
    d.second = static_cast<signed char>(x);
    d.first = (x - d.second) >> 8;
    return d;
}

// Panels of rows and of columns, and what becomes of them.
struct Product {
    const std::int8_t *rows, *columns;  // panels
    const float* row_units;
    double unit;  // of the columns
    int k_tiles, row_panels, column_panels;
    std::int64_t row_count, column_count;
    double* out;
    std::int64_t stride;
    bool in_pairs;  // two numbers of adjacent columns are aligned
    cudaStream_t stream;
};
void multiply_sm80(const Product& product);
void multiply_sm90a(const Product& product);

// Sums of products of digits whose places add up to 2, 3 and 4: exactly what they stand for, times
// `unit`.
__device__ __forceinline__ double joined(int two, int three, int four, double unit) {
    const long long whole =
        (static_cast<long long>(two) << 16) + (static_cast<long long>(three) << 8) + four;
    return static_cast<double>(whole) * unit;
}
// The numbers of 8 x 8 sums of which a thread has two of adjacent columns, `at` on, in each of the
// accumulators.
__device__ __forceinline__ void store_two(const Product& product, std::int64_t row,
                                          std::int64_t column, double unit, const int* two,
                                          const int* three, const int* four) {
    if (row >= product.row_count || column >= product.column_count) return;
    double* const to = product.out + row * product.stride + column;
    const double left = joined(two[0], three[0], four[0], unit),
                 right = joined(two[1], three[1], four[1], unit);
    if (product.in_pairs && column + 1 < product.column_count) {
        *reinterpret_cast<double2*>(to) = {left, right};
        return;
    }
    to[0] = left;
    if (column + 1 < product.column_count) to[1] = right;
}
// What a whole number of a row's sums is in units of.
__device__ __forceinline__ double row_unit(const Product& product, std::int64_t row) {
    return row < product.row_count
               ? static_cast<double>(product.row_units[row]) * product.unit * 0x1p16
               : 0.0;
}

}  // namespace kith::gpu::digits
