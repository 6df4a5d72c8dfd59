// Distance kernels on CUDA: every value of every kernel in the list within its bound of the real number, for sizes that
// fill no tile, and for numbers that strain f32.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "adversarial.h"
#include "direct_panels.h"
#include "gpu/backend.h"
#include "gpu/filter/direct/direct.h"
#include "gpu/metric/kernels.h"
#include "gpu/runtime/memory/device_memory.h"
#include "gpu/runtime/memory/shared_memory.h"
#include "kith/error.h"
#include "papers/distance/cublas.h"
#include "papers/distance/distance.h"
#include "papers/distance/expanded.h"
#include "papers/plan.h"

namespace {

namespace exact = kith::exact;
namespace gpu = kith::gpu;
using direct_panels::on_device;
using direct_panels::on_host;

constexpr float infinity = std::numeric_limits<float>::infinity(), most = std::numeric_limits<float>::max();

// Rows in panels of words, whole ones. What lies past the last row must not matter.
std::vector<float> panels(const std::vector<float>& rows, std::int64_t count, std::int64_t d) {
    return direct_panels::panels(rows, count, d, std::numeric_limits<float>::quiet_NaN());
}

// A step, the power of differences that it adds up (0: the largest difference), and what the direct filter's bound has
// for its terms.
struct Step {
    exact::Step step;
    double power, relative, absolute;

    explicit Step(exact::Step of, double p)
        : step(of),
          power(p),
          relative(of == exact::Step::powers ? p * 0x1p-17 + 0x1p-15 : 2 * p * 0x1p-24),
          absolute(of == exact::Step::powers ? 0x1p-123 : 0) {}

    double value(const float* q, const float* x, std::int64_t d) const {
        double value = 0;
        for (std::int64_t i = 0; i < d; ++i) {
            const double apart = std::abs(static_cast<double>(q[i]) - static_cast<double>(x[i]));
            value = power == 0   ? std::max(value, apart)
                    : power == 1 ? value + apart
                    : power == 2 ? value + apart * apart
                    : power == 3 ? value + apart * apart * apart
                    : power == 4 ? value + apart * apart * apart * apart
                                 : value + std::pow(apart, power);
        }
        return value;
    }
};
const Step squares(exact::Step::squares, 2), cityblock(exact::Step::cityblock, 1), chebyshev(exact::Step::chebyshev, 0),
    cubes(exact::Step::cubes, 3), fourths(exact::Step::fourths, 4), powers(exact::Step::powers, 2.5);

// Queries [first, first + q) and n points of d words.
struct Shape {
    std::int64_t first, q, n, d;
};

using Draw = std::function<double(adversarial::Random&)>;

struct Rows {
    Shape shape;
    std::vector<float> queries, points, half_norm;

