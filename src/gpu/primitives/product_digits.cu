// A warp splits a row: a lane takes 16 halves at a time, which are a piece of each plane.
#include "gpu/primitives/product_digits.h"

#include <limits>

#include "gpu/primitives/digit_panels.cuh"
#include "gpu/primitives/warp.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

using namespace digits;

// The sum of the squares of at most 24,576 numbers in f32, 768 a lane, then those of the lanes.
constexpr double squares_slack = 1 + 0x1p-14;
static_assert(most_digit_depth / 32 + 5 <= 1 << 10);
// A dozen operations in binary64.
constexpr double slack = 1 + 0x1p-20;

// Of a row's halves in its unit: the squares of the second and third digits and of what is lost.
struct Squares {
    int second = 0, third = 0;
    float lost = 0;
};

// Four halves in their unit, a byte of each word.
struct FourDigits {
    unsigned first = 0, second = 0, third = 0;

    __device__ __forceinline__ void set(int i, float x, Squares& squares) {
        const float whole = rintf(x), rest = x - whole;
        squares.lost += rest * rest;
        const Digits d = digits_of(static_cast<int>(whole));
        first |= (static_cast<unsigned>(d.first) & 255u) << 8 * i;
        second |= (static_cast<unsigned>(d.second) & 255u) << 8 * i;
        third |= (static_cast<unsigned>(d.third) & 255u) << 8 * i;
    }
};

__device__ __forceinline__ FourDigits four_digits(unsigned lower, unsigned upper, float per_unit,
                                                  Squares& squares) {
    const float2 a = __half22float2(*reinterpret_cast<const __half2*>(&lower)),
                 b = __half22float2(*reinterpret_cast<const __half2*>(&upper));
    FourDigits four;
    four.set(0, a.x * per_unit, squares);
    four.set(1, a.y * per_unit, squares);
    four.set(2, b.x * per_unit, squares);
    four.set(3, b.y * per_unit, squares);
    squares.second =
        __dp4a(static_cast<int>(four.second), static_cast<int>(four.second), squares.second);
    squares.third =
        __dp4a(static_cast<int>(four.third), static_cast<int>(four.third), squares.third);
    return four;
}

// The largest size of a row as the bits of a half, of which 0x7c00 and beyond are not finite.
__device__ unsigned largest_bits(const uint4* from, int eights) {
    unsigned largest = 0;  // of even places and of odd ones
    for (int i = threadIdx.x % 32; i < eights; i += 32) {
        const uint4 eight = __ldg(from + i);
        largest = __vmaxu2(largest, eight.x & 0x7fff7fffu);
        largest = __vmaxu2(largest, eight.y & 0x7fff7fffu);
        largest = __vmaxu2(largest, eight.z & 0x7fff7fffu);
        largest = __vmaxu2(largest, eight.w & 0x7fff7fffu);
    }
    return __reduce_max_sync(0xffffffffu, max(largest & 0xffffu, largest >> 16));
}

// Rows of a last panel that there are not are zeros.
__global__ void split_kernel(const __half* rows, std::int64_t count, std::int64_t padded, int depth,
                             int k_tiles, DigitNorms norms, std::int8_t* panels, float* units,
                             float* lost) {
    const std::int64_t row =
        (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) / 32;
    if (row >= padded) return;
    const int lane = threadIdx.x % 32;
    const auto* const from = reinterpret_cast<const uint4*>(rows + row * depth);
    const unsigned largest = row < count ? largest_bits(from, depth / 8) : 0;
    const bool finite = largest < 0x7c00u;
    float unit = 1;
    if (finite && largest > 0)
        unit = unit_of(__half2float(__ushort_as_half(static_cast<unsigned short>(largest))));
    const float per_unit = 1 / unit;
    const int there = row < count && finite ? depth / piece : 0;
    Squares squares;
    for (int c = lane; c < k_tiles * pieces; c += 32) {
        uint4 out[planes] = {};
        if (c < there) {
            const uint4 left = __ldg(from + 2 * c), right = __ldg(from + 2 * c + 1);
            const FourDigits x = four_digits(left.x, left.y, per_unit, squares),
                             y = four_digits(left.z, left.w, per_unit, squares),
                             z = four_digits(right.x, right.y, per_unit, squares),
                             w = four_digits(right.z, right.w, per_unit, squares);
            out[0] = {x.first, y.first, z.first, w.first};
            out[1] = {x.second, y.second, z.second, w.second};
            out[2] = {x.third, y.third, z.third, w.third};
        }
        std::int8_t* const to = panels + piece_at<panel_rows>(row, c, k_tiles);
#pragma unroll
        for (int p = 0; p < planes; ++p)
            *reinterpret_cast<uint4*>(to + p * plane_bytes<panel_rows>) = out[p];
    }
    const double second = __reduce_add_sync(0xffffffffu, squares.second),
                 third = __reduce_add_sync(0xffffffffu, squares.third),
                 rest = warp_sum(static_cast<double>(squares.lost));
    if (lane != 0 || row >= count) return;
    const double length = sqrt(second) * 0x1p8 * norms.third +
                          sqrt(third) * (norms.second + norms.third) +
                          sqrt(rest * squares_slack) * norms.all;
    units[row] = unit;
    lost[row] = finite ? __double2float_ru(length * static_cast<double>(unit) * slack)
                       : __int_as_float(0x7f800000);
}

}  // namespace

void product(const __half* rows, std::int64_t count, const DigitMatrix& b, std::int64_t columns,
             double* out, std::int64_t out_stride, float* lost, cudaStream_t stream,
             DigitInstructions instructions) {
    if (count == 0) return;
    const auto k_tiles = static_cast<int>(blocks_for(b.depth(), k_tile));
    const auto row_panels = static_cast<int>(blocks_for(count, panel_rows));
    const std::int64_t padded = std::int64_t{row_panels} * panel_rows;
    const Buffer<std::int8_t> panels(std::int64_t{row_panels} * k_tiles * tile_bytes<panel_rows>,
                                     stream);
    const Buffer<float> units(count, stream);
    split_kernel<<<blocks_for(padded, item_warps), item_threads, 0, stream>>>(
        rows, count, padded, static_cast<int>(b.depth()), k_tiles, b.norms(), panels.get(),
        units.get(), lost);
    check_launch("digits of rows");
    const Product all{
        panels.get(),
        b.panels(),
        units.get(),
        b.unit(),
        k_tiles,
        row_panels,
        static_cast<int>(blocks_for(columns, panel_columns)),
        count,
        columns,
        out,
        out_stride,
        out_stride % 2 == 0 && reinterpret_cast<std::uintptr_t>(out) % sizeof(double2) == 0,
        stream};
    if (instructions == DigitInstructions::any)
        instructions = device_attributes().capability == 90 ? DigitInstructions::sm_90a
                                                            : DigitInstructions::sm_80;
    if (instructions == DigitInstructions::sm_90a) multiply_sm90a(all);
    else multiply_sm80(all);
}

}  // namespace kith::gpu
