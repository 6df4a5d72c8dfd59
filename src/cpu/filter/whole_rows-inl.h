// Rows that are whole numbers of 8 bits as they are, for one instruction set.
#pragma once

#include "cpu/filter/tile.h"

namespace kith::cpu::KITH_TARGET {
namespace {

// in - least, to d bytes without a sign.
WholeSums take_whole(const double* in, double least, std::int64_t d, std::uint8_t* out) {
    constexpr double most = 255;
    std::int32_t sum = 0, squares = 0, others = 0;
#pragma omp simd reduction(+ : sum, squares, others)
    for (std::int64_t j = 0; j < d; ++j) {
        const double v = in[j] - least, above = v > 0 ? v : 0;  // of NaN 0
        const auto whole = static_cast<std::int32_t>(above < most ? above : most);
        out[j] = static_cast<std::uint8_t>(whole);
        sum += whole;
        squares += whole * whole;
        // Not v: a sum may be whole where its terms are not.
        others += static_cast<double>(whole) + least != in[j];
    }
    return {sum, squares, others == 0};
}

std::int32_t byte_product(const std::uint8_t* x, const std::int8_t* q, std::int64_t count) {
    std::int32_t sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = 0; j < count; ++j) sum += static_cast<std::int32_t>(x[j]) * static_cast<std::int32_t>(q[j]);
    return sum;
}

}  // namespace
}  // namespace kith::cpu::KITH_TARGET
