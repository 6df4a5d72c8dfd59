// The benchmark's tables of selections: names that exist, figures for every x, baselines that are fair; the distances
// that they are timed on, and the host's model of Tang's top-down search.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "cpu/select/selectors.h"
#include "gpu/select/selectors.h"
#include "select/buffered_inserts.h"
#include "select/partition_inserts.h"
#include "select/study.h"
#include "select/table.h"

namespace {

using kith::bench::Panel;
using kith::bench::Partition;
using kith::bench::Series;
using kith::bench::Table;

std::vector<std::string> words(std::string text) {
    std::ranges::replace(text, ',', ' ');
    std::istringstream stream(text);
    return {std::istream_iterator<std::string>(stream), {}};
}

void check(const Table& table, const Panel& panel, const Series& series) {
    SCOPED_TRACE(table.name + ", " + panel.title + ", " + series.label);
    for (std::string name : words(series.selector)) {
        if (series.threads != kith::bench::on_gpu) {
            EXPECT_NE(nullptr, kith::cpu::find_selector(name)) << name;
            continue;
        }
        if (const std::size_t mark = name.find("{}"); mark != std::string::npos)
            name.replace(mark, 2, std::to_string(panel.at[0]));
        EXPECT_NE(nullptr, kith::gpu::find_selector(name)) << name;
    }
    EXPECT_TRUE(series.paper.empty() || series.paper.size() == panel.at.size());
    if (series.against.empty()) return;
    const auto base = std::ranges::find(panel.series, series.against, &Series::label);
    ASSERT_NE(panel.series.end(), base);
    // CUB's segmented sort gives a row one block: beside it anything that shares a lone row out is fast.
    EXPECT_FALSE(panel.q == 1 && base->selector == "radix-sort-segmented");
}

TEST(Tables, AreWhole) {
    const std::vector<std::string> names = words(kith::bench::table_names());
    EXPECT_TRUE(std::ranges::count(names, "tang-fig6") && std::ranges::count(names, "sismanis-fig1"));
    for (const std::string& name : names) {
        const Table table = kith::bench::table_named(name);
        EXPECT_EQ(name, table.name);
        for (const Panel& panel : table.panels) {
            EXPECT_FALSE(panel.at.empty() || panel.series.empty()) << name << ", " << panel.title;
            for (const std::int64_t x : panel.quick_at)
                EXPECT_TRUE(std::ranges::count(panel.at, x)) << name << ": " << x;
            for (const Series& series : panel.series) check(table, panel, series);
        }
    }
}

// Uniform in [0, 1)^128: the mean of (a - b)^2 is 1 / 6 a coordinate, its variance 7 / 180.
TEST(Tables, DistancesAreOfUniformPoints) {
    constexpr std::int64_t rows = 64, n = 512;
    double sum = 0, squares = 0;
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t column = 0; column < n; ++column) {
            const double v = value_at(kith::bench::Order::distances, row, column, n);
            sum += v;
            squares += v * v;
        }
    const double mean = sum / (rows * n), variance = squares / (rows * n) - mean * mean;
    EXPECT_NEAR(128 / 6.0, mean, 0.15);
    EXPECT_NEAR(128 * 7 / 180.0, variance, 0.5);
    // Of query and point alone, however many points there are.
    EXPECT_EQ(value_at(kith::bench::Order::distances, 3, 5, 10), value_at(kith::bench::Order::distances, 3, 5, 1000));
}

std::vector<float> row_of(std::int64_t n, int distinct) {
    std::vector<float> row;
    for (std::int64_t column = 0; column < n; ++column) {
        const float unit = value_at(kith::bench::Order::uniform, 7, column, n);
        row.push_back(distinct ? std::floor(unit * static_cast<float>(distinct)) : unit);
    }
    return row;
}

TEST(TopDownSearch, FindsTheSmallest) {
    for (const std::int64_t n : {1, 2, 7, 64, 65, 1000})
        for (const int distinct : {0, 1, 3}) {
            const std::vector<float> row = row_of(n, distinct);
            std::vector<std::int64_t> order(row.size());
            std::iota(order.begin(), order.end(), 0);
            std::ranges::stable_sort(order, {},
                                     [&](std::int64_t column) { return row[static_cast<std::size_t>(column)]; });
            for (const std::int64_t k : {std::int64_t{1}, std::int64_t{3}, std::int64_t{8}, n / 2, n}) {
                if (k < 1 || k > n) continue;
                const std::vector<std::int64_t> want(order.begin(), order.begin() + k);
                for (const std::int64_t group : {2, 4, 8})
                    for (const auto partition : {Partition::none, Partition::restarted, Partition::kept})
                        EXPECT_EQ(want, run_queue(row, k, group, partition).columns)
                            << "n " << n << ", k " << k << ", G " << group << ", " << static_cast<int>(partition);
            }
        }
}

// The figures of lab/*-select-queues.md: a queue that is emptied at each level takes more entries than a search of the
// whole row, one that is kept less than a third as many.
TEST(TopDownSearch, KeepsItsQueue) {
    struct Figures {
        std::int64_t k;
        double none, restarted, kept;
    };
    for (const Figures& f : {Figures{32, 252, 394, 51}, {256, 1499, 2275, 434}, {1024, 4575, 6677, 1734}}) {
        constexpr std::int64_t n = 1 << 15, group = 4;
        EXPECT_NEAR(f.none, mean_inserted(n, f.k, group, Partition::none), 1) << f.k;
        EXPECT_NEAR(f.restarted, mean_inserted(n, f.k, group, Partition::restarted), 1) << f.k;
        EXPECT_NEAR(f.kept, mean_inserted(n, f.k, group, Partition::kept), 1) << f.k;
    }
}

// Hanak 2023, eq. 4.2 and 4.3: what a model counts is below the bounds, and above what no buffer could save.
TEST(BufferedInserts, AreBelowTheBounds) {
    struct Size {
        std::int64_t n, k;
    };
    for (const Size& size : {Size{1 << 13, 32}, Size{1 << 17, 32}, Size{1 << 17, 512}, Size{1 << 17, 2048}}) {
        SCOPED_TRACE("n " + std::to_string(size.n) + ", k " + std::to_string(size.k));
        const kith::bench::BufferedSelection bits = kith::bench::bits_selection(size.k);
        const auto bound = expected_of(bits, size.n), model = simulated(bits, size.n);
        EXPECT_LT(model.added, bound.added);
        EXPECT_LT(model.merges, bound.merges);
        const auto n = static_cast<double>(size.n), k = static_cast<double>(size.k);
        EXPECT_GT(model.added, k * (1 + std::log(n / k)));
        EXPECT_GE(model.merges, model.added / static_cast<double>(bits.buffer));
    }
    // The thesis' own case, a buffer of k: 2 k (1 + H(n) - H(2 k)), 1 + 2 (1 + H(n) - H(2 k)).
    const auto bound = kith::bench::expected_of({.k = 100, .buffer = 100, .chunk = 1}, 1 << 20);
    const double harmonic = std::log(static_cast<double>(1 << 20) / 200);  // H(n) - H(2 k), to 1 / 400
    EXPECT_NEAR(200 * (1 + harmonic), bound.added, 1);
    EXPECT_NEAR(3 + 2 * harmonic, bound.merges, 0.01);
    // Fewer values than that: all may be added.
    EXPECT_EQ(150, kith::bench::expected_of({.k = 100, .buffer = 100, .chunk = 1}, 150).added);
}

}  // namespace
