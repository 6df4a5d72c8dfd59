// The bound of a GPU's filter of cross entropies (src/gpu/filter/bound.h) without a device: vectors and terms as its
// kernels make them, products in an arithmetic at the ends of what docs/proofs/products-gpu.md lets matrix units do.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "entropy_attacks.h"
#include "exact/canonical.h"
#include "gpu/filter/bound.h"
#include "gpu/filter/levels.h"
#include "metric/kl_divergence.h"

namespace {

using namespace kith;
using entropy_attacks::Data;

constexpr double infinity = std::numeric_limits<double>::infinity();

// To nearest even, as fp16.
double half(double x) {
    if (x == 0 || !std::isfinite(x)) return x;
    const double unit = std::ldexp(1.0, std::max(std::ilogb(x), -14) - 10), rounded = std::nearbyint(x / unit) * unit;
    return std::abs(rounded) > 65504 ? std::copysign(infinity, x) : rounded;
}

// A row's vector, and what was measured of it.
struct Vector {
    std::vector<double> halves;
    gpu::RowVector terms;
};

Vector make_vector(const double* row, const std::vector<double>& centre, const gpu::FilterForm& form, bool query) {
    const auto d = static_cast<std::int64_t>(centre.size()), part = form.width / (form.terms == 1 ? 1 : 3);
    Vector out;
    out.halves.resize(static_cast<std::size_t>(form.width));
    double norm2 = 0;
    for (std::int64_t i = 0; i < d; ++i) norm2 += row[i] * row[i];
    out.terms.zero = norm2 == 0;
    out.terms.finite = !query || norm2 == 0 || (norm2 >= gpu::smallest_square && norm2 <= gpu::largest_square);
    const double factor = !query ? form.scale : norm2 > 0 ? form.query_scale / std::sqrt(norm2) : 0;
    for (std::int64_t i = 0; i < d; ++i) {
        const double c = centre[static_cast<std::size_t>(i)];
        const gpu::EntropyCoordinate at =
            query ? gpu::entropy_query(row[i], c, factor, form.least) : gpu::entropy_point(row[i], c, factor);
        double first = half(at.rounded), rest = at.rounded - first, second = form.terms == 1 ? 0 : half(rest);
        rest = rest - second + (at.exact - at.rounded);
        out.terms.finite = out.terms.finite && at.covered && std::isfinite(rest);
        out.terms.norm2 += at.exact * at.exact;
        out.terms.rho2 += rest * rest;
        out.terms.second2 += second * second;
        out.terms.weight += at.weight;
        out.terms.zeros = out.terms.zeros || at.zero;
        if (at.zero) first = -gpu::entropy_norm;
        out.halves[static_cast<std::size_t>(i)] = first;
        if (form.terms == 1) continue;
        out.halves[static_cast<std::size_t>(part + i)] = query ? first : second;
        out.halves[static_cast<std::size_t>(2 * part + i)] = query ? second : first;
    }
    return out;
}

// Cuts x to a multiple of `unit`: towards 0, downwards or upwards.
double cut(double x, double unit, int way) {
    return unit * (way == 0 ? std::trunc(x / unit) : way < 0 ? std::floor(x / unit) : std::ceil(x / unit));
}

// h - <u, v> as matrix units do it, `step` products at a time.
double accumulated(double h, const std::vector<double>& u, const std::vector<double>& v, std::size_t step, int way) {
    const auto exponent = [](double x) { return x == 0 ? -14 : std::max(std::ilogb(x), -14); };
    double sum = h;
    for (std::size_t first = 0; first < u.size(); first += step) {
        int largest = sum == 0 ? -1000 : std::ilogb(sum);
        for (std::size_t i = first; i < first + step; ++i) largest = std::max(largest, exponent(u[i]) + exponent(v[i]));
        const double unit = std::ldexp(1.0, largest - 23);
        double next = cut(sum, unit, way);
        for (std::size_t i = first; i < first + step; ++i) next -= cut(u[i] * v[i], unit, -way);
        sum = next == 0 ? 0 : cut(next, std::ldexp(1.0, std::ilogb(next) - 23), way);
    }
    return sum;
}

float rounded_down(double x) {
    const auto f = static_cast<float>(x);
    return f > x ? std::nextafter(f, -std::numeric_limits<float>::infinity()) : f;
}

struct Seen {
    std::int64_t pairs = 0, covered = 0, infinite = 0;
    double largest_share = 0;
};

// The medians of logarithms, and the scale that brings a typical vector to its place.
std::vector<double> choose(const Data& data, gpu::FilterForm& form) {
    std::vector<double> centre, norms(static_cast<std::size_t>(data.n));
    for (std::int64_t j = 0; j < data.d; ++j) {
        std::vector<double> column;
        for (std::int64_t i = 0; i < data.n; ++i)
            if (gpu::has_logarithm(data.points[i * data.d + j]))
                column.push_back(portable::log(data.points[i * data.d + j]));
        std::sort(column.begin(), column.end());
        centre.push_back(column.empty() ? 0 : column[column.size() / 2]);
        for (std::int64_t i = 0; i < data.n; ++i)
            if (const double x = data.points[i * data.d + j]; gpu::has_logarithm(x))
                norms[static_cast<std::size_t>(i)] += std::pow(portable::log(x) - centre.back(), 2);
    }
    std::sort(norms.begin(), norms.end());
    const double typical = std::sqrt(norms[norms.size() / 2] > 0 ? norms[norms.size() / 2] : norms.back());
    if (typical > 0) form.scale = std::ldexp(1.0, gpu::entropy_exponent(form.terms) - std::ilogb(typical));
    return centre;
}

void attack(const std::string& what, std::int64_t d, int terms, std::size_t step, std::uint64_t seed, Seen& seen) {
    const Data data = entropy_attacks::make(what, 280, 12, d, seed);
    gpu::FilterForm form;
    form.terms = terms;
    form.width = gpu::filter_width(d, terms);
    form.gamma = gpu::filter_gamma(form.width);
    const std::vector<double> centre = choose(data, form);
    gpu::use_entropies(form);
    metric::Params params;
    params.d = d;
    const auto t = static_cast<long double>(form.scale);
    for (std::int64_t i = 0; i < data.q; ++i) {
        const double* const q = &data.queries[i * d];
        const Vector u = make_vector(q, centre, form, true);
        seen.pairs += data.n;
        if (!u.terms.finite || u.terms.zero || gpu::is_coarse(form, u.terms)) continue;
        const auto e = static_cast<long double>(gpu::query_bound(form, u.terms, false));
        long double norm2 = 0, constant = 0;
        for (std::int64_t j = 0; j < d; ++j) {
            const long double x = q[j];
            norm2 += x * x;
            if (x > 0) constant += x * (std::log(x) - static_cast<long double>(centre[static_cast<std::size_t>(j)]));
        }
        const long double s = form.query_scale * t / std::sqrt(norm2);
        for (std::int64_t p = 0; p < data.n; ++p) {
            const double* const x = &data.points[p * d];
            const Vector v = make_vector(x, centre, form, false);
            const double f = gpu::point_bound(form, v.terms, false);
            if (!v.terms.finite || !gpu::is_covered(form, v.terms, f)) continue;
            ++seen.covered;
            bool infinite = false;
            long double product = 0;
            for (std::int64_t j = 0; j < d; ++j) {
                infinite = infinite || (q[j] > 0 && x[j] == 0);
                if (q[j] > 0)
                    product += q[j] * (std::log(static_cast<long double>(x[j])) -
                                       static_cast<long double>(centre[static_cast<std::size_t>(j)]));
            }
            const double rank = exact::rank<metric::KlDivergence>(q, x, nullptr, nullptr, params, nullptr);
            ASSERT_EQ(infinite, rank == infinity) << what << ", query " << i << ", point " << p;
            for (const int way : {-1, 0, 1}) {
                const double a = accumulated(rounded_down(-f), u.halves, v.halves, step, way);
                const std::string where = what + ", d " + std::to_string(d) + ", terms " + std::to_string(terms) +
                                          ", query " + std::to_string(i) + ", point " + std::to_string(p) + ", way " +
                                          std::to_string(way);
                if (infinite) {
                    ++seen.infinite;
                    ASSERT_GE(a, form.ceiling) << where;
                    continue;
                }
                const long double low = a - e, high = a + 2 * static_cast<long double>(f) + e;
                for (const long double w : {-product * s, (static_cast<long double>(rank) - constant) * s}) {
                    ASSERT_TRUE(low <= w && w <= high)
                        << where << ": " << static_cast<double>(w) << " is not in [" << static_cast<double>(low) << ", "
                        << static_cast<double>(high) << "], E " << static_cast<double>(e) << ", F " << f;
                    seen.largest_share = std::max(
                        seen.largest_share, static_cast<double>(std::abs(w - (low + high) / 2) / ((high - low) / 2)));
                }
            }
        }
    }
}

class EntropyBound : public testing::TestWithParam<std::string> {};

TEST_P(EntropyBound, EnclosesEveryPair) {
    Seen seen;
    std::uint64_t seed = 1;
    for (const std::int64_t d : {1, 2, 3, 17, 150}) {
        for (const int terms : {1, 2}) {
            attack(GetParam(), d, terms, seed % 2 ? 4 : 16, seed, seen);
            ++seed;
            if (HasFatalFailure()) return;
        }
    }
    std::printf("[     NOTE ] at most %.3f of the bound; %lld of %lld pairs covered, %lld values of infinite keys\n",
                seen.largest_share, static_cast<long long>(seen.covered), static_cast<long long>(seen.pairs),
                static_cast<long long>(seen.infinite));
    EXPECT_GT(seen.covered, 0);
}

std::vector<std::string> names() {
    std::vector<std::string> out;
    for (const auto& [name, maker] : entropy_attacks::makers()) out.push_back(name);
    return out;
}

INSTANTIATE_TEST_SUITE_P(Data, EntropyBound, testing::ValuesIn(names()), [](const auto& info) {
    std::string name = info.param;
    std::replace_if(
        name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
    return name;
});

// A vector of the typical norm is far from the ceiling, and so is one of four times that.
TEST(EntropyBoundForm, TypicalValuesAreBelowTheCeiling) {
    for (const int terms : {1, 2}) {
        gpu::FilterForm form;
        form.terms = terms;
        form.width = gpu::filter_width(128, terms);
        form.gamma = gpu::filter_gamma(form.width);
        gpu::use_entropies(form);
        gpu::RowVector v;
        v.zeros = true;
        v.norm2 = std::ldexp(1.0, 2 * gpu::entropy_exponent(terms));
        EXPECT_LE(form.query_scale * std::sqrt(v.norm2), form.ceiling / 4);
        v.norm2 *= 49;
        EXPECT_TRUE(gpu::is_covered(form, v, gpu::point_bound(form, v, false))) << terms;
        v.norm2 *= 2;
        EXPECT_FALSE(gpu::is_covered(form, v, gpu::point_bound(form, v, false))) << terms;
        v.zeros = false;
        EXPECT_TRUE(gpu::is_covered(form, v, gpu::point_bound(form, v, false))) << terms;
    }
}

}  // namespace
