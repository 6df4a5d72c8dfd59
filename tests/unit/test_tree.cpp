// The kernels of trees: keys are exact::rank bit for bit, and no point of a box is nearer than the box. The order of a
// tree, and what it has of the points.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "adversarial.h"
#include "cpu/tree/kernels.h"
#include "cpu/tree/order.h"
#include "cpu/tree/tree.h"
#include "exact/canonical.h"
#include "metric/all.h"

namespace {

using namespace kith;

constexpr std::int64_t dimensions[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 17, 31, 32, 33, 34, 64, 65, 100};

std::vector<cpu::Isa> isas() {
    std::vector<cpu::Isa> list;
    for (const cpu::Isa isa : {cpu::Isa::baseline, cpu::Isa::avx2, cpu::Isa::avx512})
        if (cpu::supported(isa)) list.push_back(isa);
    return list;
}

bool has_nan(const double* row, std::int64_t d) {
    return std::any_of(row, row + d, [](double x) { return x != x; });
}

// Rows of an adversarial data set without NaN, mapped.
template <class M>
std::vector<double> mapped_rows(const std::string& data, std::int64_t n, std::int64_t d, const metric::Params& params,
                                std::uint64_t seed) {
    const auto set = adversarial::make(data, n, 1, d, seed, M::traits.non_negative);
    std::vector<double> rows;
    for (std::int64_t i = 0; i < n; ++i) {
        std::vector<double> row(set.points.begin() + i * d, set.points.begin() + (i + 1) * d);
        if (has_nan(row.data(), d)) continue;
        exact::prepare_vector<M>(row.data(), d, nullptr, params);
        rows.insert(rows.end(), row.begin(), row.end());
    }
    return rows;
}

metric::Params params_of(std::int64_t d, std::vector<double>& constants) {
    constants.clear();
    for (std::int64_t i = 0; i < d; ++i) constants.push_back(i % 5 == 4 ? 1e-3 : 0.3 + static_cast<double>(i % 3));
    metric::Params params;
    params.d = d;
    params.constants = constants.data();
    return params;
}

// Of groups of rows boxes, of all of them a leaf; every row is a query once.
template <class M>
void kernels_hold(MetricId id) {
    constexpr std::int64_t rows_of_box = cpu::leaf_points / cpu::node_boxes;
    std::vector<double> constants;
    for (const std::int64_t d : dimensions) {
        const metric::Params params = params_of(d, constants);
        for (const std::string& data : adversarial::names()) {
            const std::vector<double> rows = mapped_rows<M>(data, 60, d, params, static_cast<std::uint64_t>(d));
            const auto count = static_cast<std::int64_t>(rows.size()) / d;
            ASSERT_GE(count, cpu::leaf_points) << data;
            std::vector<double> leaf(static_cast<std::size_t>(d * cpu::leaf_points));
            std::vector<double> node(static_cast<std::size_t>(2 * d * cpu::node_boxes));
            for (std::int64_t j = 0; j < d; ++j) {
                for (std::int64_t p = 0; p < cpu::leaf_points; ++p) {
                    const double x = rows[p * d + j];
                    leaf[j * cpu::leaf_points + p] = x;
                    double& low = node[2 * j * cpu::node_boxes + p / rows_of_box];
                    double& high = node[(2 * j + 1) * cpu::node_boxes + p / rows_of_box];
                    if (p % rows_of_box == 0) low = high = x;
                    low = std::min(low, x);
                    high = std::max(high, x);
                }
            }
            for (const cpu::Isa isa : isas()) {
                const cpu::TreeKernels& kernels = cpu::tree_kernels(id, isa, d);
                ASSERT_NE(nullptr, kernels.keys);
                for (std::int64_t q = 0; q < count; ++q) {
                    const std::string what = data + ", " + name(id) + ", " + cpu::name(isa) + ", d " +
                                             std::to_string(d) + ", query " + std::to_string(q);
                    const double* const query = rows.data() + q * d;
                    alignas(64) double keys[cpu::leaf_points], bounds[cpu::node_boxes];
                    const double threshold = exact::rank<M>(query, rows.data() + (q * 7 % cpu::leaf_points) * d,
                                                            nullptr, nullptr, params, nullptr);
                    const std::uint64_t within = kernels.keys(query, leaf.data(), threshold, params, keys);
                    const std::uint64_t boxes = kernels.bounds(query, node.data(), threshold, params, bounds);
                    alignas(64) double reaches[cpu::node_boxes];
                    const std::uint64_t whole = kernels.reaches(query, node.data(), threshold, params, reaches);
                    const bool finite = std::all_of(query, query + d, [](double x) { return std::isfinite(x); });
                    for (std::int64_t p = 0; p < cpu::leaf_points; ++p) {
                        const double rank =
                            exact::rank<M>(query, rows.data() + p * d, nullptr, nullptr, params, nullptr);
                        ASSERT_EQ(std::bit_cast<std::uint64_t>(rank), std::bit_cast<std::uint64_t>(keys[p])) << what;
                        ASSERT_EQ(rank <= threshold, (within >> p & 1) != 0) << what;
                        const std::int64_t b = p / rows_of_box;
                        ASSERT_LE(bounds[b], rank) << what;
                        ASSERT_EQ(bounds[b] <= threshold, (boxes >> b & 1) != 0) << what;
                        ASSERT_EQ(reaches[b] <= threshold, (whole >> b & 1) != 0) << what;
                        if (finite) {
                            ASSERT_GE(reaches[b], rank) << what;
                        }
                    }
                }
            }
        }
    }
}

template <class M>
void kernels_hold_if_monotone(MetricId id) {
    if constexpr (M::traits.monotone) kernels_hold<M>(id);
    else EXPECT_EQ(nullptr, cpu::tree_kernels(id, cpu::Isa::baseline, 3).keys) << name(id);
}

#define KITH_METRIC(name, type, aliases, what)                  \
    TEST(TreeKernels, HoldFor_##name) {                         \
        kernels_hold_if_monotone<metric::type>(MetricId::name); \
    }
#include "kith/metrics.def"
#undef KITH_METRIC

// Neighbours of the doubles at which operations round differently: a box that ends an ulp too early is noticed.
TEST(TreeKernels, BoundsHoldToTheLastBit) {
    adversarial::Random random(5);
    for (int turn = 0; turn < 20000; ++turn) {
        constexpr std::int64_t d = 3;
        std::vector<double> constants;
        const metric::Params params = params_of(d, constants);
        double q[d], node[2 * d * cpu::node_boxes], inside[d];
        const double scale = std::ldexp(1.0, static_cast<int>(random.below(60)) - 30);
        for (std::int64_t j = 0; j < d; ++j) {
            q[j] = random.gaussian() * scale;
            double low = random.gaussian(), high = low;
            for (std::int64_t ulps = random.below(4); ulps > 0; --ulps) high = std::nextafter(high, 10);
            inside[j] = random.below(2) ? low : high;
            std::fill_n(node + 2 * j * cpu::node_boxes, cpu::node_boxes, low);
            std::fill_n(node + (2 * j + 1) * cpu::node_boxes, cpu::node_boxes, high);
        }
        for (const cpu::Isa isa : isas()) {
            alignas(64) double bounds[cpu::node_boxes];
            cpu::tree_kernels(MetricId::euclidean, isa, d).bounds(q, node, 1, params, bounds);
            ASSERT_LE(bounds[0], exact::rank<metric::Euclidean>(q, inside, nullptr, nullptr, params, nullptr));
            cpu::tree_kernels(MetricId::euclidean, isa, d).reaches(q, node, 1, params, bounds);
            ASSERT_GE(bounds[0], exact::rank<metric::Euclidean>(q, inside, nullptr, nullptr, params, nullptr));
            cpu::tree_kernels(MetricId::cityblock, isa, d).bounds(q, node, 1, params, bounds);
            ASSERT_LE(bounds[0], exact::rank<metric::Cityblock>(q, inside, nullptr, nullptr, params, nullptr));
            cpu::tree_kernels(MetricId::cityblock, isa, d).reaches(q, node, 1, params, bounds);
            ASSERT_GE(bounds[0], exact::rank<metric::Cityblock>(q, inside, nullptr, nullptr, params, nullptr));
        }
    }
}

// Of every aligned range the two halves do not overlap in the coordinate that was split; each number occurs once.
TEST(TreeOrder, IsThatOfATree) {
    const std::function<bool(const Progress&)> no_callback;
    ProgressMeter progress(no_callback, 0);
    for (const char* data : {"uniform", "lattice", "all_equal", "duplicates", "outlier", "infinities"}) {
        for (const std::int64_t n : {1, 31, 32, 33, 64, 65, 1000, 20000, 70001}) {
            constexpr std::int64_t d = 3, leaf = 32;
            const auto set = adversarial::make(data, n, 1, d, 3);
            std::vector<std::int64_t> numbers(static_cast<std::size_t>(n));
            std::iota(numbers.begin(), numbers.end(), std::int64_t{0});
            cpu::order_rows(set.points.data(), d, numbers.data(), n, leaf, 2, progress);
            std::vector<std::int64_t> sorted = numbers;
            std::sort(sorted.begin(), sorted.end());
            for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(i, sorted[i]);
            for (std::int64_t half = leaf; half < n; half *= 2) {
                for (std::int64_t first = 0; first + half < n; first += 2 * half) {
                    bool apart = false;
                    for (std::int64_t j = 0; j < d; ++j) {
                        double most = -std::numeric_limits<double>::infinity(), least = -most;
                        for (std::int64_t i = first; i < first + half; ++i)
                            most = std::max(most, set.points[numbers[i] * d + j]);
                        for (std::int64_t i = first + half; i < std::min(n, first + 2 * half); ++i)
                            least = std::min(least, set.points[numbers[i] * d + j]);
                        apart = apart || most <= least;
                    }
                    ASSERT_TRUE(apart) << data << ", n " << n << ", half " << half << " at " << first;
                }
            }
        }
    }
}

TEST(Tree, HasEveryPointInItsBoxes) {
    const std::function<bool(const Progress&)> no_callback;
    ProgressMeter progress(no_callback, 0);
    MetricSpec metric;
    metric.id = MetricId::euclidean;
    constexpr std::int64_t d = 2;
    metric.params.d = d;
    for (const char* data : {"uniform", "nan_rows", "infinities"}) {
        for (const std::int64_t n : {1, 32, 33, 256, 257, 3000, 20000}) {
            const auto set = adversarial::make(data, n, 1, d, 9);
            const auto tree = cpu::Tree::make(view(set.points.data(), n, d), metric, cpu::best_isa(), 2, progress);
            ASSERT_EQ(n, tree->points() + static_cast<std::int64_t>(tree->nan_rows().size()));
            for (const std::int64_t row : tree->nan_rows()) ASSERT_TRUE(has_nan(set.points.data() + row * d, d));
            for (int level = 0; level < tree->levels(); ++level) {
                std::int64_t points = 0, boxes = tree->leaves();
                for (int below = 0; below < level; ++below) boxes = (boxes + cpu::node_boxes - 1) / cpu::node_boxes;
                for (std::int64_t box = 0; box < boxes; ++box) points += tree->count(level, box);
                ASSERT_EQ(tree->points(), points);
            }
            for (std::int64_t leaf = 0; leaf < tree->leaves(); ++leaf) {
                for (std::int64_t p = 0; p < tree->count(leaf); ++p) {
                    const std::int64_t id = tree->ids(leaf)[p];
                    std::int64_t box = leaf;
                    for (int level = 0; level < tree->levels(); ++level) {
                        const std::int64_t node = box / cpu::node_boxes, b = box % cpu::node_boxes;
                        ASSERT_LT(b, tree->boxes(level, node));
                        ASSERT_LE(tree->least_ids(level, node)[b], id);
                        for (std::int64_t j = 0; j < d; ++j) {
                            const double x = set.points[id * d + j];
                            ASSERT_EQ(x, tree->coordinates(leaf)[j * cpu::leaf_points + p]);
                            ASSERT_LE(tree->bounds(level, node)[2 * j * cpu::node_boxes + b], x);
                            ASSERT_GE(tree->bounds(level, node)[(2 * j + 1) * cpu::node_boxes + b], x);
                        }
                        box = node;
                    }
                    ASSERT_EQ(0, box);
                }
            }
        }
    }
}

}  // namespace
