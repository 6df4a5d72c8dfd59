// Hilbert's curve, along which a GPU orders the points of a tree: it meets every cell once, and each is beside the one
// before.
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "gpu/tree/curve.h"

namespace {

using kith::gpu::curve_index;
using kith::gpu::CurveShape;

TEST(Curve, MeetsEveryCellBesideTheOneBefore) {
    for (const CurveShape shape : {CurveShape{1, 6}, CurveShape{2, 1}, CurveShape{2, 4}, CurveShape{3, 1},
                                   CurveShape{3, 3}, CurveShape{4, 2}, CurveShape{5, 2}, CurveShape{8, 1}}) {
        const std::size_t count = std::size_t{1} << shape.index_bits();
        std::vector<std::vector<int>> at(count);
        for (std::size_t number = 0; number < count; ++number) {
            std::vector<std::uint32_t> cell;
            std::vector<int> coordinates;
            for (int i = 0; i < shape.axes; ++i) {
                cell.push_back(static_cast<std::uint32_t>(number >> (i * shape.bits) & ((1u << shape.bits) - 1)));
                coordinates.push_back(static_cast<int>(cell.back()));
            }
            const std::uint64_t index = curve_index(shape, cell.data());
            ASSERT_LT(index, count);
            ASSERT_TRUE(at[index].empty()) << shape.axes << " axes, index " << index;
            at[index] = coordinates;
        }
        for (std::size_t index = 1; index < count; ++index) {
            int apart = 0;
            for (int i = 0; i < shape.axes; ++i) apart += std::abs(at[index][i] - at[index - 1][i]);
            ASSERT_EQ(1, apart) << shape.axes << " axes of " << shape.bits << " bits, index " << index;
        }
    }
}

TEST(Curve, LeavesABitOfAnIndex) {
    for (const std::int64_t d : {1, 2, 3, 8, 9, 31, 32, 63, 64, 1000}) {
        const CurveShape shape = kith::gpu::curve_shape(d);
        EXPECT_LE(shape.axes, kith::gpu::most_curve_axes);
        EXPECT_LE(shape.axes, d);
        EXPECT_GE(shape.bits, 1);
        EXPECT_LE(shape.bits, kith::gpu::most_curve_bits);
        EXPECT_LE(shape.index_bits(), 63);
    }
    // The largest cell of the widest shape.
    std::vector<std::uint32_t> cell(63, 1);
    EXPECT_LT(curve_index(kith::gpu::curve_shape(63), cell.data()), std::uint64_t{1} << 63);
    cell.assign(1, 0x7fffffffu);
    EXPECT_EQ(0x7fffffffu, curve_index(kith::gpu::curve_shape(1), cell.data()));
}

}  // namespace
