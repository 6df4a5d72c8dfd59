// The bound of the CPU's filters attacked: for pairs made to use all of it, the filter's own kernels must stay within
// it of the exact value, computed in long double.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "cpu/filter/bound.h"
#include "cpu/filter/tile/query_tiles.h"
#include "cpu/filter/tile/tile.h"

namespace {

using namespace kith;
using cpu::FilterBound;
using cpu::Rounding;
using cpu::RowSums;
using metric::Gemm;
using Vector = std::vector<double>;

constexpr std::size_t lanes = cpu::panel_points;

// How vectors are rounded and multiplied. `bits` below 24 rounds to fewer than f32 has, which its bound allows for, as
// residuals are measured; only then do they outweigh what the bound grants the summation.
struct Arithmetic {
    Rounding rounding;
    cpu::Isa isa;
    int bits;

    std::string label() const {
        return std::string(rounding == Rounding::bf16 ? "bf16" : "f32") + " " + cpu::name(isa) + ", " +
               std::to_string(bits) + " bits";
    }
};

std::vector<Arithmetic> arithmetics() {
    std::vector<Arithmetic> all;
    for (const cpu::Isa isa : {cpu::Isa::baseline, cpu::Isa::avx2, cpu::Isa::avx512}) {
        if (!cpu::supported(isa)) continue;
        for (const int bits : {24, 18, 12}) all.push_back({Rounding::f32, isa, bits});
    }
    for (const cpu::Isa isa : {cpu::Isa::avx512, cpu::Isa::amx})
        if (cpu::supported(isa) && cpu::pair_kernels(isa)) all.push_back({Rounding::bf16, isa, 8});
    return all;
}

double round_to(double x, int bits) {
    if (bits == 24 || x == 0) return static_cast<float>(x);
    int exponent;
    const double mantissa = std::frexp(x, &exponent);
    return static_cast<float>(std::ldexp(std::nearbyint(std::ldexp(mantissa, bits)), exponent - bits));
}

// A vector as the filter holds it.
RowSums encode(const Arithmetic& a, const Vector& v, std::vector<float>& words) {
    const Vector centre(v.size(), 0.0);
    words.assign(v.size() + 1, 0.0f);
    const auto d = static_cast<std::int64_t>(v.size());
    if (a.rounding == Rounding::bf16) {
        const RowSums sums = cpu::pair_kernels(a.isa)->round_row(v.data(), centre.data(), 1, d, words.data());
        words.resize((v.size() + 1) / 2);
        return sums;
    }
    words.resize(v.size());
    if (a.bits == 24) return cpu::tile_kernels(a.isa).round_row(v.data(), centre.data(), 1, d, words.data());
    RowSums sums{0, 0, 0};
    for (std::size_t j = 0; j < v.size(); ++j) {
        const double r = round_to(v[j], a.bits);
        words[j] = static_cast<float>(r);
        sums.norm2 += v[j] * v[j];
        sums.rounded2 += r * r;
        sums.residual2 += (v[j] - r) * (v[j] - r);
    }
    return sums;
}

double norm(const Vector& v) {
    double sum = 0;
    for (const double x : v) sum += x * x;
    return std::sqrt(sum);
}

void scale_to(Vector& v, double size) {
    const double now = norm(v);
    if (std::abs(now - size) <= size * 0x1p-51) return;
    for (double& x : v) x *= now > 0 ? size / now : 0;
}

// One query against a panel of points.
void within_bound(const Arithmetic& a, Gemm form, std::vector<Vector> points, Vector query, const char* what) {
    if (form != Gemm::l2) scale_to(query, 1);
    const std::size_t d = query.size();
    FilterBound bound(form, static_cast<std::int64_t>(d), a.rounding);
    std::vector<float> form_of_query, words;
    const RowSums query_sums = encode(a, query, form_of_query);
    const cpu::Tiles& tiles =
        a.rounding == Rounding::bf16 ? cpu::pair_kernels(a.isa)->tiles : cpu::tile_kernels(a.isa).of_step[0];
    const std::int64_t width = tiles.padded(std::ssize(form_of_query));
    std::vector<float> panel(static_cast<std::size_t>(cpu::panel_floats(width)));
    double largest = 0;
    for (std::size_t p = 0; p < lanes; ++p) {
        if (form == Gemm::cosine) scale_to(points[p], 1);
        const RowSums sums = encode(a, points[p], words);
        const cpu::PointTerms terms = bound.point(sums);
        panel[p] = terms.half_norm;
        panel[lanes + p] = terms.slack;
        for (std::size_t j = 0; j < words.size(); ++j)
            std::memcpy(&panel[cpu::panel_header + j * lanes + p], &words[j], sizeof(float));
        largest = std::max(largest, sums.rounded2);
    }
    bound.set_largest(std::sqrt(largest));
    const cpu::QueryTerms terms = bound.query(query_sums, 1, 1);
    const std::uint32_t signs = a.rounding == Rounding::bf16 ? 0x80008000 : 0x80000000;
    for (float& word : form_of_query) {
        std::uint32_t bits;
        std::memcpy(&bits, &word, sizeof bits);
        bits ^= signs;
        std::memcpy(&word, &bits, sizeof bits);
    }
    const float threshold = std::numeric_limits<float>::infinity();
    std::uint32_t hits = 0;
    float values[lanes];
    cpu::QueryTiles packed(tiles, 1, width);
    packed.set(0, form_of_query.data(), std::ssize(form_of_query));
    packed.compare(panel.data(), &threshold, 0,
                   [&](std::int64_t, std::int64_t, const std::uint32_t* hit, const float* value) {
                       hits = *hit;
                       std::copy_n(value, lanes, values);
                   });
    ASSERT_EQ(0xffffffffu, hits);
    for (std::size_t p = 0; p < lanes; ++p) {
        long double w = 0;
        for (std::size_t j = 0; j < d; ++j) {
            const long double v = points[p][j];
            w += (form == Gemm::l2 ? v * v / 2 : 0.0L) - static_cast<long double>(query[j]) * v;
        }
        const long double low = static_cast<long double>(values[p]) - terms.error;
        const long double high = static_cast<long double>(values[p]) + panel[lanes + p] + terms.error;
        ASSERT_TRUE(low <= w && w <= high)
            << a.label() << ", form " << static_cast<int>(form) << ", d " << d << ", " << what << ", |u| "
            << norm(query) << ", |v| " << norm(points[p]) << ": " << static_cast<double>(w) << " is not in ["
            << static_cast<double>(low) << ", " << static_cast<double>(high) << "]; outside by "
            << static_cast<double>(std::max(low - w, w - high));
    }
}

// What of the bound a pair shall use up.
enum class Attack { random, point_residual, query_residual, sum, cancellation, tiny, sparse, whole };

class Source {
public:
    explicit Source(int bits) : bits_(bits) {}

