// Integers of three int8 digits, their layout in memory, and the arguments of the kernels that
// multiply them.
//
// digits   x = 2^16 d1 + 2^8 d2 + d3, each from -128 to 127; d1 >= -127 if |x| <= 127 * 2^16
// vector   a row of one matrix, a column of the other; its depth is padded with zeros to K-tiles
//          of 64
// panel    128 rows or 96 columns: for each K-tile three planes, of the first, second and third
//          digits
// plane    64 bytes of each vector, swizzled by 64 bytes as wgmma and TMA expect: the four pieces
//          of 16 bytes of eight vectors lie so that one piece of all eight fills every bank once
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
// Shared memory of a K-tile: a panel of rows, then a panel of columns.
inline constexpr int stage_bytes = tile_bytes<panel_rows> + tile_bytes<panel_columns>;

// Offset of piece c of a vector within a plane.
__host__ __device__ __forceinline__ constexpr int swizzled(int vector, int c) {
    return vector * k_tile + (c ^ (vector / 2 & 3)) * piece;
}
// Offset of piece c, counted from the vector's first, in the first plane.
template <int vectors>
__device__ __forceinline__ std::int64_t piece_at(std::int64_t vector, int c, int k_tiles) {
    return (vector / vectors * k_tiles + c / pieces) * tile_bytes<vectors> +
           swizzled(static_cast<int>(vector % vectors), c % pieces);
}

// The largest magnitude of a number in units.
inline constexpr int most = 127 << 16;
// The unit, a power of two, of numbers with the largest magnitude `largest`, finite and not zero.
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

// Arguments of a product: panels of rows and of columns, and the output.
struct Product {
    const std::int8_t *rows, *columns;  // panels
    const float* row_units;
    double unit;  // of the columns
    int k_tiles, row_panels, column_panels;
    std::int64_t row_count, column_count;
    double* out;
    std::int64_t stride;
    bool in_pairs;  // two numbers of adjacent columns of `out` are aligned
    cudaStream_t stream;
};
void multiply_sm80(const Product& product);
void multiply_sm90a(const Product& product);

// Joins sums of products of digits with places that add up to 2, 3 and 4: their exact value, times
// `unit`.
__device__ __forceinline__ double joined(int two, int three, int four, double unit) {
    const long long whole =
        (static_cast<long long>(two) << 16) + (static_cast<long long>(three) << 8) + four;
    return static_cast<double>(whole) * unit;
}
// Stores a thread's two adjacent columns of an 8 x 8 tile, joined from the three accumulators.
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
// The unit of a row's integer sums.
__device__ __forceinline__ double row_unit(const Product& product, std::int64_t row) {
    return row < product.row_count
               ? static_cast<double>(product.row_units[row]) * product.unit * 0x1p16
               : 0.0;
}

}  // namespace kith::gpu::digits