    Rows(const Shape& of, const Draw& draw) : shape(of) {
        adversarial::Random random(static_cast<std::uint64_t>(of.d + 1000 * of.n));
        const auto make = [&](std::int64_t count) {
            std::vector<float> rows;
            for (std::int64_t i = 0; i < count * of.d; ++i) rows.push_back(static_cast<float>(draw(random)));
            return rows;
        };
        queries = make(of.first + of.q);
        points = make(of.n);
        half_norm.resize(static_cast<std::size_t>(of.n));
        // A point with a NaN, one that is not covered, one whose sums overflow.
        const auto fill = [&](std::int64_t p, float value, float h) {
            if (p >= of.n) return;
            std::fill_n(points.begin() + p * of.d, of.d, value);
            half_norm[static_cast<std::size_t>(p)] = h;
        };
        fill(3, std::numeric_limits<float>::quiet_NaN(), infinity);
        fill(4, std::numeric_limits<float>::quiet_NaN(), -infinity);
        fill(5, 1e38f, 0);
    }
    const float* query(std::int64_t i) const { return queries.data() + (shape.first + i) * shape.d; }
    const float* point(std::int64_t p) const { return points.data() + p * shape.d; }
};

class DistanceKernel : public testing::TestWithParam<gpu::DistanceKernel> {
protected:
    void SetUp() override {
        if (GetParam().expanded() && !kith::papers::products_absence().empty())
            GTEST_SKIP() << kith::papers::products_absence();
    }
    // Whether every value of a kernel is within its bound.
    void check(const Rows& rows, const Step& step) {
        const auto [first, q, n, d] = rows.shape;
        const gpu::DistanceKernel& kernel = GetParam();
        const auto query_words = on_device(panels(rows.queries, first + q, d)),
                   point_words = on_device(panels(rows.points, n, d)), h = on_device(rows.half_norm);
        const gpu::Buffer<float> values(q * n, nullptr);
        gpu::DistanceJob job{.step = step.step,
                             .exponent = static_cast<float>(step.power),
                             .queries = query_words.get(),
                             .points = point_words.get(),
                             .half_norm = h.get(),
                             .width = d,
                             .first_query = first,
                             .q = q,
                             .n = n,
                             .values = values.get()};
        gpu::ExpandedTerms terms;
        if (kernel.expanded()) {
            const auto zeros = on_device(std::vector<float>(static_cast<std::size_t>(std::max(first + q, n))));
            const auto unfit = on_device(std::vector<std::uint8_t>(static_cast<std::size_t>(first + q)));
            terms = gpu::expanded_terms({.queries = query_words.get(),
                                         .points = point_words.get(),
                                         .width = d,
                                         .q = first + q,
                                         .n = n,
                                         .half_norm = h.get(),
                                         .point_error = zeros.get(),
                                         .query_error = zeros.get(),
                                         .unfit = unfit.get()},
                                        nullptr);
            job.half_norm = terms.half_norm.get();
            job.query_square = terms.query_square.get();
        }
        gpu::distance_matrix(kernel.name, job);
        const std::vector<float> got = on_host(values, q * n);
        if (kernel.expanded()) enclosed(rows, got, terms);
        else near(rows, step, got);
        if (std::string(kernel.name) == "garcia") by_column(job, got);
    }

    // The same matrix by column has the same bits.
    static void by_column(gpu::DistanceJob job, const std::vector<float>& rows) {
        const gpu::Buffer<float> values(job.q * job.n, nullptr);
        job.values = values.get();
        job.by_column = true;
        gpu::distance_matrix("garcia", job);
        const std::vector<float> got = on_host(values, job.q * job.n);
        for (std::int64_t i = 0; i < job.q; ++i)
            for (std::int64_t p = 0; p < job.n; ++p)
                ASSERT_EQ(std::bit_cast<std::uint32_t>(rows[static_cast<std::size_t>(i * job.n + p)]),
                          std::bit_cast<std::uint32_t>(got[static_cast<std::size_t>(p * job.q + i)]))
                    << i << ", " << p;
    }

    static std::string place(const Shape& shape, std::int64_t query, std::int64_t point) {
        return "q " + std::to_string(shape.q) + ", n " + std::to_string(shape.n) + ", d " + std::to_string(shape.d) +
               ", query " + std::to_string(query) + ", point " + std::to_string(point);
    }

    static void near(const Rows& rows, const Step& step, const std::vector<float>& got) {
        const auto [first, q, n, d] = rows.shape;
        const double g = (static_cast<double>(d) + 8) * 0x1p-24 + step.relative,
                     lost = static_cast<double>(d) * (0x1p-147 + step.absolute);
        for (std::int64_t i = 0; i < q; ++i)
            for (std::int64_t p = 0; p < n; ++p) {
                const float value = got[static_cast<std::size_t>(i * n + p)],
                            h = rows.half_norm[static_cast<std::size_t>(p)];
                const double want = step.value(rows.query(i), rows.point(p), d);
                if (std::isinf(h)) ASSERT_EQ(h, value) << place(rows.shape, i, p);
                else if (want * (1 - g) > static_cast<double>(most)) ASSERT_EQ(most, value) << place(rows.shape, i, p);
                else ASSERT_NEAR(want, static_cast<double>(value), g * want + lost) << place(rows.shape, i, p);
            }
    }

