// The filter's tiles in matrix registers, with registers in software: their hits and values are to the bit those of
// pairs taken one by one, whatever the number of queries and words, and registers are entered and left in turn.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "adversarial.h"
#include "cpu/filter/tile/query_tiles.h"
#include "software_registers.h"
#define KITH_LEVEL 0
#include "cpu/simd/target-inl.h"
// After the target.
#include "cpu/filter/tile/register_tiles-inl.h"

namespace {

using namespace kith;
using adversarial::Random;
using cpu::Tiles, cpu::panel_points, cpu::panel_header;
using Words = std::vector<std::uint32_t>;

constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
constexpr std::int64_t run = 16;  // words of a query in a register

// ---------------------------------------------------------------- one pair at a time

struct PointTerms {
    float half_norm, scale;
};

struct Bytes {
    static Tiles tiles() {
        return cpu::KITH_TARGET::tiles_in_registers<software_registers::Registers, cpu::KITH_TARGET::ByteProducts>();
    }
    static std::uint32_t word(Random& random) {
        std::uint32_t word = 0;
        for (int byte = 0; byte < 4; ++byte)
            word = word << 8 | (random.below(4) ? random.below(256) : random.below(2) ? 0x80 : 0x7f);
        return word;
    }
    static float value(const Words& query, const Words& point, PointTerms terms, float query_scale) {
        std::int64_t sum = 0;
        for (std::size_t j = 0; j < query.size(); ++j)
            for (int shift = 0; shift < 32; shift += 8)
                sum += static_cast<std::int8_t>(query[j] >> shift) * static_cast<std::int8_t>(point[j] >> shift);
        return std::fma(-query_scale, static_cast<float>(sum) * terms.scale, terms.half_norm);
    }
};

struct Pairs {
    static Tiles tiles() {
        return cpu::KITH_TARGET::tiles_in_registers<software_registers::Registers, cpu::KITH_TARGET::PairProducts>();
    }
    // Numbers near 1, among them zeros, denormals, and some whose products underflow.
    static std::uint32_t half(Random& random) {
        const auto sign_and_digits = static_cast<std::uint32_t>(random.below(2) << 15 | random.below(128));
        const auto kind = random.below(16);
        const auto exponent = kind == 0 ? 0 : kind == 1 ? 60 : 120 + random.below(12);
        return random.below(16) ? sign_and_digits | static_cast<std::uint32_t>(exponent << 7) : 0;
    }
    static std::uint32_t word(Random& random) {
        const std::uint32_t first = half(random);
        return first | half(random) << 16;
    }
    // In the order of TDPBF16PS, and within what docs/proofs/products.md says of any order.
    static float value(const Words& query, const Words& point, PointTerms terms, float) {
        using software_registers::add, software_registers::bf16, software_registers::multiply_add;
        float value = terms.half_norm;
        long double exact = value, size = std::abs(value);
        for (std::size_t j = 0; j < query.size(); j += run) {
            float chain[2] = {};
            for (std::size_t k = j; k < std::min<std::size_t>(query.size(), j + run); ++k) {
                for (const int h : {0, 1}) {
                    const float q = bf16(static_cast<std::uint16_t>(query[k] >> 16 * h)),
                                x = bf16(static_cast<std::uint16_t>(point[k] >> 16 * h));
                    chain[h] = multiply_add(q, x, chain[h]);
                    exact += static_cast<long double>(q) * x;
                    size += std::abs(static_cast<long double>(q) * x);
                }
            }
            value = add(value, add(chain[0], chain[1]));
        }
        const auto d = static_cast<long double>(2 * query.size());
        if (!std::isnan(value) && !std::isinf(value)) {
            EXPECT_LE(std::abs(value - exact), (d + 3) * (0x1p-24L * size + 0x1p-125L));
        }
        return value;
    }
};

// Queries and a panel of random words, and the value of each pair. Half norms are `odd`: NaN and +inf among them.
template <class Kind>
struct Case {
    Case(std::int64_t query_count, std::int64_t panel_words, std::int64_t made, bool odd, Random& random)
        : words(panel_words), panel(cpu::panel_floats(words)) {
        const auto random_words = [&] {
            Words all(static_cast<std::size_t>(made));
            for (std::uint32_t& word : all) word = Kind::word(random);
            return all;
        };
        std::fill_n(panel.data(), panel.size(), 0.0f);
        for (int p = 0; p < panel_points; ++p) {
            points.push_back(random_words());
            const auto kind = odd ? random.below(8) : 8;
            panel[p] = kind == 0 ? nan : kind == 1 ? infinity : static_cast<float>(random.gaussian() * 100);
            panel[panel_points + p] = static_cast<float>(random.uniform());
            for (std::int64_t j = 0; j < made; ++j)
                std::memcpy(panel.data() + panel_header + j * panel_points + p, &points.back()[j], 4);
        }
        for (std::int64_t i = 0; i < query_count; ++i) {
            queries.push_back(random_words());
            scales.push_back(static_cast<float>(random.uniform() * 0.01));
        }
    }

