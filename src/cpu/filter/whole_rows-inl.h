// Rows that are whole numbers of 8 bits as they are, for one instruction set.
#pragma once

#include "cpu/filter/tile.h"
#include "cpu/simd/vector_ops-inl.h"

namespace kith::cpu::KITH_TARGET {
namespace {

// in - least, to d bytes without a sign.
WholeSums take_whole(const double* in, double least, std::int64_t d, std::uint8_t* out) {
    using Real = VectorOps<double>;
    constexpr int lanes = Real::lanes;
    typedef std::int32_t Wholes __attribute__((vector_size(4 * lanes)));
    typedef std::uint8_t Bytes __attribute__((vector_size(lanes)));
    const Real::V most = Real::set(255);
    Wholes sum = {}, squares = {};
    Real::M others = {};
    const auto step = [&](Real::V row, std::size_t width, std::uint8_t * to)
        __attribute__((always_inline)) {
        const Real::V v = row - least, above = v > 0 ? v : Real::zero();  // of NaN 0
        const Wholes whole = __builtin_convertvector(above < most ? above : most, Wholes);
        const Bytes bytes = __builtin_convertvector(whole, Bytes);
        std::memcpy(to, &bytes, width);
        sum += whole;
        squares += whole * whole;
        // Not of v: a sum may be whole where its terms are not.
        others |= __builtin_convertvector(whole, Real::V) + least != row;
    };
    std::int64_t j = 0;
    for (; j + lanes <= d; j += lanes) step(Real::load(in + j), lanes, out + j);
    WholeSums sums{0, 0, true};
    if (j < d) {
        // Lanes beyond the row are those of the least number, which adds nothing.
        double rest[lanes];
        for (int l = 0; l < lanes; ++l) rest[l] = j + l < d ? in[j + l] : least;
        step(Real::load(rest), static_cast<std::size_t>(d - j), out + j);
    }
    for (int l = 0; l < lanes; ++l) {
        sums.sum += sum[l];
        sums.squares += squares[l];
        sums.whole &= others[l] == 0;
    }
    return sums;
}

std::int32_t byte_product(const std::uint8_t* x, const std::int8_t* q, std::int64_t count) {
    std::int32_t sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = 0; j < count; ++j)
        sum += static_cast<std::int32_t>(x[j]) * static_cast<std::int32_t>(q[j]);
    return sum;
}

}  // namespace
}  // namespace kith::cpu::KITH_TARGET