    // a - E <= w <= a + 2 F + E, and bounds that are no larger than their share of the squares.
    static void enclosed(const Rows& rows, const std::vector<float>& got, const gpu::ExpandedTerms& terms) {
        const auto [first, q, n, d] = rows.shape;
        const std::vector<float> f = on_host(terms.point_error, n), e = on_host(terms.query_error, first + q),
                                 square = on_host(terms.query_square, first + q);
        const double relative = 1.01 * (static_cast<double>(d) + 12) * 0x1p-24, absolute = 1e-30;
        const std::vector<float> origin(static_cast<std::size_t>(d));
        for (std::int64_t p = 0; p < n; ++p) {
            const float h = rows.half_norm[static_cast<std::size_t>(p)];
            const double own = squares.value(rows.point(p), origin.data(), d),
                         share = static_cast<double>(f[static_cast<std::size_t>(p)]);
            if (std::isinf(h) || own > 0x1p99) continue;
            ASSERT_LE(share, relative * own + absolute) << place(rows.shape, 0, p);
        }
        for (std::int64_t i = 0; i < q; ++i) {
            const double own = squares.value(rows.query(i), origin.data(), d);
            const double error = static_cast<double>(e[static_cast<std::size_t>(first + i)]);
            ASSERT_LE(error, relative * own + absolute);
            ASSERT_NEAR(own, static_cast<double>(square[static_cast<std::size_t>(first + i)]),
                        own * 0x1p-23 + 0x1p-149);
            for (std::int64_t p = 0; p < n; ++p) {
                const float value = got[static_cast<std::size_t>(i * n + p)],
                            h = rows.half_norm[static_cast<std::size_t>(p)];
                const double a = static_cast<double>(value),
                             share = static_cast<double>(f[static_cast<std::size_t>(p)]),
                             want = squares.value(rows.query(i), rows.point(p), d);
                if (std::isinf(h)) {
                    ASSERT_EQ(h, value) << place(rows.shape, i, p);
                } else if (std::isinf(share)) {
                    ASSERT_EQ(-infinity, value) << place(rows.shape, i, p);
                } else {
                    ASSERT_LE(a - error, want) << place(rows.shape, i, p);
                    ASSERT_LE(want, a + 2 * share + error) << place(rows.shape, i, p);
                }
            }
        }
    }

