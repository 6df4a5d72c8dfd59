// Which of many values are within a threshold, for one instruction set.
#pragma once

#include <cstdint>

#include "cpu/simd/isa.h"

namespace kith::cpu {

// Positions of the values that are at most `threshold` (`largest`: at least), ascending, into
// positions[count]; returns how many. NaN is never within; nothing is within NaN.
template <class T>
using Within = std::int64_t (*)(const T* values, std::int64_t count, T threshold, bool largest,
                                std::uint32_t* positions);

struct WithinKernels {
    Within<float> f32;
    Within<double> f64;
};

const WithinKernels& within_kernels(Isa isa);

}  // namespace kith::cpu
