// The direct forms of the CPU's filter: what each charges is what docs/proofs/direct.md derives, and the kernels stay
// within it of the exact value, computed in long double.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "cpu/filter/bound.h"
#include "cpu/filter/tile/tile.h"
#include "direct_forms.h"
#include "kith/kith.h"

namespace {

using namespace kith;
using namespace direct_forms;

constexpr std::size_t lanes = cpu::panel_points;

void encode(const exact::DirectForm& form, const cpu::TileKernels& tiles, const Vector& v, std::vector<float>& words) {
    words.assign(v.size() + 4, 0.0f);
    const Vector centre(v.size(), 0.0);
    const auto d = static_cast<std::int64_t>(v.size());
    Vector row = v;
    if (form.coordinates == exact::Coordinates::indicators)
        for (double& x : row) x = x == 0 ? 0 : 1;
    const auto round = form.coordinates == exact::Coordinates::i8   ? tiles.round_i8
                       : form.coordinates == exact::Coordinates::u8 ? tiles.round_u8
                                                                    : tiles.round_row;
    const double residual2 = round(row.data(), centre.data(), 1, d, words.data()).residual2;
    ASSERT_TRUE(residual2 == 0 || form.coordinates == exact::Coordinates::nearest);
    const bool bytes = round != tiles.round_row;
    words.resize(bytes ? (v.size() + 3) / 4 : v.size());
}

// One query against up to 32 points: every value within the form's error.
void within_error(const Form& f, cpu::Isa isa, const Vector& query, const std::vector<Vector>& points,
                  const char* what) {
    const exact::DirectForm form = f.form();
    const cpu::TileKernels& tiles = cpu::tile_kernels(isa);
    std::vector<float> q, words;
    encode(form, tiles, query, q);
    std::vector<float> panel(cpu::panel_header + lanes * q.size(), 0.0f);
    for (std::size_t p = 0; p < points.size(); ++p) {
        encode(form, tiles, points[p], words);
        for (std::size_t j = 0; j < words.size(); ++j)
            std::memcpy(&panel[cpu::panel_header + j * lanes + p], &words[j], sizeof(float));
    }
    const float threshold = std::numeric_limits<float>::infinity();
    std::uint32_t hits = 0;
    alignas(64) float values[lanes];
    tiles.of_step[static_cast<int>(form.step)].tile[1](panel.data(), static_cast<std::int64_t>(q.size()), q.data(),
                                                       &threshold, form.exponent, &hits, values);
    ASSERT_EQ(0xffffffffu, hits);
    const cpu::QueryTerms terms =
        cpu::direct_terms(exact::direct_bound(form.error, static_cast<std::int64_t>(query.size())));
    const long double g = (terms.growth - 1.0L) / (terms.growth + 1.0L);
    for (std::size_t p = 0; p < points.size(); ++p) {
        const long double rank = exact_value(f, query, points[p]), error = g * rank + terms.error;
        if (rank * (1 + g) > std::numeric_limits<float>::max()) {
            ASSERT_GE(values[p], rank * (1 - g)) << f.name;
            continue;
        }
        ASSERT_LE(std::abs(values[p] - rank), error)
            << f.name << ", " << cpu::name(isa) << ", d " << query.size() << ", " << what << ", point " << p << ": "
            << values[p] << " is not " << static_cast<double>(rank) << " within " << static_cast<double>(error);
    }
}

std::vector<cpu::Isa> isas() {
    std::vector<cpu::Isa> list;
    for (const cpu::Isa isa : {cpu::Isa::baseline, cpu::Isa::avx2, cpu::Isa::avx512})
        if (cpu::supported(isa)) list.push_back(isa);
    return list;
}

TEST(DirectForms, OneCoordinate) {
    for (const Form& f : forms(1)) {
        for (const cpu::Isa isa : isas()) {
            one_coordinate(f, 3000, lanes,
                           [&](const Vector& query, const std::vector<Vector>& points, const char* what) {
                               if (!testing::Test::HasFatalFailure()) within_error(f, isa, query, points, what);
                           });
        }
    }
}

TEST(DirectForms, Vectors) {
    vectors(lanes, [](const Form& f, const Vector& query, const std::vector<Vector>& points, const char* what) {
        for (const cpu::Isa isa : isas())
            if (!testing::Test::HasFatalFailure()) within_error(f, isa, query, points, what);
    });
}

// Rows of f64, which are rounded and pay for it.
TEST(DirectForms, RoundedRows) {
    for (const cpu::Isa isa : isas()) {
        const cpu::TileKernels& tiles = cpu::tile_kernels(isa);
        rounded_rows(lanes, false,
                     [&](const exact::DirectForm& form, const Vector& query, const std::vector<Vector>& points,
                         const std::vector<float>& half_norms) {
                         const std::vector<float> q(query.begin(), query.end());
                         std::vector<float> panel(cpu::panel_header + lanes * q.size(), 0.0f);
                         std::copy(half_norms.begin(), half_norms.end(), panel.begin());
                         for (std::size_t p = 0; p < points.size(); ++p)
                             for (std::size_t j = 0; j < q.size(); ++j)
                                 panel[cpu::panel_header + j * lanes + p] = static_cast<float>(points[p][j]);
                         const float threshold = std::numeric_limits<float>::infinity();
                         std::uint32_t hits = 0;
                         std::vector<float> values(lanes);
                         tiles.of_step[static_cast<int>(form.step)].tile[1](
                             panel.data(), std::ssize(q), q.data(), &threshold, form.exponent, &hits, values.data());
                         return values;
                     });
        if (HasFatalFailure()) return;
    }
}

TEST(DirectForms, SearchesOfRoundedRows) {
    rounded_searches("cpu", 1500);
}

TEST(DirectForms, TinyDifferences) {
    tiny_differences("cpu");
}

TEST(DirectForms, SearchesOfF64AreCertified) {
    searches_of_f64_are_certified("cpu", 3000);
}

// Powers of infinity and NaN order last, as their distance keys do.
TEST(DirectForms, PowersOfInfinity) {
    const float infinity = std::numeric_limits<float>::infinity(), threshold = infinity, query = 0;
    for (const double p : {1.0, 1.5, 2.0, 3.0, 4.0, 7.0, 1024.0}) {
        const exact::DirectForm form = form_of("powers", Direct::powers, 1, p).form();
        for (const cpu::Isa isa : isas()) {
            std::vector<float> panel(cpu::panel_header + lanes, 0.0f);
            panel[cpu::panel_header] = infinity;
            panel[cpu::panel_header + 1] = -infinity;
            panel[cpu::panel_header + 2] = std::numeric_limits<float>::quiet_NaN();
            std::uint32_t hits = 0;
            alignas(64) float values[lanes];
            cpu::tile_kernels(isa).of_step[static_cast<int>(form.step)].tile[1](panel.data(), 1, &query, &threshold,
                                                                                form.exponent, &hits, values);
            EXPECT_EQ(infinity, values[0]) << p;
            EXPECT_EQ(infinity, values[1]) << p;
            EXPECT_FALSE(values[2] < infinity) << p;
        }
    }
}

// A quotient over a sum of 0 is +inf, as the key is, however small the coordinates: the mirrored point is no neighbour.
TEST(DirectForms, QuotientsOfMirroredPoints) {
    const float u = std::numeric_limits<float>::denorm_min();
    const std::vector<float> query = {2 * u, 3 * u};
    std::vector<float> points;
    for (int i = 0; i < 40; ++i) points.insert(points.end(), {-2 * u, (i == 25 ? -4 : -3) * u});
    for (const cpu::Isa isa : isas()) {
        Options options;
        options.device = "cpu";
        options.metric = MetricId::braycurtis;
        options.path = "direct-f32";
        options.isa = cpu::name(isa);
        options.f64 = true;
        const Neighbors found = search(view(points.data(), 40, 2), view(query.data(), 1, 2), 2, options);
        EXPECT_EQ((std::vector<std::int64_t>{25, 0}), found.ids) << cpu::name(isa);
        EXPECT_EQ((Vector{11, std::numeric_limits<double>::infinity()}), found.distances64) << cpu::name(isa);
    }
}

// The quotient of two sums of nothing, and points that are padding or not covered.
TEST(DirectForms, HalfNormsStay) {
    const float infinity = std::numeric_limits<float>::infinity(), query = 0;
    for (const Form& f : forms(1)) {
        const exact::DirectForm form = f.form();
        for (const cpu::Isa isa : isas()) {
            std::vector<float> panel(cpu::panel_header + lanes, 0.0f);
            panel[1] = infinity;
            panel[2] = std::numeric_limits<float>::quiet_NaN();
            std::uint32_t hits = 0;
            alignas(64) float values[lanes];
            const float threshold = 1;
            cpu::tile_kernels(isa).of_step[static_cast<int>(form.step)].tile[1](panel.data(), 1, &query, &threshold,
                                                                                form.exponent, &hits, values);
            EXPECT_EQ(0xfffffffdu, hits) << f.name;
            EXPECT_LE(values[0], 0x1p-100f) << f.name;
            EXPECT_TRUE(values[2] != values[2]) << f.name;
        }
    }
}

// What the derivation asks for is charged.
TEST(DirectForms, AreChargedAsDerived) {
    for (const std::int64_t d : {1, 100, 65536}) {
        const long double u = 0x1p-24L, sum = (static_cast<long double>(d) + 3) * u;
        for (const Form& f : forms(d)) {
            long double g = sum, lost = static_cast<long double>(d) * 0x1p-148L;
            const auto p = static_cast<long double>(f.params.p);
            switch (f.traits.direct) {
                case Direct::powers:
                    g += p <= 4 && p == std::floor(p) ? (2 * p - 1) * u : p * std::exp2(-18.8L) + std::exp2(-15.6L);
                    if (p > 4 || p != std::floor(p)) lost += static_cast<long double>(d) * 0x1p-124L;
                    break;
                case Direct::quotients:
                    g += 1.5L * 0x1p-12L + 4 * u;
                    lost += static_cast<long double>(d) * 2 * u * (1 + 2 * u);
                    break;
                case Direct::quotient:
                    g = (1 + sum) / (1 - sum) * (1 + u) - 1;
                    if (f.type == ElementType::f64) lost += 2 * u * (1 + 2 * u);
                    break;
                case Direct::mismatches:
                    g = 0;
                    break;
                case Direct::jaccard:
                case Direct::dice:
                    g = u;
                    break;
                case Direct::divergence:
                    g += 0x1p-10L + 0x1p-12L;
                    lost += 0x1.01p-46L * (0x1p12L + 1) + (static_cast<long double>(d) + 100) * 0x1p-52L;
                    break;
                default:
                    break;
            }
            const cpu::QueryTerms terms = cpu::direct_terms(exact::direct_bound(f.form().error, d));
            EXPECT_GE(static_cast<long double>(terms.growth), (1 + g) / (1 - g)) << f.name << ", d " << d;
            EXPECT_GE(static_cast<long double>(terms.error), lost) << f.name << ", d " << d;
        }
    }
}

// What the derivation asks of rounded rows is charged: with G the growth that each of two roundings takes,
// (1 + s)^(p-1), and c = (2 (1 + 1 / s))^(p-1).
TEST(DirectForms, RoundedRowsAreChargedAsDerived) {
    for (const std::int64_t d : {1, 8, 100, 65536}) {
        for (const Form& f : rounded_forms(d)) {
            const exact::DirectForm form = f.form();
            const exact::DirectBound bound = exact::direct_bound(form.error, d);
            const exact::RoundedBound rounded = exact::rounded_bound(form.rounding, bound);
            const long double p = form.rounding.power, base = bound.growth, growth = form.rounding.growth;
            EXPECT_GE(rounded.growth, base * growth * growth) << f.name << ", d " << d;
            EXPECT_LE(rounded.growth, 3) << f.name << ", d " << d;
            if (p == 1) {
                const bool sum = form.step == exact::Step::cityblock;
                EXPECT_GE(rounded.weight, base * (sum ? std::sqrt(static_cast<long double>(d)) : 1)) << f.name;
                continue;
            }
            const long double split = std::pow(growth, 1 / (p - 1)) - 1, factor = std::pow(2 * (1 + 1 / split), p - 1);
            const long double beyond = std::max(1.0L, std::pow(static_cast<long double>(d), 1 - p / 2));
            EXPECT_GE(rounded.weight, base * growth * factor * beyond * (1 - 1e-12L)) << f.name << ", d " << d;
        }
    }
    EXPECT_FALSE(exact::direct_form(form_of("powers", Direct::powers, 8, 17).traits,
                                    form_of("powers", Direct::powers, 8, 17).params, ElementType::f64));
}

TEST(DirectForms, ServeNoPowerBeyondTheirError) {
    EXPECT_FALSE(exact::direct_form(form_of("powers", Direct::powers, 8, 1025).traits,
                                    form_of("powers", Direct::powers, 8, 1025).params, ElementType::f32));
    EXPECT_FALSE(exact::direct_form(metric::Traits{}, metric::Params{}, ElementType::f32));
}

}  // namespace