    static std::vector<Step> steps() {
        if (GetParam().expanded()) return {squares};
        return {squares, cityblock, chebyshev, cubes, fourths, powers};
    }
};

double gaussian(adversarial::Random& random) {
    return random.gaussian();
}

TEST_P(DistanceKernel, EverySize) {
    const Shape shapes[] = {{0, 1, 1, 1},      {0, 15, 17, 1},     {0, 17, 15, 127},   {3, 1, 129, 129},
                            {0, 127, 127, 15}, {0, 128, 128, 128}, {1, 129, 1, 17},    {5, 129, 129, 16},
                            {63, 66, 260, 33}, {100, 100, 64, 8},  {127, 2, 300, 100}, {128, 31, 33, 9},
                            {37, 166, 261, 7}, {0, 70, 130, 1000}};
    for (const Shape& shape : shapes) {
        const Rows rows(shape, gaussian);
        for (const Step& step : steps()) check(rows, step);
    }
}

// More bands of points, and blocks of queries, than a block of threads takes at once.
TEST_P(DistanceKernel, ManyTiles) {
    check(Rows({0, 3000, 2501, 5}, gaussian), squares);
    if (steps().size() > 1) check(Rows({70, 1500, 2600, 35}, gaussian), chebyshev);
}

// Denormals, sums near f32's largest number, rows far from the origin, rows that are all but equal.
TEST_P(DistanceKernel, NumbersThatStrainIt) {
    const Draw draws[] = {[](adversarial::Random& r) { return 1e-30 * r.gaussian(); },
                          [](adversarial::Random& r) { return 1e-40 * r.gaussian(); },
                          [](adversarial::Random& r) { return 5e13 * r.gaussian(); },
                          [](adversarial::Random& r) { return 1000 + r.gaussian(); },
                          [](adversarial::Random& r) { return 1 + 1e-7 * r.gaussian(); },
                          [](adversarial::Random& r) { return static_cast<double>(r.below(2)); }};
    for (const Draw& draw : draws) {
        const Rows rows({9, 66, 132, 50}, draw);
        for (const Step& step : steps()) check(rows, step);
    }
}

// Kernels that can do with less shared memory, and with less in a texture.
TEST_P(DistanceKernel, LittleRoom) {
    struct Limits {
        Limits() {
            gpu::most_shared_bytes = 0;
            gpu::most_texture_words = 3 * 128 * 100 + 1000;  // three panels
        }
        ~Limits() {
            gpu::most_shared_bytes = std::numeric_limits<std::int64_t>::max();
            gpu::most_texture_words = std::int64_t{1} << 30;
        }
    } const limits;
    const Rows rows({40, 200, 1030, 100}, gaussian);
    for (const Step& step : steps()) check(rows, step);
}

// Rows of the expanded form whose squares are too large: a query is scanned (one without neighbours stays so), and a
// point is a candidate of all.
TEST(DistanceKernels, RowsThatTheExpandedFormDoesNotCover) {
    constexpr std::int64_t q = 4, n = 2, d = 3;
    std::vector<float> queries(q * d, 1.0f), points(n * d, 1.0f);
    std::fill_n(queries.begin() + 1 * d, d, 1e16f);
    std::fill_n(queries.begin() + 2 * d, d, std::numeric_limits<float>::quiet_NaN());
    std::fill_n(queries.begin() + 3 * d, d, -1e19f);
    std::fill_n(points.begin() + 1 * d, d, 1e16f);
    const auto query_words = on_device(panels(queries, q, d)), point_words = on_device(panels(points, n, d));
    const auto zeros = on_device(std::vector<float>(q));
    const auto unfit = on_device(std::vector<std::uint8_t>{gpu::fit, gpu::fit, gpu::no_neighbours, gpu::fit});
    const gpu::ExpandedTerms terms = gpu::expanded_terms({.queries = query_words.get(),
                                                          .points = point_words.get(),
                                                          .width = d,
                                                          .q = q,
                                                          .n = n,
                                                          .half_norm = zeros.get(),
                                                          .point_error = zeros.get(),
                                                          .query_error = zeros.get(),
                                                          .unfit = unfit.get()},
                                                         nullptr);
    const std::vector<std::uint8_t> fitness{gpu::fit, gpu::to_scan, gpu::no_neighbours, gpu::to_scan};
    EXPECT_EQ(fitness, on_host(unfit, q));
    const std::vector<float> error = on_host(terms.query_error, q), half_norm = on_host(terms.half_norm, n),
                             share = on_host(terms.point_error, n);
    EXPECT_GT(error[0], 0);
    EXPECT_LT(error[0], 1e-4);
    for (const std::size_t i : {1, 2, 3}) EXPECT_EQ(-infinity, error[i]);
    EXPECT_NEAR(3, half_norm[0], 1e-4);
    EXPECT_EQ(-infinity, half_norm[1]);
    EXPECT_LT(share[0], 1e-4);
    EXPECT_EQ(infinity, share[1]);
}

TEST(DistanceKernels, OthersAreRefused) {
    const auto refused = [](const char* kernel, exact::Step step) {
        try {
            gpu::distance_matrix(kernel, {.step = step, .width = 1, .q = 1, .n = 1});
            ADD_FAILURE() << kernel;
        } catch (const kith::Error& error) {
            EXPECT_EQ(kith::ErrorCode::invalid_argument, error.code()) << error.what();
        }
    };
    refused("nothing", exact::Step::squares);
    for (const gpu::DistanceKernel& kernel : gpu::distance_kernels) {
        for (const exact::Step step : {exact::Step::dot, exact::Step::logarithms, exact::Step::jaccard_sets})
            refused(kernel.name, step);
        if (kernel.expanded()) refused(kernel.name, exact::Step::cityblock);
    }
}

std::string test_name(const testing::TestParamInfo<gpu::DistanceKernel>& info) {
    std::string name = info.param.name;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}
INSTANTIATE_TEST_SUITE_P(Gpu, DistanceKernel, testing::ValuesIn(gpu::distance_kernels), test_name);

}  // namespace