    std::int64_t count() const { return static_cast<std::int64_t>(queries.size()); }
    // A query's words with those of the header, the first of which the tiles do not use.
    std::vector<float> form(std::int64_t i, std::int64_t header) const {
        std::vector<float> all(static_cast<std::size_t>(header), -1e30f);
        if (header > 0) all[1] = scales[i];
        all.resize(all.size() + queries[i].size());
        std::memcpy(all.data() + header, queries[i].data(), 4 * queries[i].size());
        return all;
    }
    // Values, and thresholds of each kind in turn: what no value but NaN passes, what all do, one of the values.
    void evaluate(Random& random) {
        values.clear();
        thresholds.clear();
        for (std::int64_t i = 0; i < count(); ++i) {
            for (int p = 0; p < panel_points; ++p)
                values.push_back(Kind::value(queries[i], points[p], {panel[p], panel[panel_points + p]}, scales[i]));
            const float some = values[i * panel_points + random.below(panel_points)];
            const float kinds[] = {-infinity, infinity, some, nan, some};
            thresholds.push_back(kinds[(i + count()) % 5]);
        }
    }
    bool passes(std::int64_t i, int p) const { return !(values[i * panel_points + p] > thresholds[i]); }
    bool any() const {
        for (std::int64_t i = 0; i < count(); ++i)
            for (int p = 0; p < panel_points; ++p)
                if (passes(i, p)) return true;
        return false;
    }
    // Hits and values of query i, and those that it should have.
    testing::AssertionResult right(std::int64_t i, std::uint32_t hits, const float* found) const {
        for (int p = 0; p < panel_points; ++p) {
            const float value = values[i * panel_points + p];
            const bool same = !(hits >> p & 1) || found[p] == value || (std::isnan(found[p]) && std::isnan(value));
            if ((hits >> p & 1) != passes(i, p) || !same)
                return testing::AssertionFailure() << "query " << i << " of " << count() << ", point " << p << ", "
                                                   << words << " words: hit " << (hits >> p & 1) << ", value "
                                                   << found[p] << " for " << value << ", threshold " << thresholds[i];
        }
        return testing::AssertionSuccess();
    }

