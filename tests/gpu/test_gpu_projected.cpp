// The path "projected" on a GPU: its values bound those of all coordinates, and searches are held to the oracle and to
// the bits of the scan.
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "filter_values.h"
#include "gpu/filter/levels.h"
#include "gpu/filter/pass.h"
#include "gpu/points/pca/projection.h"
#include "gpu/primitives/products/product_f64.h"
#include "gpu/search/passes/projected_tuning.h"
#include "gpu_arrays.h"
#include "gpu_options.h"
#include "kith/kith.h"
#include "prepared_filter.h"
#include "same_answer.h"
#include "search_cases.h"
#include "spectrum.h"

namespace {

using namespace kith;
using filter_values::instruction_sets;
using filter_values::to_host;
using search_cases::Execution;
using spectrum::falling;
using spectrum::Spectrum;

template <class T>
gpu::Buffer<T> on_gpu(const std::vector<T>& values) {
    gpu::Buffer<T> out(std::ssize(values), nullptr);
    gpu_arrays::check(cudaMemcpy(out.get(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    return out;
}

// ---- products in binary64

template <class T>
void expect_products(std::int64_t rows, std::int64_t depth, std::int64_t columns, bool transposed) {
    adversarial::Random random(7);
    std::vector<T> a;
    std::vector<double> b;
    for (std::int64_t i = 0; i < rows * depth; ++i) a.push_back(static_cast<T>(static_cast<float>(random.gaussian())));
    const std::int64_t stride = columns + 3;
    for (std::int64_t i = 0; i < depth * stride; ++i) b.push_back(random.gaussian());
    const gpu::Buffer<T> left = on_gpu(a);
    const gpu::Buffer<double> right = on_gpu(b), out(rows * stride, nullptr);
    const gpu::Operand<T> operand{left.get(), rows, depth, transposed ? 1 : depth, transposed ? rows : 1};
    gpu::product(operand, right.get(), stride, columns, out.get(), stride, nullptr);
    const std::vector<double> got = to_host(out.get(), rows * stride);
    for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t c = 0; c < columns; ++c) {
            long double want = 0, size = 0;
            for (std::int64_t k = 0; k < depth; ++k) {
                const long double term =
                    static_cast<double>(a[static_cast<std::size_t>(transposed ? k * rows + i : i * depth + k)]) *
                    static_cast<long double>(b[static_cast<std::size_t>(k * stride + c)]);
                want += term;
                size += std::abs(term);
            }
            ASSERT_NEAR(static_cast<double>(want), got[static_cast<std::size_t>(i * stride + c)],
                        static_cast<double>(size) * static_cast<double>(depth) * 0x1p-52)
                << rows << " x " << depth << " x " << columns << ", row " << i << ", column " << c;
        }
    }
}

TEST(GpuProductF64, IsTheProduct) {
    for (const std::int64_t rows : {1, 8, 127, 130})
        for (const std::int64_t depth : {1, 15, 16, 24, 48, 70})
            for (const std::int64_t columns : {1, 63, 64, 130})
                for (const bool transposed : {false, true}) {
                    expect_products<__half>(rows, depth, columns, transposed);
                    expect_products<double>(rows, depth, columns, transposed);
                }
}

// ---- the bound

// For every pair: where the value h - <u, v> of all coordinates of the rounded vectors is at most a threshold, the
// value along the directions, in fp16, is at most what follows from it. test_gpu_gemm_i8 attacks those in 8 bits.
void attack(const Spectrum& points, const Spectrum& queries, const std::string& metric, const std::string& what,
            std::int64_t columns = 0) {
    const PreparedFilter filter(points.view(), queries.view(), metric, Path::projected, "sm_80");
    const std::int64_t n = filter.n, q = filter.q;
    const gpu::Chunk& chunk = filter.chunk();
    ASSERT_TRUE(chunk.projected) << what;
    const gpu::FilterForm& form = filter.form();
    const gpu::Directions& directions = chunk.projected->directions;
    // Behind a cliff columns have no direction of their own, and are left out.
    EXPECT_TRUE(columns == 0 || (directions.columns <= columns && directions.columns > columns - 8))
        << directions.columns << " columns";
    const std::int64_t padded = gpu::whole_tiles(n);
    gpu::Buffer<__half> projected(q * directions.form.width, nullptr);
    gpu::Buffer<float> error(q, nullptr), all(q * padded, nullptr);
    const std::int64_t of_stage = q * 2 * gpu::FurtherColumns::row_bytes(form.width);
    const gpu::Buffer<char> stages(gpu::most_stages * of_stage, nullptr);
    gpu::FurtherRows further{};
    for (std::size_t i = 0; i < further.size(); ++i)
        further[i] = stages.get() + static_cast<std::int64_t>(i) * of_stage;
    gpu::project_queries(directions, filter.vectors.get(), q, projected.get(), error.get(), further, nullptr);
    const std::vector<__half> u = to_host(filter.vectors.get(), q * form.width),
                              v = to_host(reinterpret_cast<const __half*>(chunk.filter.vectors.get()), n * form.width);
    const std::vector<float> h = to_host(chunk.filter.half_norm.get(), n), errors = to_host(error.get(), q);
    const std::vector<std::uint8_t> unfits = to_host(filter.unfit.get(), q);
    gpu::FilterPass pass;
    pass.queries = projected.get();
    pass.points = chunk.projected->vectors.get();
    pass.half_norm = chunk.projected->half_norm.get();
    pass.q = q;
    pass.n = pass.count = n;
    pass.width = directions.form.width;
    pass.all = all.get();
    pass.ld = padded;
    double loosest = 0, nearest = std::numeric_limits<double>::infinity();
    for (const gpu::FilterIsa isa : instruction_sets()) {
        gpu::sweep(pass, isa, nullptr);
        const std::vector<float> values = to_host(all.get(), q * padded);
        for (std::int64_t i = 0; i < q; ++i) {
            if (unfits[static_cast<std::size_t>(i)] != gpu::fit) continue;
            for (std::int64_t p = 0; p < n; ++p) {
                const float half_norm = h[static_cast<std::size_t>(p)],
                            found = values[static_cast<std::size_t>(i * padded + p)];
                if (!std::isfinite(half_norm)) {
                    ASSERT_EQ(half_norm, found) << what << ", point at " << p;
                    continue;
                }
                double value = half_norm;
                for (std::int64_t j = 0; j < form.width; ++j)
                    value -= static_cast<double>(__half2float(u[static_cast<std::size_t>(i * form.width + j)])) *
                             static_cast<double>(__half2float(v[static_cast<std::size_t>(p * form.width + j)]));
                const double room =
                    value + static_cast<double>(errors[static_cast<std::size_t>(i)]) - static_cast<double>(found);
                ASSERT_GE(room, -1e-9 * std::abs(value))
                    << what << ", " << metric << ", query " << i << ", point at " << p;
                loosest = std::max(loosest, room);
                nearest = std::min(nearest, room);
            }
        }
    }
    ::testing::Test::RecordProperty(what + "-" + metric, std::to_string(nearest) + " to " + std::to_string(loosest));
}

TEST(GpuProjection, BoundsTheValuesOfAllCoordinates) {
    std::vector<double> flat(130, 1.0), cliff(130, 1e-3), few(130, 0.0);
    std::fill_n(cliff.begin(), 40, 1.0);
    std::fill_n(few.begin(), 5, 1.0);
    Spectrum outlier(1500, falling(130, 1.0), 5), huge(1500, falling(130, 1.0), 6), tiny(1500, falling(130, 1.0), 7);
    for (std::int64_t j = 0; j < 130; ++j) {
        outlier.rows[static_cast<std::size_t>(700 * 130 + j)] = j % 2 ? 3e8f : -1e8f;
        for (std::int64_t i = 0; i < 1500; i += 3) {
            huge.rows[static_cast<std::size_t>(i * 130 + j)] *= 1e3f;
            tiny.rows[static_cast<std::size_t>(i * 130 + j)] *= 1e-4f;
        }
    }
    Spectrum flats(1500, flat, 8), cliffs(1500, cliff, 9), offset(1500, falling(130, 1.0), 10, 100.0),
        low(1500, few, 11), usual(1500, falling(130, 1.0), 12);
    const Spectrum near(40, falling(130, 1.0), 13), far(40, flat, 14, 20.0);
    for (const char* metric : {"sqeuclidean", "cosine", "inner_product", "hellinger"}) {
        for (const auto& [what, points] : {std::pair{"outlier", &outlier},
                                           {"huge", &huge},
                                           {"tiny", &tiny},
                                           {"flat", &flats},
                                           {"cliff", &cliffs},
                                           {"offset", &offset},
                                           {"low", &low},
                                           {"usual", &usual}}) {
            Spectrum of = *points, ask = near, beyond = far;
            if (std::string(metric) == "hellinger")
                for (Spectrum* each : {&of, &ask, &beyond})
                    for (float& x : each->rows) x = std::abs(x);
            attack(of, ask, metric, what);
            attack(of, beyond, metric, std::string(what) + "-far");
        }
    }
}

// As many columns as a spectrum with a cliff wants.
TEST(GpuProjection, TakesTheColumnsThatPay) {
    for (const std::size_t columns : {63, 127, 191, 255}) {
        std::vector<double> cliff(520, 1e-3);
        std::fill_n(cliff.begin(), columns - 5, 1.0);
        attack(Spectrum(2200, cliff, 31), Spectrum(20, cliff, 32), "sqeuclidean", "cliff-" + std::to_string(columns),
               static_cast<std::int64_t>(columns));
    }
}

// ---- searches

class GpuProjected : public testing::TestWithParam<std::string> {};

TEST_P(GpuProjected, AnswersAsTheOracle) {
    const std::vector<Execution> executions = {
        {"projected", "", 0, false}, {"projected", "sm_80", 0, false}, {"projected", "", 0, true}};
    // More points than the first sample has; of mahalanobis few pairs, as the oracle takes a matrix times each of them.
    if (GetParam() == "mahalanobis")
        search_cases::in_dimensions(GetParam(), {126}, {4300, 3, 0, 0}, {4300, 3, 0, 0}, executions, "cuda");
    else
        search_cases::in_dimensions(GetParam(), {GetParam().size() % 2 ? 126 : 200}, {4300, 12, 0, 0},
                                    {2500, 260, 0, 0}, executions, "cuda");
}

INSTANTIATE_TEST_SUITE_P(Metric, GpuProjected, testing::ValuesIn(spectrum::product_metrics()),
                         [](const auto& info) { return info.param; });

void expect_same(const Neighbors& want, const Neighbors& got, const std::string& what) {
    EXPECT_TRUE(same_answer(want, got)) << what;
}

// Where the spectrum falls nearly every query is certified, for few queries and for many, from one range of points and
// from several.
TEST(GpuProjectedSearch, CertifiesWhereTheSpectrumFalls) {
    const Spectrum points(60000, falling(130, 1.0), 1), queries(600, falling(130, 1.0), 2);
    for (const char* metric : {"sqeuclidean", "euclidean", "cosine", "inner_product", "correlation"}) {
        for (const std::int64_t q : {1, 40, 600}) {
            const MatrixView some = view(queries.rows.data(), q, queries.d);
            const auto want = search(points.view(), some, 10, options_of(metric, "gemm-f16"));
            for (const char* isa : {"", "sm_80"}) {
                Options options = options_of(metric, "projected");
                options.isa = isa;
                const auto got = search(points.view(), some, 10, options);
                expect_same(want, got, std::string(metric) + ", q " + std::to_string(q) + isa);
                EXPECT_EQ("projected", got.report.path) << metric << isa;
                // A threshold that a sample is too near for leaves one query in some hundred.
                EXPECT_GE(got.report.certified, q - std::max<std::int64_t>(q / 50, q > 30 ? 1 : 0)) << metric << isa;
            }
        }
    }
}

TEST(GpuProjectedSearch, DataAgainstIt) {
    std::vector<double> flat(140, 1.0), cliff(140, 1e-3);
    std::fill_n(cliff.begin(), 63, 1.0);
    Spectrum outlier(9000, falling(140, 1.0), 5);
    for (std::int64_t j = 0; j < 140; ++j)
        outlier.rows[static_cast<std::size_t>(1024 * 140 + j)] = j % 2 ? 3e8f : -1e8f;
    Spectrum equal(9000, std::vector<double>(140, 0.0), 6, 1.0), cliffs(9000, cliff, 7), flats(9000, flat, 8),
        offset(9000, falling(140, 1.0), 9, 1000.0), units = spectrum::units(9000, 140, 12);
    Spectrum near(300, falling(140, 1.0), 10), far(300, flat, 11, 50.0), in_units = spectrum::units(300, 140, 13);
    for (std::size_t i = 0; i < 300; i += 7) near.rows[i * 140 + i % 140] = std::numeric_limits<float>::quiet_NaN();
    for (const char* metric : {"sqeuclidean", "cosine", "inner_product"}) {
        for (Spectrum* points : {&outlier, &equal, &cliffs, &flats, &offset, &units}) {
            for (Spectrum* queries : {&near, &far, &cliffs, &in_units}) {
                const MatrixView some = view(queries->rows.data(), 300, 140);
                const auto want = search(points->view(), some, 7, options_of(metric, "exact"));
                const auto got = search(points->view(), some, 7, options_of(metric, "projected"));
                expect_same(want, got, metric);
            }
        }
    }
}

// All variance outside of the directions, of those points that these are not made of and of all queries: of a pair only
// the norms of what is left say anything. The trial's rows are such points, too, so that ranges have room for what
// passes and no query is tried again; neither is any of points with directions like the queries'.
TEST(GpuProjectedSearch, AllVarianceOutsideOfDirections) {
    constexpr std::int64_t n = 60000, d = 140, q = 150, made_of = 2048;
    const Spectrum any(n, falling(d, 1.0), 14);
    const PreparedFilter prepared(any.view(), view(any.rows.data(), 1, d), "sqeuclidean", Path::gemm_f16);
    std::vector<char> seen(static_cast<std::size_t>(n));
    for (std::int64_t at = 0; at < made_of; ++at)
        seen.at(static_cast<std::size_t>(gpu::row_at(prepared.form(), at, n))) = 1;
    const auto none = [](std::int64_t) { return false; };
    const Spectrum outside = spectrum::outside_of_directions(
                       n, d, 15, [&](std::int64_t i) { return seen[static_cast<std::size_t>(i)] != 0; }),
                   like = spectrum::outside_of_directions(n, d, 15, none),
                   queries = spectrum::outside_of_directions(q, d, 17, none);
    for (const char* metric : {"sqeuclidean", "cosine", "inner_product"}) {
        for (const Spectrum* points : {&outside, &like}) {
            const auto want = search(points->view(), queries.view(), 7, options_of(metric, "exact"));
            for (const char* isa : {"", "sm_80"}) {
                Options options = options_of(metric, "projected");
                options.isa = isa;
                const auto got = search(points->view(), queries.view(), 7, options);
                expect_same(want, got, std::string(metric) + isa);
                EXPECT_EQ("projected", got.report.path) << metric << isa;
                EXPECT_EQ(q, got.report.certified) << metric << isa;
            }
        }
    }
}

TEST(GpuProjectedSearch, GraphsAndIndexes) {
    const Spectrum points(5000, falling(130, 1.0), 12);
    const auto want = graph(points.view(), 9, options_of("euclidean", "exact"));
    const auto got = graph(points.view(), 9, options_of("euclidean", "projected"));
    expect_same(want, got, "graph");
    EXPECT_EQ("projected", got.report.path);
    const Options forced = options_of("euclidean", "projected");
    const Index index(points.view(), forced);
    const auto of_index = index.graph(9, forced);
    expect_same(want, of_index, "graph of an index");
    EXPECT_EQ("projected", of_index.report.path);
    for (const std::int64_t q : {1, 5, 400}) {
        const MatrixView some = view(points.rows.data(), q, 130);
        const auto all = search(points.view(), some, 12, options_of("euclidean", "exact"));
        // Whatever filters in its place.
        for (const char* path : {"projected", "", "gemm-f16", "direct-f32", "exact"}) {
            const auto found = index.search(some, 12, options_of("euclidean", path));
            expect_same(all, found, std::to_string(q) + " queries, path " + path);
            EXPECT_TRUE(!*path || found.report.path == path) << path << ": " << found.report.path;
        }
    }
}

// Queries that lie in what the directions leave: every point passes, more than there is room for.
TEST(GpuProjectedSearch, RetriesWhatHasNoRoom) {
    std::vector<double> hidden(130, 10.0);
    std::fill_n(hidden.begin(), 63, 0.0);
    const Spectrum points(40000, falling(130, 1.0), 15), queries(300, hidden, 16);
    const auto want = search(points.view(), queries.view(), 7, options_of("sqeuclidean", "gemm-f16"));
    const auto got = search(points.view(), queries.view(), 7, options_of("sqeuclidean", "projected"));
    expect_same(want, got, "hidden");
    EXPECT_EQ(300, got.report.retried);
    EXPECT_EQ(0, got.report.scanned);
}

TEST(GpuProjectedSearch, TakesQueriesInSteps) {
    constexpr std::int64_t d = 560, q = gpu::tuning::most_step_queries + 1500;
    const Spectrum points(24000, falling(d, 0.7), 17), queries(q, falling(d, 0.7), 18);
    for (const std::int64_t k : {7, 20}) {
        const auto got = search(points.view(), queries.view(), k, options_of("sqeuclidean", "projected"));
        expect_same(search(points.view(), queries.view(), k, options_of("sqeuclidean", "gemm-f16")), got, "steps");
        EXPECT_GE(got.report.certified, q - q / 100);
    }
}

// The planner leaves it to a sample, and an Index remembers queries unlike its points.
TEST(GpuProjectedSearch, IsChosenByASample) {
    Options options = options_of("sqeuclidean", "");
    const std::vector<double> flat(256, 1.0);
    std::vector<double> rising;
    for (const double x : falling(256, 1.0)) rising.push_back(1 / x);
    const Spectrum with(1 << 17, falling(256, 1.5), 20), without(1 << 17, flat, 21);
    const Spectrum like(600, falling(256, 1.5), 22), unlike(600, rising, 23);
    const Index falls(with.view(), options), does_not(without.view(), options);
    EXPECT_EQ("projected", Index(with.view(), options).search(like.view(), 5, options).report.path);
    // Numbers of 8 bits do where the matrix units multiply them.
    EXPECT_EQ(instruction_sets().back() == gpu::FilterIsa::sm_90a ? "gemm-i8" : "gemm-f16",
              does_not.search(like.view(), 5, options).report.path);
    const auto tried = falls.search(unlike.view(), 5, options);
    EXPECT_EQ("gemm-f16", tried.report.path);
    options.path = "gemm-f16";
    const auto plain = search(with.view(), unlike.view(), 5, options);
    expect_same(plain, tried, "unlike");
    EXPECT_EQ(plain.report.certified, tried.report.certified);
    options.path = "";
    EXPECT_EQ("gemm-f16", falls.search(like.view(), 5, options).report.path) << "it has been given up";
}

}  // namespace
