// True if two answers to one search have the same bits.
#pragma once

#include <gtest/gtest.h>

#include <cstring>

#include "kith/types.h"

inline ::testing::AssertionResult same_answer(const kith::Neighbors& want, const kith::Neighbors& got) {
    if (want.ids.size() != got.ids.size() || want.distances.size() != got.distances.size() ||
        want.distances64.size() != got.distances64.size())
        return ::testing::AssertionFailure() << "other shapes or types";
    for (std::size_t i = 0; i < want.ids.size(); ++i)
        if (want.ids[i] != got.ids[i])
            return ::testing::AssertionFailure()
                   << "entry " << i % static_cast<std::size_t>(want.k) << " of row "
                   << i / static_cast<std::size_t>(want.k) << ": id " << got.ids[i] << " instead of " << want.ids[i];
    // One of the two is empty, and has no address to compare.
    const auto differ = [](const auto& a, const auto& b) {
        return !a.empty() && std::memcmp(a.data(), b.data(), a.size() * sizeof(a[0])) != 0;
    };
    if (differ(want.distances, got.distances) || differ(want.distances64, got.distances64))
        return ::testing::AssertionFailure() << "other distances";
    return ::testing::AssertionSuccess();
}
