// int8 panels (docs/proofs/products.md, lemma 4): their tiles are exact to the bit, their values
// bound the distance key from below for data that make each term matter, and whole numbers lose nothing.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "adversarial.h"
#include "cpu/filter/panels.h"
#include "cpu/filter/tile/query_tiles.h"
#include "kith/kith.h"
#include "metric_variants.h"

namespace {

using namespace kith;

constexpr float infinity = std::numeric_limits<float>::infinity();

// Those whose products of bytes this machine has.
std::vector<cpu::Isa> isas() {
    std::vector<cpu::Isa> list;
    for (const cpu::Isa isa : {cpu::Isa::avx512, cpu::Isa::amx})
        if (cpu::supported(isa) && cpu::byte_kernels(isa)) list.push_back(isa);
    return list;
}

#define SKIP_WITHOUT_BYTES() \
    if (isas().empty()) GTEST_SKIP() << "this processor has neither AVX512_VNNI nor AMX"

// ---------------------------------------------------------------- tiles

struct Bytes {
    std::vector<std::int8_t> numbers;
    std::vector<float> words;
};

// `extreme`: numbers at both ends alone.
Bytes random_bytes(std::int64_t words, bool extreme, adversarial::Random& random) {
    Bytes b{std::vector<std::int8_t>(static_cast<std::size_t>(4 * words)), std::vector<float>(words)};
    for (std::int8_t& n : b.numbers)
        n = static_cast<std::int8_t>(extreme ? (random.below(2) ? 127 : -128) : random.below(256) - 128);
    std::memcpy(b.words.data(), b.numbers.data(), b.numbers.size());
    return b;
}

void expect_tiles(cpu::Isa isa, std::int64_t words, bool extreme, adversarial::Random& random) {
    const cpu::ByteKernels& k = *cpu::byte_kernels(isa);
    std::vector<Bytes> points;
    std::vector<float> panel(static_cast<std::size_t>(cpu::panel_floats(words)));
    for (int p = 0; p < cpu::panel_points; ++p) {
        points.push_back(random_bytes(words, extreme, random));
        panel[p] = static_cast<float>(random.gaussian() * 1000);
        panel[cpu::panel_points + p] = static_cast<float>(random.uniform());
        for (std::int64_t j = 0; j < words; ++j)
            panel[cpu::panel_header + j * cpu::panel_points + p] = points.back().words[j];
    }
    if (k.raise) k.raise(panel.data() + cpu::panel_header, words * cpu::panel_points);
    for (int count = 1; count <= k.tiles.queries; ++count) {
        const std::int64_t width = words + k.tiles.header;
        std::vector<Bytes> queries;
        cpu::QueryTiles tiles(k.tiles, count, words);
        std::vector<float> scales;
        for (int i = 0; i < count; ++i) {
            queries.push_back(random_bytes(words, extreme, random));
            scales.push_back(static_cast<float>(random.uniform() * 0.01));
            std::vector<float> form(static_cast<std::size_t>(width), 0.0f);
            const auto start = static_cast<std::int32_t>(-128 * k.sum(queries.back().words.data(), words));
            std::memcpy(form.data(), &start, sizeof start);
            form[1] = scales.back();
            std::copy(queries.back().words.begin(), queries.back().words.end(), form.begin() + k.tiles.header);
            tiles.set(i, form.data(), width);
        }
        // Values themselves: NaN is above no threshold, and +inf no value is above.
        std::vector<float> thresholds(static_cast<std::size_t>(count), infinity), values;
        std::vector<std::uint32_t> hits;
        const auto compare = [&] {
            tiles.compare(panel.data(), thresholds.data(), 0,
                          [&](std::int64_t, std::int64_t here, const std::uint32_t* hit, const float* value) {
                              hits.assign(hit, hit + here);
                              values.assign(value, value + here * cpu::panel_points);
                          });
        };
        compare();
        ASSERT_EQ(static_cast<std::size_t>(count), hits.size());
        for (int i = 0; i < count; ++i) {
            ASSERT_EQ(0xffffffffu, hits[i]);
            for (int p = 0; p < cpu::panel_points; ++p) {
                std::int64_t sum = 0;
                for (std::int64_t j = 0; j < 4 * words; ++j) sum += queries[i].numbers[j] * points[p].numbers[j];
                const float product = static_cast<float>(sum) * panel[cpu::panel_points + p];
                ASSERT_EQ(std::fma(-scales[i], product, panel[p]), values[i * cpu::panel_points + p])
                    << cpu::name(isa) << ", " << words << " words, query " << i << " of " << count << ", point " << p;
            }
        }
        // A threshold that is one of the values is no lower than it.
        thresholds[count - 1] = values[(count - 1) * cpu::panel_points + 5];
        const std::vector<float> known = values;
        compare();
        for (int p = 0; p < cpu::panel_points; ++p)
            ASSERT_EQ(known[(count - 1) * cpu::panel_points + p] <= thresholds[count - 1],
                      (hits[count - 1] >> p & 1) != 0);
    }
}

TEST(Bytes, TilesAreExact) {
    SKIP_WITHOUT_BYTES();
    adversarial::Random random(1);
    for (const cpu::Isa isa : isas()) {
        for (const std::int64_t many : {1, 2, 3, 7, 13}) {
            for (const bool extreme : {false, true})
                expect_tiles(isa, many * cpu::byte_kernels(isa)->tiles.run, extreme, random);
        }
    }
}

// As many coordinates as are filtered, all of them the largest: 32 bits hold every partial sum.
TEST(Bytes, SumsOfAllCoordinatesFit) {
    SKIP_WITHOUT_BYTES();
    for (const cpu::Isa isa : isas()) {
        const cpu::ByteKernels& k = *cpu::byte_kernels(isa);
        const std::int64_t words = cpu::max_filter_dimensions / 4;
        for (const int point : {-128, 127}) {
            for (const int query : {-128, 127}) {
                std::vector<float> panel(static_cast<std::size_t>(cpu::panel_floats(words)), 0.0f);
                std::fill_n(panel.data() + cpu::panel_points, cpu::panel_points, 1.0f);
                std::memset(panel.data() + cpu::panel_header, point, static_cast<std::size_t>(128 * words));
                if (k.raise) k.raise(panel.data() + cpu::panel_header, words * cpu::panel_points);
                std::vector<float> form(static_cast<std::size_t>(words + k.tiles.header), 0.0f);
                std::memset(form.data() + k.tiles.header, query, static_cast<std::size_t>(4 * words));
                const auto start = static_cast<std::int32_t>(-128 * k.sum(form.data() + k.tiles.header, words));
                std::memcpy(form.data(), &start, sizeof start);
                form[1] = 1;
                const float threshold = infinity;
                cpu::QueryTiles tiles(k.tiles, 1, words);
                tiles.set(0, form.data(), std::ssize(form));
                int seen = 0;
                tiles.compare(panel.data(), &threshold, 0,
                              [&](std::int64_t, std::int64_t, const std::uint32_t*, const float* values) {
                                  for (; seen < cpu::panel_points; ++seen)
                                      EXPECT_EQ(-static_cast<float>(4 * words * point * query), values[seen])
                                          << cpu::name(isa);
                              });
                EXPECT_EQ(cpu::panel_points, seen);
            }
        }
    }
}

// Of every row what is left is measured: v - scale times the numbers, within half a scale where nothing is cut.
TEST(Bytes, ResidualsAreThoseOfTheNumbers) {
    SKIP_WITHOUT_BYTES();
    adversarial::Random random(3);
    for (const cpu::Isa isa : isas()) {
        const cpu::ByteKernels& k = *cpu::byte_kernels(isa);
        for (std::int64_t d = 1; d < 70; ++d) {
            for (const double size : {0.0, 1e-40, 1e-19, 1e-17, 1.0, 1e9, 1e30}) {
                for (const double whole : {0.0, 0x1p-7, 1e300}) {
                    std::vector<double> row(static_cast<std::size_t>(d));
                    for (double& x : row) x = random.gaussian() * size;
                    if (whole == 0x1p-7)
                        for (double& x : row) x = (static_cast<double>(random.below(256)) - 128) * whole;
                    std::vector<float> words(static_cast<std::size_t>(d / 4 + 1), -1);
                    float scale = -1;
                    const cpu::RowSums s = k.round_row(row.data(), whole, d, words.data(), scale);
                    ASSERT_GE(scale, 0);
                    const auto* const numbers = reinterpret_cast<const std::int8_t*>(words.data());
                    long double norm2 = 0, rounded2 = 0, residual2 = 0;
                    for (std::int64_t j = 0; j < d; ++j) {
                        const long double r = static_cast<long double>(scale) * numbers[j], v = row[j];
                        norm2 += v * v;
                        rounded2 += r * r;
                        residual2 += (v - r) * (v - r);
                        if (scale > 0) {
                            EXPECT_LE(std::abs(v - r), 0.5001L * scale);
                        }
                    }
                    for (std::int64_t j = d; j % 4 != 0; ++j) EXPECT_EQ(0, numbers[j]);
                    EXPECT_NEAR(static_cast<double>(norm2), s.norm2, 1e-12 * s.norm2);
                    EXPECT_NEAR(static_cast<double>(rounded2), s.rounded2, 1e-12 * s.rounded2);
                    EXPECT_NEAR(static_cast<double>(residual2), s.residual2, 1e-12 * (s.residual2 + s.norm2 * 1e-9));
                    if (whole == 0x1p-7) {
                        EXPECT_EQ(0, s.residual2);
                    }
                }
            }
        }
    }
}

// The first coordinates of a row say whether it may be whole numbers, all of it whether it is.
TEST(Bytes, RowsAreWholeNumbersAsAWhole) {
    SKIP_WITHOUT_BYTES();
    constexpr double unit = 0x1p-7;
    for (const cpu::Isa isa : isas()) {
        const cpu::ByteKernels& k = *cpu::byte_kernels(isa);
        for (const std::int64_t d : {1, 8, 63, 64, 65, 72, 200}) {
            const auto rounded = [&](const std::vector<double>& row, float& scale) {
                std::vector<float> words(static_cast<std::size_t>(d / 4 + 1), -1);
                const cpu::RowSums s = k.round_row(row.data(), unit, d, words.data(), scale);
                const auto* const numbers = reinterpret_cast<const std::int8_t*>(words.data());
                double norm2 = 0;
                for (std::int64_t j = 0; j < d; ++j) {
                    EXPECT_LE(std::abs(row[j] - static_cast<double>(scale) * numbers[j]), 0.5001 * scale);
                    norm2 += row[j] * row[j];
                }
                EXPECT_NEAR(norm2, s.norm2, 1e-12 * norm2);
                return s.residual2;
            };
            std::vector<double> row(static_cast<std::size_t>(d));
            for (std::int64_t j = 0; j < d; ++j) row[j] = unit * static_cast<double>(j % 5 - 2);
            float scale = -1;
            EXPECT_EQ(0, rounded(row, scale));
            EXPECT_EQ(unit, scale) << d;
            std::vector<double> late(row);
            late.back() = 100.3 * unit;
            EXPECT_GT(rounded(late, scale), 0);
            EXPECT_NE(unit, scale) << d;
            std::vector<double> only_late(static_cast<std::size_t>(d), 0.0);
            only_late.back() = -128 * unit;
            EXPECT_EQ(0, rounded(only_late, scale));
            EXPECT_EQ(unit, scale) << d;
        }
    }
}

// ---------------------------------------------------------------- rows of 16 bits

std::vector<float> words_of(const std::vector<std::int16_t>& numbers) {
    std::vector<float> words((numbers.size() + 1) / 2, 0.0f);
    std::memcpy(words.data(), numbers.data(), sizeof(std::int16_t) * numbers.size());
    return words;
}

// To the bit, of numbers at both ends as well: what a lane adds fits 32 bits.
TEST(ShortRows, ValuesAreExact) {
    SKIP_WITHOUT_BYTES();
    adversarial::Random random(21);
    for (const cpu::Isa isa : isas()) {
        const cpu::ShortKernels& k = *cpu::short_kernels(isa);
        for (const std::int64_t d : {1, 2, 3, 31, 32, 33, 64, 127, 128, 129, 255, 768, 1001, 4096, 65536}) {
            const std::int64_t most = cpu::largest_short(d);
            ASSERT_LE(most * most * 2 * ((d + 31) / 32), std::numeric_limits<std::int32_t>::max());
            ASSERT_GE(most, 724);
            for (const int kind : {0, 1, 2, 3}) {
                std::vector<std::int16_t> q, x;
                std::int64_t sum = 0;
                for (std::int64_t j = 0; j < d; ++j) {
                    const auto any = [&] {
                        const auto number = static_cast<std::int64_t>(random.below(2 * most + 1)) - most;
                        return static_cast<std::int16_t>(kind == 0 ? number : kind == 1 && number < 0 ? -most : most);
                    };
                    q.push_back(any());
                    x.push_back(kind == 3 ? static_cast<std::int16_t>(-q.back()) : any());
                    sum += static_cast<std::int64_t>(q.back()) * x.back();
                }
                const auto scale = static_cast<float>(random.uniform() * 0.01), of_query = 0.37f, half = 3.25f;
                const float product = static_cast<float>(sum) * scale;
                const std::vector<float> of_q = words_of(q), of_x = words_of(x);
                EXPECT_EQ(std::fma(-of_query, product, half),
                          k.value(of_q.data(), of_x.data(), std::ssize(of_q), of_query, scale, half))
                    << cpu::name(isa) << ", d " << d << ", kind " << kind;
            }
        }
    }
}

TEST(ShortRows, ResidualsAreThoseOfTheNumbers) {
    SKIP_WITHOUT_BYTES();
    adversarial::Random random(22);
    for (const cpu::Isa isa : isas()) {
        const cpu::ShortKernels& k = *cpu::short_kernels(isa);
        for (const std::int64_t d : {1, 2, 7, 8, 9, 64, 333}) {
            for (const double size : {0.0, 1e-40, 1e-13, 1.0, 1e9, 1e30}) {
                std::vector<double> row(static_cast<std::size_t>(d));
                for (double& v : row) v = random.gaussian() * size;
                std::vector<float> words(static_cast<std::size_t>((d + 1) / 2), -1);
                float scale = -1;
                const cpu::RowSums s = k.round_row(row.data(), d, words.data(), scale);
                std::vector<std::int16_t> numbers(2 * words.size());
                std::memcpy(numbers.data(), words.data(), sizeof(float) * words.size());
                long double norm2 = 0, rounded2 = 0, residual2 = 0;
                for (std::int64_t j = 0; j < d; ++j) {
                    const long double r = static_cast<long double>(scale) * numbers[j], v = row[j];
                    EXPECT_LE(std::abs(numbers[j]), cpu::largest_short(d));
                    norm2 += v * v;
                    rounded2 += r * r;
                    residual2 += (v - r) * (v - r);
                    if (scale > 0) {
                        EXPECT_LE(std::abs(v - r), 0.51L * scale);
                    }
                }
                if (d % 2) {
                    EXPECT_EQ(0, numbers.back());
                }
                EXPECT_EQ(scale > 0, size > 1e-20 && size < 1e20) << size;
                EXPECT_NEAR(static_cast<double>(norm2), s.norm2, 1e-12 * s.norm2);
                EXPECT_NEAR(static_cast<double>(rounded2), s.rounded2, 1e-12 * s.rounded2);
                EXPECT_NEAR(static_cast<double>(residual2), s.residual2, 1e-9 * s.residual2 + 1e-24 * s.norm2);
            }
        }
    }
}

// ---------------------------------------------------------------- the enclosure

struct Enclosed {
    std::int64_t pairs = 0, rows = 0;  // rows: those of 16 bits
    double closest = 1e300;            // how much of E + F is left at least, as a share of |u| |v|
    double widest = 0;                 // E + F, likewise
    double slack = 0;                  // of rows, with 2 E
};

template <class T>
Enclosed enclosed(MetricId id, std::int64_t d, const std::vector<double>& point_values,
                  const std::vector<double>& query_values, cpu::Isa isa, const std::string& what) {
    const std::vector<T> points(point_values.begin(), point_values.end());
    const std::vector<T> queries(query_values.begin(), query_values.end());
    const MatrixView rows = view(points.data(), static_cast<std::int64_t>(points.size()) / d, d);
    const MatrixView of_queries = view(queries.data(), static_cast<std::int64_t>(queries.size()) / d, d);
    MetricSpec metric;
    metric.id = id;
    metric.params.d = d;
    std::vector<double> matrix;
    if (id == MetricId::mahalanobis) {
        matrix = positive_definite(d, 5);
        metric.params.constants = matrix.data();
    }
    const std::function<bool(const Progress&)> silent;
    ProgressMeter progress(silent, 1);
    const auto filter = cpu::Filter::make(rows, metric, isa, 1, cpu::Rounding::bytes, true, progress);
    Enclosed seen;
    if (!filter) return seen;
    const cpu::TileKernels& tiles = cpu::tile_kernels(isa);
    cpu::DistanceKeys distance_keys(metric, isa);
    cpu::RowBlock block(of_queries.rows, d), all(rows.rows, d);
    distance_keys.load(of_queries, 0, of_queries.rows, block);
    distance_keys.load(rows, 0, rows.rows, all);
    std::vector<double> ranks(static_cast<std::size_t>(rows.rows));
    std::vector<cpu::QueryTerms> coarse(static_cast<std::size_t>(of_queries.rows));
    std::vector<float> row_words(static_cast<std::size_t>(std::max(d, filter->row_query_words())));
    cpu::Buffer<float> forms(of_queries.rows * filter->query_words());
    filter->coarse_queries(block, of_queries.rows, tiles, forms.data(), coarse.data());
    for (std::int64_t i = 0; i < of_queries.rows; ++i) {
        const cpu::QueryTerms terms = filter->query(block, i, tiles, row_words.data());
        if (!terms.usable) continue;
        cpu::QueryTiles query(filter->tiles(tiles), 1, filter->words());
        query.set(0, forms.data() + i * filter->query_words(), filter->query_words());
        distance_keys.compute(block, i, all, rows.rows, ranks.data());
        for (std::int64_t panel = 0; panel < filter->panels(); ++panel) {
            const float* const at = filter->panel(panel);
            const float threshold = infinity;
            std::vector<float> values(cpu::panel_points, std::numeric_limits<float>::quiet_NaN());
            query.compare(at, &threshold, 0, [&](std::int64_t, std::int64_t, const std::uint32_t*, const float* found) {
                std::copy_n(found, cpu::panel_points, values.begin());
            });
            for (std::int64_t p = 0; p < cpu::panel_points && panel * cpu::panel_points + p < rows.rows; ++p) {
                if (!(at[p] < infinity)) continue;
                const double rank = ranks[static_cast<std::size_t>(panel * cpu::panel_points + p)];
                const long double w = static_cast<long double>(rank) * terms.scale + terms.offset;
                EXPECT_LE(static_cast<long double>(values[p]), w + coarse[i].error)
                    << what << ", query " << i << " point " << p;
                if (!filter->whole_rows()) {
                    const std::int64_t id = panel * cpu::panel_points + p;
                    const long double value = filter->row_value(tiles, row_words.data(), id);
                    EXPECT_LE(value, w + terms.error) << what << ", query " << i << " point " << p;
                    EXPECT_GE(value + filter->row_terms(id).slack, w - terms.error)
                        << what << ", query " << i << " point " << p;
                    seen.rows += filter->row_query_words() > filter->row_words();
                    seen.slack = std::max(seen.slack, filter->row_terms(id).slack + 2 * terms.error);
                }
                ++seen.pairs;
                const double size = std::abs(terms.offset) + 1e-300;
                seen.closest = std::min(seen.closest, static_cast<double>(w + coarse[i].error - values[p]) / size);
                seen.widest = std::max(seen.widest, static_cast<double>(w + coarse[i].error - values[p]) / size);
                if (testing::Test::HasFailure()) return seen;
            }
        }
    }
    return seen;
}

std::vector<double> made(std::int64_t rows, std::int64_t d, const std::function<double(std::int64_t)>& coordinate) {
    std::vector<double> v;
    for (std::int64_t i = 0; i < rows * d; ++i) v.push_back(coordinate(i % d));
    return v;
}

TEST(Bytes, BoundDistanceKeysFromBelow) {
    SKIP_WITHOUT_BYTES();
    adversarial::Random random(5);
    const std::pair<const char*, std::function<double(std::int64_t)>> data[] = {
        {"gaussian", [&](std::int64_t) { return random.gaussian(); }},
        {"one coordinate outweighs all", [&](std::int64_t j) { return random.gaussian() * (j == 1 ? 1e4 : 1); }},
        {"scales far apart",
         [&](std::int64_t j) { return random.gaussian() * std::ldexp(1.0, -2 * static_cast<int>(j)); }},
        {"between two numbers", [&](std::int64_t j) { return j == 0 ? 127 : std::floor(random.uniform() * 90) + 0.5; }},
        {"far off", [&](std::int64_t) { return 1000 + random.gaussian(); }},
        {"two values", [&](std::int64_t) { return random.below(2) ? 1.0 : -1.0; }},
        {"mostly 0", [&](std::int64_t) { return random.below(40) ? 0 : random.gaussian(); }},
        {"tiny", [&](std::int64_t) { return random.gaussian() * 1e-150; }},
        {"large", [&](std::int64_t) { return random.gaussian() * 1e25; }},
    };
    for (const cpu::Isa isa : isas()) {
        for (const MetricId id : {MetricId::sqeuclidean, MetricId::inner_product, MetricId::cosine,
                                  MetricId::correlation, MetricId::mahalanobis}) {
            for (const std::int64_t d : {3, 4, 31, 64, 129}) {
                if (id == MetricId::correlation && d < 4) continue;
                for (const auto& [name, coordinate] : data) {
                    const std::string what =
                        std::string(cpu::name(isa)) + ", " + kith::name(id) + ", " + name + ", d " + std::to_string(d);
                    const auto points = made(130, d, coordinate), queries = made(9, d, coordinate);
                    const Enclosed seen = enclosed<double>(id, d, points, queries, isa, what);
                    if (std::string(name) == "gaussian") {
                        EXPECT_EQ(130 * 9, seen.pairs) << what;
                        EXPECT_EQ(130 * 9, seen.rows) << what;
                        // bf16 loses more of these, and pays for it.
                        EXPECT_LT(seen.slack, 2.5e-3) << what;
                    }
                    if (HasFailure()) return;
                }
            }
        }
    }
}

// Residuals of both sides that lie along the other's vector: nearly all of what is paid is needed.
TEST(Bytes, PayNoMoreThanResidualsTake) {
    SKIP_WITHOUT_BYTES();
    constexpr std::int64_t d = 64;
    // Every coordinate a number and a half, but for one that sets the scale.
    const auto coordinate = [](std::int64_t j) { return j == 0 ? 127.0 : (j % 2 ? 1 : -1) * 0.499; };
    for (const cpu::Isa isa : isas()) {
        std::vector<double> points = made(64, d, coordinate), queries = made(1, d, coordinate);
        for (std::int64_t i = 32; i < 64; ++i)
            for (std::int64_t j = 0; j < d; ++j) points[i * d + j] *= -1;
        const Enclosed seen = enclosed<float>(MetricId::inner_product, d, points, queries, isa, cpu::name(isa));
        EXPECT_EQ(64, seen.pairs);
    }
}

// Elements of 8 bits are themselves: what is paid is next to nothing.
TEST(Bytes, WholeNumbersAreExact) {
    SKIP_WITHOUT_BYTES();
    adversarial::Random random(7);
    const auto unsigned_byte = [&](std::int64_t) { return static_cast<double>(random.below(256)); };
    const auto signed_byte = [&](std::int64_t) { return static_cast<double>(random.below(256) - 128); };
    for (const cpu::Isa isa : isas()) {
        for (const std::int64_t d : {4, 31, 128}) {
            const auto points = made(130, d, unsigned_byte), queries = made(9, d, unsigned_byte);
            const Enclosed seen = enclosed<std::uint8_t>(MetricId::sqeuclidean, d, points, queries, isa, "u8");
            EXPECT_EQ(130 * 9, seen.pairs);
            EXPECT_LT(seen.widest, 2e-5);
            const auto others = made(130, d, signed_byte), their_queries = made(9, d, signed_byte);
            EXPECT_LT(enclosed<std::int8_t>(MetricId::sqeuclidean, d, others, their_queries, isa, "i8").widest, 2e-5);
        }
    }
}

}  // namespace