    double gauss() { return normal_(random_); }
    double power(int low, int high) {
        return std::ldexp(1.0, low + static_cast<int>(random_() % static_cast<unsigned>(high - low + 1)));
    }
    // Of norm 1, nearly every coordinate half way between two numbers of `bits` places, where these are farthest apart
    // for their size.
    Vector midpoints(std::size_t d) {
        const double size = std::exp2(std::floor(-std::log2(static_cast<double>(d)) / 2) - (d < 4 ? 1 : 0));
        Vector v;
        double rest = 1;
        for (std::size_t j = 0; j + 1 < d; ++j) {
            const double x = (1 + std::ldexp(random_() % 2 ? 0.999 : 1.001, -bits_)) * size;
            v.push_back(random_() % 2 ? x : -x);
            rest -= x * x;
            if (rest < 2 * size * size) break;
        }
        v.push_back(std::sqrt(rest));
        v.resize(d, 0.0);
        return v;
    }
    Vector vector(std::size_t d, Attack attack) {
        Vector v(d, 0.0);
        for (double& x : v) {
            switch (attack) {
                case Attack::sum:
                    x = 1 + std::abs(gauss()) * 1e-3;
                    break;
                case Attack::tiny:
                    // About the smallest normal f32.
                    x = gauss() * power(-150, -120);
                    break;
                case Attack::sparse:
                    x = random_() % 8 ? 0 : gauss() * power(-20, 20);
                    break;
                case Attack::whole:
                    x = static_cast<double>(random_() % 511) - 255;
                    break;
                default:
                    x = gauss();
            }
        }
        return v;
    }
    // Near `v`'s residual or against it, of few bits, so that its own residual is small.
    Vector along_residual(const Vector& v, double side) {
        Vector u;
        for (const double x : v) u.push_back(side * (x - round_to(x, bits_) > 0 ? 1 : -1));
        return u;
    }

private:
    int bits_;
    std::mt19937_64 random_{7};
    std::normal_distribution<double> normal_;
};

void attack(const Arithmetic& a, Gemm form, std::size_t d, Attack what, const char* name) {
    Source source(a.bits);
    for (int repeat = 0; repeat < 8; ++repeat) {
        Vector query = source.vector(d, what);
        std::vector<Vector> points;
        Vector along;
        const double side = repeat % 2 ? 1 : -1;
        if (what == Attack::query_residual) query = source.midpoints(d);
        for (std::size_t p = 0; p < lanes; ++p) {
            // Norms relative to each other: every ratio that makes the split of products tight is among them.
            const double ratio = std::ldexp(1.0, static_cast<int>(p) - 16);
            Vector v = source.vector(d, what);
            if (what == Attack::point_residual) {
                // One direction for all: every point is a multiple of the first, by a power of two.
                if (p == 0) {
                    along = source.midpoints(d);
                    query = source.along_residual(along, side);
                    scale_to(query, 1);
                }
                v = along;
                for (double& x : v) x *= form == Gemm::cosine ? 1 : ratio;
            } else if (what == Attack::query_residual) {
                v = source.along_residual(query, side);
                for (double& x : v) x *= ratio;
            } else if (what == Attack::cancellation) {
                v = query;
                for (double& x : v) x *= 1 + source.gauss() * 1e-3;
            } else if (what == Attack::random || what == Attack::sum) {
                for (double& x : v) x *= ratio;
            } else if (what == Attack::tiny && p % 2) {
                for (double& x : v) x *= 0x1p120;
            }
            points.push_back(v);
        }
        if (form == Gemm::dot && what == Attack::query_residual) {
            // One norm: with several, the largest pays for all.
            for (Vector& v : points) scale_to(v, 1);
        }
        within_bound(a, form, points, query, name);
        if (testing::Test::HasFatalFailure()) return;
    }
}

void attack_all(Gemm form, Rounding rounding) {
    if (rounding == Rounding::bf16 && !cpu::pair_kernels(cpu::best_isa()))
        GTEST_SKIP() << "this processor has no AVX512_BF16";
    for (const Arithmetic& a : arithmetics()) {
        if (a.rounding != rounding) continue;
        for (const std::size_t d : {1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 64, 129, 784, 2001}) {
            const std::pair<Attack, const char*> attacks[] = {{Attack::random, "random"},
                                                              {Attack::point_residual, "along the point's residual"},
                                                              {Attack::query_residual, "along the query's residual"},
                                                              {Attack::sum, "one sign"},
                                                              {Attack::cancellation, "cancellation"},
                                                              {Attack::tiny, "tiny"},
                                                              {Attack::sparse, "sparse"},
                                                              {Attack::whole, "whole numbers"}};
            for (const auto& [what, name] : attacks) {
                attack(a, form, d, what, name);
                if (testing::Test::HasFatalFailure()) return;
            }
        }
    }
}

TEST(Bound, l2_f32) {
    attack_all(Gemm::l2, Rounding::f32);
}
TEST(Bound, dot_f32) {
    attack_all(Gemm::dot, Rounding::f32);
}
TEST(Bound, cosine_f32) {
    attack_all(Gemm::cosine, Rounding::f32);
}
TEST(Bound, l2_bf16) {
    attack_all(Gemm::l2, Rounding::bf16);
}
TEST(Bound, dot_bf16) {
    attack_all(Gemm::dot, Rounding::bf16);
}
TEST(Bound, cosine_bf16) {
    attack_all(Gemm::cosine, Rounding::bf16);
}

}  // namespace
