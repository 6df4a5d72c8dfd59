// The public merge queue on the host: the k smallest of any row, in the order of a stable sort.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "kith/merge_queue.cuh"

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

std::vector<std::vector<float>> rows() {
    std::mt19937 random(1);
    std::vector<float> uniform(500), ties(500), ascending(500), descending, special(500);
    for (float& x : uniform) x = std::uniform_real_distribution<float>(-1, 1)(random);
    for (float& x : ties) x = static_cast<float>(std::uniform_int_distribution<int>(0, 7)(random));
    std::iota(ascending.begin(), ascending.end(), 0.F);
    descending.assign(ascending.rbegin(), ascending.rend());
    for (std::size_t i = 0; i < special.size(); ++i)
        special[i] = i % 3 == 0 ? std::nanf("") : i % 5 == 0 ? infinity : i % 7 == 0 ? -infinity : uniform[i];
    return {uniform, ties, ascending, descending, special, std::vector<float>(500, 3.F), {1, 2}, {}};
}

template <class Queue, int k>
void keeps_the_smallest(const std::vector<float>& row) {
    std::vector<int> order;
    for (int i = 0; i < static_cast<int>(row.size()); ++i)
        if (!std::isnan(row[static_cast<std::size_t>(i)])) order.push_back(i);
    std::ranges::stable_sort(order, {}, [&](int i) { return row[static_cast<std::size_t>(i)]; });
    Queue queue;
    for (int i = 0; i < static_cast<int>(row.size()); ++i) {
        queue.insert(row[static_cast<std::size_t>(i)], i);
        // A threshold leaves out nothing that belongs to the k smallest so far.
        if (i + 1 < k) {
            EXPECT_EQ(infinity, queue.threshold());
        }
    }
    queue.sort();
    for (int j = 0; j < k; ++j) {
        if (j < static_cast<int>(order.size())) {
            ASSERT_EQ(order[static_cast<std::size_t>(j)], queue.index(j)) << j;
            ASSERT_EQ(row[static_cast<std::size_t>(order[static_cast<std::size_t>(j)])], queue.key(j)) << j;
        } else {
            ASSERT_EQ(Queue::none, queue.index(j)) << j;
            ASSERT_EQ(infinity, queue.key(j)) << j;
        }
    }
}

template <int k>
void for_every_queue() {
    for (const std::vector<float>& row : rows()) {
        keeps_the_smallest<kith::MergeQueue<k>, k>(row);
        keeps_the_smallest<kith::MergeQueue<k, 8, false>, k>(row);
        keeps_the_smallest<kith::MergeQueue<k, 2>, k>(row);
        keeps_the_smallest<kith::MergeQueue<k, 16, true, double, long long>, k>(row);
    }
}

TEST(MergeQueue, KeepsTheSmallest) {
    for_every_queue<1>();
    for_every_queue<7>();
    for_every_queue<8>();
    for_every_queue<9>();
    for_every_queue<64>();
    for_every_queue<100>();
}

// A row that goes on after a sort.
TEST(MergeQueue, GoesOnAfterASort) {
    kith::MergeQueue<10> queue;
    for (int i = 0; i < 50; ++i) queue.insert(static_cast<float>(100 - i), i);
    queue.sort();
    EXPECT_EQ(60, queue.threshold());
    for (int i = 50; i < 100; ++i) queue.insert(static_cast<float>(100 - i), i);
    queue.sort();
    for (int j = 0; j < 10; ++j) {
        EXPECT_EQ(static_cast<float>(j + 1), queue.key(j));
        EXPECT_EQ(99 - j, queue.index(j));
    }
}

}  // namespace
