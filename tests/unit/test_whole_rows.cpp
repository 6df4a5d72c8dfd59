// Rows of whole numbers of 8 bits: their products and distance keys bit for bit, and what is none of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "adversarial.h"
#include "cpu/filter/whole_rows.h"

namespace {

using namespace kith;

std::vector<cpu::Isa> isas() {
    std::vector<cpu::Isa> list;
    for (const cpu::Isa isa : {cpu::Isa::baseline, cpu::Isa::avx2, cpu::Isa::avx512, cpu::Isa::amx})
        if (cpu::supported(isa)) list.push_back(isa);
    return list;
}

MetricSpec spec_of(MetricId id, std::int64_t d) {
    MetricSpec spec;
    spec.id = id;
    spec.params.d = d;
    return spec;
}

TEST(WholeRows, ProductsOfBytes) {
    adversarial::Random random(1);
    for (const cpu::Isa isa : isas()) {
        for (const std::int64_t count : {64, 128, 192, 256, 320, 832, 4096}) {
            for (int kind = 0; kind < 3; ++kind) {
                std::vector<std::uint8_t> x;
                std::vector<std::int8_t> q;
                std::int64_t want = 0;
                for (std::int64_t j = 0; j < count; ++j) {
                    x.push_back(static_cast<std::uint8_t>(kind == 0 ? random.below(256) : 255));
                    q.push_back(static_cast<std::int8_t>(kind == 0   ? static_cast<int>(random.below(256)) - 128
                                                         : kind == 1 ? -128
                                                                     : 127));
                    want += static_cast<std::int64_t>(x.back()) * q.back();
                }
                for (const cpu::ByteProduct product : {cpu::byte_product(isa), cpu::tile_kernels(isa).byte_product})
                    EXPECT_EQ(want, product(x.data(), q.data(), count)) << cpu::name(isa) << " " << count;
            }
        }
    }
}

struct Kind {
    MetricId metric;
    metric::Gemm form;
};
constexpr Kind kinds[] = {{MetricId::sqeuclidean, metric::Gemm::l2},
                          {MetricId::euclidean, metric::Gemm::l2},
                          {MetricId::inner_product, metric::Gemm::dot},
                          {MetricId::cosine, metric::Gemm::cosine}};

// Of the ends of their range, of their most dimensions, of zeros, and of random ones.
TEST(WholeRows, KeysAreTheCanonicalOnes) {
    adversarial::Random random(2);
    constexpr std::int64_t n = 40;
    for (const cpu::Isa isa : isas()) {
        for (const double least : {0.0, -128.0}) {
            for (const std::int64_t d : {1, 3, 8, 31, 64, 65, 784, 4096}) {
                std::vector<double> rows;
                for (std::int64_t i = 0; i < n; ++i)
                    for (std::int64_t j = 0; j < d; ++j)
                        rows.push_back(least + (i == 0   ? 0
                                                : i == 1 ? 255
                                                : i == 2 ? 255 * (j % 2)
                                                : i == 3 ? 128
                                                : i == 4 ? -least
                                                         : static_cast<double>(random.below(256))));
                const MatrixView view{rows.data(), n, d, d, ElementType::f64};
                for (const Kind& kind : kinds) {
                    const MetricSpec spec = spec_of(kind.metric, d);
                    EXPECT_EQ(least, cpu::least_whole(view, spec, isa));
                    EXPECT_EQ(kind.form, cpu::whole_form(kind.metric));
                    cpu::DistanceKeys keys(spec, isa);
                    cpu::RowBlock block(n, d);
                    keys.load(view, 0, n, block);
                    const cpu::TileKernels& tiles = cpu::tile_kernels(isa);
                    const cpu::WholeRows whole(n, d, least, kind.form, isa);
                    for (std::int64_t i = 0; i < n; ++i) EXPECT_TRUE(whole.set(tiles, block.row(i), i));
                    std::vector<std::byte> query(static_cast<std::size_t>(whole.query_bytes()));
                    std::vector<double> want(n);
                    for (std::int64_t i = 0; i < n; ++i) {
                        const cpu::QueryTerms terms = whole.query(tiles, block.row(i), query.data());
                        EXPECT_TRUE(terms.usable);
                        const double* const row = block.row(i);
                        const bool zero = std::all_of(row, row + d, [](double x) { return x == 0; });
                        EXPECT_EQ(zero && kind.form != metric::Gemm::l2, terms.alike);
                        keys.compute(block, i, block, n, want.data());
                        for (std::int64_t id = 0; id < n; ++id) {
                            const double key = whole.key(query.data(), id);
                            ASSERT_EQ(std::bit_cast<std::uint64_t>(want[id]), std::bit_cast<std::uint64_t>(key))
                                << d << " " << i << " " << id << " " << want[id] << " " << key;
                        }
                    }
                }
            }
        }
    }
}

TEST(WholeRows, TellsWhatIsNone) {
    constexpr std::int64_t d = 37;
    const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
    for (const cpu::Isa isa : isas()) {
        const cpu::TileKernels& tiles = cpu::tile_kernels(isa);
        for (const double least : {0.0, -128.0}) {
            const cpu::WholeRows whole(1, d, least, metric::Gemm::l2, isa);
            std::vector<std::byte> query(static_cast<std::size_t>(whole.query_bytes()));
            for (const double other : {least - 1, least + 256, 0.5, 1e-20, -1e-300, 4.0 + 0x1p-50, 1e300, -1e300, nan,
                                       infinity, -infinity, 4294967296.0}) {
                for (const std::int64_t at : {0, 5, 31, 36}) {
                    std::vector<double> row(d, 1.0);
                    row[static_cast<std::size_t>(at)] = other;
                    EXPECT_FALSE(whole.set(tiles, row.data(), 0)) << other;
                    EXPECT_FALSE(whole.query(tiles, row.data(), query.data()).usable) << other;
                    if (other != other) continue;
                    const MatrixView view{row.data(), 1, d, d, ElementType::f64};
                    EXPECT_FALSE(cpu::whole_from(least, view, spec_of(MetricId::euclidean, d), isa)) << other;
                }
            }
            std::vector<double> row(d, -0.0);
            EXPECT_TRUE(whole.set(tiles, row.data(), 0));
            const MatrixView view{row.data(), 1, d, d, ElementType::f64};
            EXPECT_TRUE(cpu::whole_from(least, view, spec_of(MetricId::sqeuclidean, d), isa));
            EXPECT_FALSE(cpu::whole_from(least, view, spec_of(MetricId::hellinger, d), isa));
            EXPECT_FALSE(cpu::whole_from(least, view, spec_of(MetricId::correlation, d), isa));
        }
    }
}

}  // namespace
