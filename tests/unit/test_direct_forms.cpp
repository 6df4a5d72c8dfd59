// The direct forms of the CPU's filter: what each charges is what docs/exactness.md derives, and the kernels stay
// within it of the exact value, computed in long double.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "cpu/filter/direct.h"
#include "cpu/filter/tile.h"
#include "kith/kith.h"

namespace {

using namespace kith;
using metric::Direct;
using Vector = std::vector<double>;

constexpr std::size_t lanes = cpu::panel_points;

struct Form {
    std::string name;
    metric::Traits traits;
    metric::Params params;
    ElementType type = ElementType::f32;

    cpu::DirectForm form() const { return *cpu::direct_form(traits, params, type); }
};

Form form_of(const char* name, Direct direct, std::int64_t d, double p = 2) {
    Form f;
    f.name = name;
    f.traits.direct = direct;
    f.params.d = d;
    f.params.p = p;
    if (direct == Direct::powers) f.name += " " + std::to_string(p);
    return f;
}

std::vector<Form> forms(std::int64_t d) {
    std::vector<Form> all = {form_of("squares", Direct::squares, d),      form_of("sum", Direct::sum, d),
                             form_of("maximum", Direct::maximum, d),      form_of("quotients", Direct::quotients, d),
                             form_of("quotient", Direct::quotient, d),    form_of("mismatches", Direct::mismatches, d),
                             form_of("divergence", Direct::divergence, d)};
    for (const double p : {1.0, 1.25, 2.0, 2.5, 3.0, 4.0, 5.0, 16.0, 100.0, 1024.0})
        all.push_back(form_of("powers", Direct::powers, d, p));
    Form bytes = form_of("bytes", Direct::mismatches, d), bits = bytes;
    bytes.type = ElementType::i8;
    all.push_back(bytes);
    bits.name = "bits";
    bits.type = ElementType::u8;
    bits.params.packed_bits = true;
    all.push_back(bits);
    return all;
}

// What the metric's definition gives. Of `divergence` the coordinates are the roots that the kernel takes.
long double exact(const Form& f, const Vector& q, const Vector& x) {
    long double sum = 0, other = 0;
    for (std::size_t j = 0; j < q.size(); ++j) {
        const long double a = q[j], b = x[j], t = std::abs(a - b);
        switch (f.traits.direct) {
            case Direct::squares:
                sum += t * t;
                break;
            case Direct::maximum:
                sum = std::max(sum, t);
                break;
            case Direct::powers:
                sum += std::pow(t, static_cast<long double>(f.params.p));
                break;
            case Direct::quotients:
                if (t > 0) sum += t / (std::abs(a) + std::abs(b));
                break;
            case Direct::quotient:
                sum += t;
                other += std::abs(a + b);
                break;
            case Direct::mismatches:
                if (f.params.packed_bits)
                    sum += __builtin_popcount(static_cast<unsigned>(a) ^ static_cast<unsigned>(b));
                else sum += a != b;
                break;
            case Direct::divergence:
                // (a - b)^2 G, G from p log(2 p / (p + r)) as log1p, which does not cancel.
                if (t > 0) {
                    const long double p = a * a, r = b * b, s = p + r, z = (p - r) / s;
                    const long double other_side = z < 1 ? (1 - z) * std::log1p(-z) : 0;
                    const long double this_side = z > -1 ? (1 + z) * std::log1p(z) : 0;
                    sum += std::abs(z) < 1e-4L ? s / 2 * z * z * (1 + z * z / 6) : s / 2 * (this_side + other_side);
                }
                break;
            default:
                sum += t;
        }
    }
    return f.traits.direct == Direct::quotient ? (sum == 0 ? 0 : sum / other) : sum;
}

void encode(const cpu::DirectForm& form, const cpu::TileKernels& tiles, const Vector& v, std::vector<float>& words) {
    words.assign(v.size() + 4, 0.0f);
    const Vector centre(v.size(), 0.0);
    const auto d = static_cast<std::int64_t>(v.size());
    const auto round = form.coordinates == cpu::Coordinates::i8   ? tiles.round_i8
                       : form.coordinates == cpu::Coordinates::u8 ? tiles.round_u8
                                                                  : tiles.round_row;
    ASSERT_EQ(0, round(v.data(), centre.data(), 1, d, words.data()).residual2);
    const bool bytes = round != tiles.round_row;
    words.resize(bytes ? (v.size() + 3) / 4 : v.size());
}

// One query against up to 32 points: every value within the form's error.
void within_error(const Form& f, cpu::Isa isa, const Vector& query, const std::vector<Vector>& points,
                  const char* what) {
    const cpu::DirectForm form = f.form();
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
    tiles.tile[static_cast<int>(form.step)][1](panel.data(), static_cast<std::int64_t>(q.size()), q.data(), &threshold,
                                               form.exponent, &hits, values);
    ASSERT_EQ(0xffffffffu, hits);
    const cpu::QueryTerms terms =
        cpu::FilterBound(metric::Gemm::none, static_cast<std::int64_t>(query.size())).direct_query(form.error);
    const long double g = (terms.growth - 1.0L) / (terms.growth + 1.0L);
    for (std::size_t p = 0; p < points.size(); ++p) {
        const long double rank = exact(f, query, points[p]), error = g * rank + terms.error;
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

// Coordinates that the form covers, near `value`.
double admissible(const Form& f, double value) {
    if (f.traits.direct == Direct::divergence) value = std::min(std::abs(value), 1.0);
    if (f.params.packed_bits) return static_cast<double>(static_cast<int>(std::abs(value) * 1000) % 256);
    if (f.type == ElementType::i8) return static_cast<double>(static_cast<int>(value * 10) % 128);
    return static_cast<float>(value);
}

// One coordinate: differences, sums and quotients of every size, their mantissas all over.
TEST(DirectForms, OneCoordinate) {
    std::mt19937_64 random(11);
    for (const Form& f : forms(1)) {
        for (const cpu::Isa isa : isas()) {
            for (int turn = 0; turn < 3000; ++turn) {
                const int exponent = turn % 120 - 60;
                const Vector query = {turn % 3 == 0 ? 0
                                                    : admissible(f, std::ldexp(turn % 3 == 1 ? 1.0 : -1.5, -turn % 7))};
                std::vector<Vector> points;
                for (std::size_t p = 0; p < lanes; ++p) {
                    const double m = 1 + static_cast<double>(random() % (1 << 23)) * 0x1p-23;
                    const double t = turn % 2 ? m * (turn % 4 == 1 ? -1 : 1) : std::ldexp(m, exponent);
                    points.push_back({admissible(f, p == 0 ? query[0] : t)});
                }
                within_error(f, isa, query, points, "one coordinate");
                if (testing::Test::HasFatalFailure()) return;
            }
        }
    }
}

// Whole vectors: sums in which one term outweighs the others, that lose half a unit at each step, near pairs, zeros.
TEST(DirectForms, Vectors) {
    std::mt19937_64 random(12);
    std::normal_distribution<double> normal;
    const std::pair<const char*, std::function<double(std::size_t)>> makers[] = {
        {"normal", [&](std::size_t) { return normal(random); }},
        {"one large", [&](std::size_t j) { return j == 0 ? 1 : 0x1p-24 * (random() % 2 ? 0.99 : 1.01); }},
        {"sparse", [&](std::size_t) { return random() % 4 ? 0 : normal(random); }},
        {"of many sizes",
         [&](std::size_t) { return std::ldexp(normal(random), static_cast<int>(random() % 60) - 30); }},
        {"near", [&](std::size_t j) { return 1 + static_cast<double>(j % 7) + 1e-5 * normal(random); }},
        {"whole", [&](std::size_t) { return static_cast<double>(random() % 9); }},
    };
    for (const std::int64_t d : {2, 3, 5, 8, 31, 128, 1001}) {
        for (const Form& f : forms(d)) {
            for (const auto& [what, coordinate] : makers) {
                for (const cpu::Isa isa : isas()) {
                    const auto vector = [&] {
                        Vector v;
                        for (std::int64_t j = 0; j < d; ++j)
                            v.push_back(admissible(f, coordinate(static_cast<std::size_t>(j))));
                        return v;
                    };
                    const Vector query = vector();
                    std::vector<Vector> points = {query};
                    while (points.size() < lanes) points.push_back(vector());
                    within_error(f, isa, query, points, what);
                    if (testing::Test::HasFatalFailure()) return;
                }
            }
        }
    }
}

// Powers of infinity and NaN order last, as their distance keys do.
TEST(DirectForms, PowersOfInfinity) {
    const float infinity = std::numeric_limits<float>::infinity(), threshold = infinity, query = 0;
    for (const double p : {1.0, 1.5, 2.0, 3.0, 4.0, 7.0, 1024.0}) {
        const cpu::DirectForm form = form_of("powers", Direct::powers, 1, p).form();
        for (const cpu::Isa isa : isas()) {
            std::vector<float> panel(cpu::panel_header + lanes, 0.0f);
            panel[cpu::panel_header] = infinity;
            panel[cpu::panel_header + 1] = -infinity;
            panel[cpu::panel_header + 2] = std::numeric_limits<float>::quiet_NaN();
            std::uint32_t hits = 0;
            alignas(64) float values[lanes];
            cpu::tile_kernels(isa).tile[static_cast<int>(form.step)][1](panel.data(), 1, &query, &threshold,
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
        const cpu::DirectForm form = f.form();
        for (const cpu::Isa isa : isas()) {
            std::vector<float> panel(cpu::panel_header + lanes, 0.0f);
            panel[1] = infinity;
            panel[2] = std::numeric_limits<float>::quiet_NaN();
            std::uint32_t hits = 0;
            alignas(64) float values[lanes];
            const float threshold = 1;
            cpu::tile_kernels(isa).tile[static_cast<int>(form.step)][1](panel.data(), 1, &query, &threshold,
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
                    break;
                case Direct::quotient:
                    g = (1 + sum) / (1 - sum) * (1 + u) - 1;
                    break;
                case Direct::mismatches:
                    g = 0;
                    break;
                case Direct::divergence:
                    g += 0x1p-10L + 0x1p-12L;
                    lost += 0x1.01p-46L * (0x1p12L + 1) + (static_cast<long double>(d) + 100) * 0x1p-52L;
                    break;
                default:
                    break;
            }
            const cpu::QueryTerms terms = cpu::FilterBound(metric::Gemm::none, d).direct_query(f.form().error);
            EXPECT_GE(static_cast<long double>(terms.growth), (1 + g) / (1 - g)) << f.name << ", d " << d;
            EXPECT_GE(static_cast<long double>(terms.error), lost) << f.name << ", d " << d;
        }
    }
}

TEST(DirectForms, ServeNoPowerBeyondTheirError) {
    EXPECT_FALSE(cpu::direct_form(form_of("powers", Direct::powers, 8, 1025).traits,
                                  form_of("powers", Direct::powers, 8, 1025).params, ElementType::f32));
    EXPECT_FALSE(cpu::direct_form(metric::Traits{}, metric::Params{}, ElementType::f32));
}

}  // namespace
