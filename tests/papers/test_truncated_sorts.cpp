// The benchmark's serial truncated sorts: the k smallest of rows in every order, as a stable sort has them.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "papers/truncated_sorts.h"

namespace {

using kith::bench::papers::NamedSort;
using kith::bench::papers::SortEntry;

std::vector<std::vector<float>> rows(std::size_t n) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    std::mt19937 random(static_cast<unsigned>(n));
    std::vector<float> uniform(n), few(n), up(n), infinite(n), near(n);
    for (std::size_t i = 0; i < n; ++i) {
        uniform[i] = std::uniform_real_distribution<float>(-1, 1)(random);
        few[i] = static_cast<float>(std::uniform_int_distribution<int>(-2, 2)(random)) * 0.5F;
        up[i] = static_cast<float>(i);
        infinite[i] = i % 2 ? infinity : i % 5 ? uniform[i] : -infinity;
        near[i] = 20 + 1e-4F * uniform[i];  // one leading digit
    }
    std::vector<float> down(up.rbegin(), up.rend());
    return {uniform, few, up, down, infinite, near, std::vector<float>(n, 4.F)};
}

TEST(TruncatedSorts, TheSmallestInOrder) {
    for (const std::size_t n : {1, 2, 3, 17, 64, 100, 1000})
        for (const std::vector<float>& row : rows(n)) {
            std::vector<SortEntry> entries;
            for (std::size_t i = 0; i < n; ++i) entries.push_back({row[i], static_cast<std::int32_t>(i)});
            std::vector<SortEntry> sorted = entries;
            std::ranges::stable_sort(sorted, {}, &SortEntry::value);
            for (const std::size_t k : {std::size_t{1}, std::size_t{2}, std::size_t{5}, std::size_t{32}, n / 2, n}) {
                if (k < 1 || k > n) continue;
                for (const NamedSort& each : kith::bench::papers::truncated_sorts()) {
                    std::vector<SortEntry> own = entries;
                    each.sort(own, static_cast<std::int64_t>(k));
                    for (std::size_t i = 0; i < k; ++i) {
                        ASSERT_EQ(sorted[i].id, own[i].id) << each.name << ", n " << n << ", k " << k << ", " << i;
                        ASSERT_EQ(sorted[i].value, own[i].value);
                    }
                }
            }
        }
}

TEST(TruncatedSorts, AreTheSevenOfThePaper) {
    std::string names;
    for (const NamedSort& each : kith::bench::papers::truncated_sorts()) names += std::string(each.name) + " ";
    EXPECT_EQ("bubble merge insertion heap quick radix bitonic ", names);
}

}  // namespace
