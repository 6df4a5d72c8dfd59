// A filter's vectors of points and queries are the same, bit for bit, however these lie in memory: kernels take rows
// whose elements lie side by side by groups of lanes, a few elements at a time, and all others one element after the
// other. Half norms and errors, whose sums are in another order, differ by a rounding.
#include <cmath>
#include <limits>
#include <random>

#include "filter_values.h"
#include "prepared_filter.h"

namespace {

using namespace kith;
using filter_values::to_host;

// Rows around a mean, some of them of zeros, far longer than the others, with a NaN or an infinite coordinate.
std::vector<double> rows_of(std::int64_t n, std::int64_t d) {
    std::mt19937 random(static_cast<unsigned>(d));
    std::normal_distribution<double> normal;
    std::vector<double> out(static_cast<std::size_t>(n * d));
    for (double& x : out) x = 1 + normal(random);
    const auto fill = [&](std::int64_t row, double value) { std::fill_n(out.begin() + row * d, d, value); };
    fill(7, 0.0);
    fill(8, 1e30);
    out[static_cast<std::size_t>(20 * d + d - 1)] = std::numeric_limits<double>::quiet_NaN();
    out[static_cast<std::size_t>(30 * d + d / 2)] = std::numeric_limits<double>::infinity();
    return out;
}

struct FilterRows {
    std::vector<std::uint16_t> vectors, queries;
    std::vector<float> half_norm, error, query_error;
    std::vector<std::uint8_t> unfit;
};

FilterRows filter_rows(const std::vector<double>& values, std::int64_t n, std::int64_t d, ElementType type,
                       arrays::Shape shape, const std::string& metric) {
    const gpu_arrays::DeviceArray points = gpu_arrays::on_device(arrays::make(values, n, d, type, shape));
    const PreparedFilter prepared(points.view, points.view, metric, Path::gemm_f16);
    const gpu::FilterVectors& filter = prepared.chunk().filter;
    EXPECT_EQ(1, filter.form.terms);
    const std::int64_t numbers = n * filter.form.width, padded = gpu::whole_tiles(n);
    return {to_host(reinterpret_cast<const std::uint16_t*>(filter.vectors.get()), numbers),
            to_host(reinterpret_cast<const std::uint16_t*>(prepared.vectors.get()), numbers),
            to_host(filter.half_norm.get(), padded),
            to_host(filter.point_error.get(), padded),
            to_host(prepared.error.get(), n),
            to_host(prepared.unfit.get(), n)};
}

void expect_near(const std::vector<float>& want, const std::vector<float>& got, const std::string& where) {
    ASSERT_EQ(want.size(), got.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
        if (!std::isfinite(want[i])) ASSERT_EQ(want[i], got[i]) << where << ", position " << i;
        else ASSERT_NEAR(want[i], got[i], 2e-6 * std::abs(want[i]) + 1e-6) << where << ", position " << i;
    }
}

TEST(GpuFilterRows, AreTheSameHoweverTheyLie) {
    constexpr std::int64_t n = 500;
    for (const char* const metric : {"sqeuclidean", "cosine", "inner_product", "correlation", "hellinger"})
        for (const std::int64_t d : {1, 3, 8, 16, 31, 33, 64, 96, 100, 101, 127, 128, 129, 161, 300}) {
            // Roots are of what is not negative.
            std::vector<double> values = rows_of(n, d);
            if (metric == std::string("hellinger"))
                for (double& x : values) x = std::abs(x);
            for (const ElementType type : arrays::element_types) {
                const std::string where = metric + std::string(", d ") + std::to_string(d) + ", type " +
                                          std::to_string(static_cast<int>(type));
                const FilterRows want = filter_rows(values, n, d, type, arrays::Shape::column_major, metric);
                for (const arrays::Shape shape : {arrays::Shape::dense, arrays::Shape::strided}) {
                    const FilterRows got = filter_rows(values, n, d, type, shape, metric);
                    ASSERT_EQ(want.vectors, got.vectors) << where;
                    ASSERT_EQ(want.queries, got.queries) << where;
                    ASSERT_EQ(want.unfit, got.unfit) << where;
                    const auto width = static_cast<std::int64_t>(got.vectors.size()) / n;
                    for (std::int64_t i = 0; i < n; ++i)
                        for (std::int64_t c = d; c < width; ++c)
                            ASSERT_EQ(0, got.vectors[static_cast<std::size_t>(i * width + c)]) << where;
                    expect_near(want.half_norm, got.half_norm, where + ", half norms");
                    expect_near(want.error, got.error, where + ", errors");
                    expect_near(want.query_error, got.query_error, where + ", errors of queries");
                }
            }
        }
}

}  // namespace
