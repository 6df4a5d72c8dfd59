// NanRows of a GPU's memory: the numbers of host memory, in the order of a stream.
#include <gtest/gtest.h>

#include "gpu_arrays.h"
#include "kith/kith.h"
#include "kith/nan_rows.h"
#include "nan_cases.h"

namespace {

TEST(GpuNanRows, AreThoseOfHostMemory) {
    const gpu_arrays::Stream stream;
    nan_cases::each([&](const nan_cases::NanCase& c) {
        const auto rows = gpu_arrays::on_device(c.rows);
        EXPECT_EQ(c.wrong, kith::NanRows(rows.view).count()) << c.label;
        EXPECT_EQ(c.wrong, kith::NanRows(rows.view, stream.get()).count()) << c.label;
    });
}

TEST(GpuNanRows, BesideASearch) {
    constexpr std::int64_t n = 3000, d = 8, k = 4;
    std::vector<double> values(n * d);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * 2654435761 % 1000);
    values[17 * d + 3] = values[2999 * d] = std::numeric_limits<double>::quiet_NaN();
    const auto host = arrays::make(values, n, d, kith::ElementType::f32);
    const auto rows = gpu_arrays::on_device(host);
    kith::NanRows first(rows.view), second(rows.view), unasked(rows.view);
    const kith::Neighbors found = kith::graph(rows.view, k);
    EXPECT_EQ(2, first.count());
    EXPECT_EQ(2, second.count());
    EXPECT_EQ(kith::graph(host.view, k).ids, found.ids);
}

}  // namespace
