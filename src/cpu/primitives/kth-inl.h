// The k-th smallest of some values for one instruction set: bisection by counting, on integers in
// the order of the values.
#pragma once

#include "cpu/primitives/kth.h"
#include "cpu/simd/vector_ops-inl.h"

namespace kith::cpu::KITH_TARGET {
namespace {

using Floats = VectorOps<float>;
using Ints = Floats::M;

// Bits of a float to an integer that orders as it does, and back.
KITH_HD Ints ordered(Ints bits) {
    return bits ^ (Ints)((bits >> 31) & 0x7fffffff);
}
KITH_HD std::int32_t ordered(std::int32_t bits) {
    return bits ^ ((bits >> 31) & 0x7fffffff);
}

KITH_HD std::int32_t sum_of(Ints v) {
    std::int32_t sum = 0;
    for (int i = 0; i < Floats::lanes; ++i) sum += v[i];
    return sum;
}

// Halves the range that holds it until k keys are at most its upper end.
float kth(float* values, std::int64_t count, std::int64_t k) {
    constexpr int lanes = Floats::lanes;
    constexpr std::int32_t beyond = std::numeric_limits<std::int32_t>::max();
    const std::int64_t whole = count / lanes * lanes;
    const int rest = static_cast<int>(count - whole);
    const auto load = [&](std::int64_t i) __attribute__((always_inline)) {
        return (Ints)Floats::load(values + i);
    };
    // Lanes beyond the last value are above all.
    Ints last = beyond - Ints{};
    if (rest > 0) {
        const Ints in = ordered((Ints)Floats::load_part(values + whole, rest));
        last = Floats::first(rest) ? in : last;
    }
    Ints low = last,
         high = rest > 0 ? (Floats::first(rest) ? last : (~beyond - Ints{})) : (~beyond - Ints{});
    for (std::int64_t i = 0; i < whole; i += lanes) {
        const Ints key = ordered(load(i));
        Floats::store(values + i, (Floats::V)key);
        low = key < low ? key : low;
        high = key > high ? key : high;
    }
    std::int32_t least = low[0], most = high[0];
    for (int i = 1; i < lanes; ++i) {
        least = std::min<std::int32_t>(least, low[i]);
        most = std::max<std::int32_t>(most, high[i]);
    }
    // At least k keys are at most `most`, fewer than k below `least`.
    while (least < most) {
        const auto half = static_cast<std::uint32_t>(most) - static_cast<std::uint32_t>(least);
        const auto middle = static_cast<std::int32_t>(static_cast<std::uint32_t>(least) + half / 2);
        const Ints limit = middle - Ints{};
        Ints counts[2] = {last <= limit, {}};
        std::int64_t i = 0;
        for (; i + 2 * lanes <= whole; i += 2 * lanes) {
            counts[0] += load(i) <= limit;
            counts[1] += load(i + lanes) <= limit;
        }
        if (i < whole) counts[0] += load(i) <= limit;
        const std::int64_t within = -sum_of(counts[0] + counts[1]);
        if (within >= k) most = middle;
        else least = middle + 1;
        if (within != k) continue;
        // The largest of those k.
        Ints top = last <= limit ? last : (~beyond - Ints{});
        for (std::int64_t j = 0; j < whole; j += lanes) {
            const Ints key = load(j), kept = key <= limit ? key : (~beyond - Ints{});
            top = kept > top ? kept : top;
        }
        most = top[0];
        for (int j = 1; j < lanes; ++j) most = std::max<std::int32_t>(most, top[j]);
        break;
    }
    return std::bit_cast<float>(ordered(most));
}

}  // namespace

KthSmallest kth_kernel() {
    return kth;
}

}  // namespace kith::cpu::KITH_TARGET
