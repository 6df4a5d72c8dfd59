// The digits of a matrix: a thread has 16 numbers of a column, which are a piece of each plane.
// Then a matrix of squares for each length.
#include <algorithm>
#include <cmath>

#include "gpu/primitives/digit_panels.cuh"
#include "gpu/primitives/product_digits.h"
#include "gpu/primitives/product_f64.h"
#include "gpu/primitives/spectral_norm.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

using namespace digits;

constexpr int most_blocks = 1024;
// Of columns of up to 24,576 numbers binary64 rounds A'A by no more than 24,576 * 4,096 * 2^-53 <
// 2^-26 of its length, which spectral_norm() pays for; the root and what it is multiplied by are
// within 2^-50.
constexpr double slack = 1 + 0x1p-40;

// The largest size as the bits of a double, which are in the order of sizes.
__global__ void largest_kernel(const double* matrix, std::int64_t depth, std::int64_t columns,
                               std::int64_t stride, unsigned long long* largest) {
    unsigned long long most_here = 0;
    for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
         i < depth * columns; i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
        const double size = fabs(matrix[i / columns * stride + i % columns]);
        most_here = max(most_here, static_cast<unsigned long long>(__double_as_longlong(size)));
    }
    if (most_here > 0) atomicMax(largest, most_here);
}

// Columns of a last panel that there are not are zeros.
__global__ void split_kernel(double* matrix, std::int64_t depth, std::int64_t columns,
                             std::int64_t padded, std::int64_t stride, double unit, int k_tiles,
                             std::int8_t* panels) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i >= padded * k_tiles * pieces) return;
    const std::int64_t column = i % padded;
    const auto c = static_cast<int>(i / padded);
    alignas(16) signed char out[planes][piece] = {};
    for (int j = 0; j < piece; ++j) {
        const std::int64_t row = std::int64_t{c} * piece + j;
        if (column >= columns || row >= depth) continue;
        double& x = matrix[row * stride + column];
        const double whole = rint(x / unit);
        const Digits d = digits_of(static_cast<int>(whole));
        out[0][j] = static_cast<signed char>(d.first);
        out[1][j] = static_cast<signed char>(d.second);
        out[2][j] = static_cast<signed char>(d.third);
        x = whole * unit;
    }
    std::int8_t* const to = panels + piece_at<panel_columns>(column, c, k_tiles);
    for (int p = 0; p < planes; ++p)
        *reinterpret_cast<uint4*>(to + p * plane_bytes<panel_columns>) =
            *reinterpret_cast<const uint4*>(out[p]);
}

// What a length is of: all digits, the second, the third.
enum class Part { all, second, third };

// In units of 2^23, so that powers are binary64.
__global__ void part_kernel(const double* matrix, std::int64_t depth, std::int64_t columns,
                            std::int64_t stride, double unit, Part part, double* out) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i >= depth * columns) return;
    const double whole = matrix[i / columns * stride + i % columns] / unit;
    const Digits d = digits_of(static_cast<int>(whole));
    const double digits = part == Part::all      ? whole
                          : part == Part::second ? 0x1p8 * d.second
                                                 : d.third;
    out[i] = digits * 0x1p-23;
}

template <class T>
void fetch(T* to, const T* from, std::int64_t count, cudaStream_t stream) {
    InFlight copy(stream);
    check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(count) * sizeof(T), cudaMemcpyDefault,
                          stream),
          "cudaMemcpy");
    copy.wait("digits of a matrix");
}

double largest_of(const double* matrix, std::int64_t depth, std::int64_t columns,
                  std::int64_t stride, cudaStream_t stream) {
    Buffer<unsigned long long> bits(1, stream);
    bits.clear_to(0);
    largest_kernel<<<std::min<unsigned>(most_blocks, item_blocks(depth * columns)), item_threads, 0,
                     stream>>>(matrix, depth, columns, stride, bits.get());
    check_launch("digits of a matrix");
    double largest = 0;
    static_assert(sizeof(double) == sizeof(unsigned long long));
    fetch(&largest, reinterpret_cast<const double*>(bits.get()), 1, stream);
    return largest;
}

DigitNorms norms_of(const double* matrix, std::int64_t depth, std::int64_t columns,
                    std::int64_t stride, double unit, cudaStream_t stream) {
    const Buffer<double> part(depth * columns, stream);
    Buffer<double> squares(columns * columns, stream);
    const auto length = [&](Part which) {
        part_kernel<<<item_blocks(depth * columns), item_threads, 0, stream>>>(
            matrix, depth, columns, stride, unit, which, part.get());
        check_launch("digits of a matrix");
        product(Operand<double>{part.get(), columns, depth, 1, columns}, part.get(), columns,
                columns, squares.get(), columns, stream);
        return std::sqrt(spectral_norm(squares, columns, stream)) * 0x1p23 * unit * slack;
    };
    return {length(Part::all), length(Part::second), length(Part::third)};
}

}  // namespace

DigitMatrix::DigitMatrix(double* matrix, std::int64_t depth, std::int64_t columns,
                         std::int64_t stride, cudaStream_t stream)
    : depth_(depth), columns_(columns) {
    const double largest = largest_of(matrix, depth, columns, stride, stream);
    if (largest > 0) unit_ = unit_of(largest);
    const auto k_tiles = static_cast<int>(blocks_for(depth, k_tile));
    const std::int64_t column_panels = blocks_for(columns, panel_columns),
                       padded = column_panels * panel_columns;
    panels_ = Buffer<std::int8_t>(column_panels * k_tiles * tile_bytes<panel_columns>, stream);
    split_kernel<<<item_blocks(padded * k_tiles * pieces), item_threads, 0, stream>>>(
        matrix, depth, columns, padded, stride, unit_, k_tiles, panels_.get());
    check_launch("digits of a matrix");
    norms_ = norms_of(matrix, depth, columns, stride, unit_, stream);
}

}  // namespace kith::gpu