    std::int64_t words;
    cpu::Buffer<float> panel;
    std::vector<Words> points, queries;
    std::vector<float> scales, values, thresholds;
};

template <class Kind>
class RegisterTiles : public testing::Test {
protected:
    Random random{1};
    const Tiles tiles = Kind::tiles();
};
using Kinds = testing::Types<Bytes, Pairs>;
TYPED_TEST_SUITE(RegisterTiles, Kinds);

// ---------------------------------------------------------------- tiles

// Rows of queries that a tile has room for and that are not there may hold anything.
TYPED_TEST(RegisterTiles, ValuesOfEachPair) {
    const Tiles& t = this->tiles;
    Random& random = this->random;
    for (int count = 1; count <= t.queries; ++count) {
        for (const std::int64_t words : {run, 2 * run, 3 * run, 7 * run}) {
            const bool odd = count % 2 == 0;
            Case<TypeParam> c(count, words, words - (count % 3 ? random.below(run) : 0), odd, random);
            c.evaluate(random);
            const std::int64_t rows = count > 16 ? 32 : 16;
            cpu::Buffer<float> packed((t.header + words) * rows);
            for (std::int64_t j = 0; j < packed.size(); ++j) {
                const std::uint32_t word = TypeParam::word(random);
                std::memcpy(packed.data() + j, &word, sizeof word);
            }
            for (std::int64_t i = 0; i < count; ++i) {
                std::vector<float> form = c.form(i, t.header);
                form.resize(static_cast<std::size_t>(t.header + words), 0.0f);
                for (std::int64_t j = 0; j < t.header; ++j) packed[j * rows + i] = form[j];
                for (std::int64_t j = 0; j < words; ++j)
                    std::memcpy(&packed[t.header * rows + j / run * run * rows + i * run + j % run],
                                &form[t.header + j], sizeof(float));
            }
            const auto compare = [&] {
                std::vector<std::uint32_t> hits(static_cast<std::size_t>(count), 0x55555555);
                std::vector<float> values(static_cast<std::size_t>(count * panel_points), -7);
                t.enter();
                const bool any = t.tile[count](c.panel.data(), words, packed.data(), c.thresholds.data(), 0,
                                               hits.data(), values.data());
                t.leave();
                EXPECT_EQ(c.any(), any);
                for (int i = 0; i < count; ++i) EXPECT_TRUE(c.right(i, hits[i], values.data() + i * panel_points));
            };
            compare();
            c.thresholds.assign(c.thresholds.size(), -infinity);
            EXPECT_EQ(odd && c.any(), c.any());
            compare();
            if (testing::Test::HasFailure()) return;
        }
    }
}

// As many coordinates as are filtered, all of them the largest: 32 bits hold every partial sum.
TEST(RegisterTiles, SumsOfAllCoordinatesFit) {
    const Tiles t = Bytes::tiles();
    const std::int64_t words = 65536 / 4;
    for (const int query : {-128, 127}) {
        cpu::Buffer<float> panel(cpu::panel_floats(words));
        std::fill_n(panel.data(), panel_header, 1.0f);
        std::memset(panel.data() + panel_header, -128, static_cast<std::size_t>(4 * panel_points * words));
        std::vector<float> form(static_cast<std::size_t>(t.header + words), 1.0f);
        std::memset(form.data() + t.header, query, static_cast<std::size_t>(4 * words));
        cpu::QueryTiles tiles(t, 1, words);
        tiles.set(0, form.data(), std::ssize(form));
        bool seen = false;
        tiles.compare(panel.data(), &infinity, 0,
                      [&](std::int64_t, std::int64_t, const std::uint32_t*, const float* values) {
                          for (int p = 0; p < panel_points; ++p)
                              EXPECT_EQ(1 - static_cast<float>(4 * words * -128 * query), values[p]);
                          seen = true;
                      });
        EXPECT_TRUE(seen);
    }
}

// ---------------------------------------------------------------- tiles of many queries

template <class Kind>
void compare_all(const Tiles& t, std::int64_t count, std::int64_t words, std::int64_t made, Random& random) {
    Case<Kind> c(count, words, made, count % 2 == 0, random);
    cpu::QueryTiles tiles(t, count, words);
    for (std::int64_t i = 0; i < count; ++i) {
        if (i % 7 != 3) {
            const std::vector<float> form = c.form(i, t.header);
            tiles.set(i, form.data(), std::ssize(form));
        } else {
            // One that is not set is nothing but 0.
            std::fill(c.queries[i].begin(), c.queries[i].end(), 0);
            c.scales[i] = 0;
        }
    }
    c.evaluate(random);
    std::vector<std::uint32_t> hits(static_cast<std::size_t>(count), 0);
    std::vector<float> values(static_cast<std::size_t>(count * panel_points), 0);
    tiles.compare(c.panel.data(), c.thresholds.data(), 0,
                  [&](std::int64_t first, std::int64_t here, const std::uint32_t* hit, const float* value) {
                      ASSERT_TRUE(first % t.queries == 0 && first + here <= count);
                      std::copy_n(hit, here, hits.begin() + first);
                      std::copy_n(value, here * panel_points, values.begin() + first * panel_points);
                  });
    for (std::int64_t i = 0; i < count; ++i) EXPECT_TRUE(c.right(i, hits[i], values.data() + i * panel_points));
}

TYPED_TEST(RegisterTiles, OfAnyNumberOfQueries) {
    for (std::int64_t count = 1; count <= 70 && !testing::Test::HasFailure(); ++count) {
        const std::int64_t made = 1 + this->random.below(5 * run), words = this->tiles.padded(made);
        ASSERT_TRUE(words % run == 0 && words >= made && words < made + run);
        compare_all<TypeParam>(this->tiles, count, words, made, this->random);
    }
}

TYPED_TEST(RegisterTiles, OfEachThread) {
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 3; ++thread)
        threads.emplace_back([&, thread] {
            Random random(static_cast<std::uint64_t>(thread));
            for (int times = 0; times < 20; ++times) compare_all<TypeParam>(this->tiles, 20, 32, 30, random);
        });
    for (std::thread& thread : threads) thread.join();
}

// ---------------------------------------------------------------- entering and leaving

// One query that every point passes.
struct Passed {
    Passed() { std::fill_n(panel.data(), panel.size(), 0.0f); }
    template <class OfTile>
    void compare(const OfTile& of_tile) {
        queries.compare(panel.data(), &infinity, 0,
                        [&](std::int64_t, std::int64_t, const std::uint32_t*, const float*) { of_tile(); });
    }
    const Tiles tiles = Bytes::tiles();
    cpu::Buffer<float> panel{cpu::panel_floats(run)};
    cpu::QueryTiles queries{tiles, 1, run};
};

TEST(Registers, AreLeftWhereACandidateThrows) {
    Passed passed;
    EXPECT_THROW(passed.compare([] { throw 1; }), int);
    int seen = 0;
    passed.compare([&] { ++seen; });
    EXPECT_EQ(1, seen);
}

TEST(RegistersDeathTest, EndTheProgramWhereTheyAreMisused) {
    Passed passed;
    EXPECT_DEATH(passed.compare([&] { passed.compare([] {}); }), "configured twice");
    EXPECT_DEATH(passed.tiles.leave(), "released, and not configured");
    EXPECT_DEATH(software_registers::Registers::zero<0>(), "used, and not configured");
    EXPECT_DEATH(std::thread([&] { passed.tiles.enter(); }).join(), "a thread ends");
}

}  // namespace
