// select() on CUDA by the selectors with a hierarchical partition (Tang 2015, III.E), against the definition.
#include <string>
#include <string_view>
#include <vector>

#include "gpu/select/selectors.h"
#include "gpu_arrays.h"
#include "select_cases.h"

namespace {

std::vector<kith::gpu::Selector> partitioned() {
    std::vector<kith::gpu::Selector> found;
    for (const kith::gpu::Selector& selector : kith::gpu::selectors)
        if (std::string_view(selector.name).find("+hp") != std::string_view::npos) found.push_back(selector);
    return found;
}

class Partition : public testing::TestWithParam<kith::gpu::Selector> {};

// The smallest side by side, in few groups; at the other end; far apart, in many groups; runs of equal values within
// groups and across them; all alike. Another turn of it in every row, and rows that fill no last warp.
double value(std::int64_t row, std::int64_t column, std::int64_t n) {
    const std::int64_t turned = (column + 7 * row) % n;
    const std::int64_t kinds[] = {turned, n - turned, turned * 61 % n, turned / 8, turned % 8, 0};
    return static_cast<double>(kinds[row % 6]);
}

void check(const kith::gpu::Selector& selector, std::int64_t n, std::int64_t k) {
    constexpr std::int64_t rows = 65;
    if (k < 1 || k > n || k > selector.max_k) return;
    std::vector<double> all;
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t column = 0; column < n; ++column) all.push_back(value(row, column, n));
    const auto matrix = arrays::make(all, rows, n, kith::ElementType::f32);
    for (const bool sorted : {true, false}) {
        kith::Options options;
        options.device = "cuda";
        options.selector = selector.name;
        options.sorted = sorted;
        options.largest = !sorted;
        select_cases::check(all, n, kith::select(matrix.view, k, options), false, options,
                            "n " + std::to_string(n) + ", k " + std::to_string(k));
        if (testing::Test::HasFatalFailure()) return;
    }
}

// Rows of no whole groups, levels of one entry, a top level that just fits and one that just does not.
TEST_P(Partition, EveryBorder) {
    for (const std::int64_t n : {1, 2, 8, 9, 63, 64, 65, 513, 4097})
        for (const std::int64_t k : {std::int64_t{1}, std::int64_t{2}, std::int64_t{8}, std::int64_t{9},
                                     std::int64_t{64}, std::int64_t{65}, std::int64_t{512}, n - 1, n}) {
            check(GetParam(), n, k);
            if (HasFatalFailure()) return;
        }
}

// Independent values, where most of what the queue holds is replaced from level to level.
TEST_P(Partition, EveryRowOfMany) {
    constexpr std::int64_t rows = 1000, n = 3000;
    const std::vector<double> all = select_cases::values("gaussian", rows, n, 11);
    const auto matrix = arrays::make(all, rows, n, kith::ElementType::f32);
    for (const std::int64_t k : {10, 100, 700}) {
        kith::Options options;
        options.device = "cpu";
        const kith::Neighbors want = kith::select(matrix.view, k, options);
        options.device = "cuda";
        options.selector = GetParam().name;
        const kith::Neighbors got = kith::select(matrix.view, k, options);
        ASSERT_EQ(want.ids, got.ids) << "k " << k;
        ASSERT_EQ(want.distances, got.distances) << "k " << k;
    }
}

std::string test_name(const testing::TestParamInfo<kith::gpu::Selector>& info) {
    std::string name = info.param.name;
    for (char& c : name)
        if (c == '+' || c == '-') c = '_';
    return name;
}
INSTANTIATE_TEST_SUITE_P(GpuPartition, Partition, testing::ValuesIn(partitioned()), test_name);

}  // namespace
