// Coarse forms of the direct filter (exact/direct_form.h), and rows that use up the bound of divergences by logarithms.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "exact/direct_form.h"
#include "exact/rounding.h"

namespace coarse_forms {

using namespace kith;
using metric::Direct;
using Vector = std::vector<double>;

inline exact::DirectForm coarse(Direct direct, std::int64_t d) {
    metric::Traits traits;
    traits.direct = direct;
    metric::Params params;
    params.d = d;
    return *exact::coarse_form(traits, params);
}

// p log(2 p / (p + x)) + x log(2 x / (p + x)), summed, so that nothing cancels.
inline long double divergence(const Vector& q, const Vector& x) {
    long double sum = 0;
    for (std::size_t j = 0; j < q.size(); ++j) {
        const long double p = q[j], r = x[j], s = p + r;
        if (!(s > 0) || p == r) continue;
        const long double z = (p - r) / s;
        if (std::abs(z) < 1e-4L) sum += s / 2 * z * z * (1 + z * z / 6);
        else sum += s / 2 * ((z < 1 ? (1 - z) * std::log1p(-z) : 0.0L) + (z > -1 ? (1 + z) * std::log1p(z) : 0.0L));
    }
    return sum;
}

// A row of shares as the kernels prepare it.
struct ShareRow {
    std::vector<float> words;
    float term = 0, share = 0, half_norm = 0;
};
inline ShareRow share_row(const Vector& row, bool point) {
    const auto d = static_cast<std::int64_t>(row.size());
    const double scale = exact::share_scale(d);
    ShareRow out;
    exact::ShareTerms terms;
    for (const double p : row) {
        out.words.push_back(std::max(static_cast<float>(p * scale), static_cast<float>(exact::smallest_share)));
        terms.add(p * scale);
    }
    const double own = terms.own * exact::share_factor(scale);
    out.share = exact::round_up(terms.size * exact::share_weight(d));
    if (point) out.half_norm = exact::round_down(own - static_cast<double>(out.share));
    else out.term = static_cast<float>(own);
    return out;
}

// The value is lowered by the point's share.
inline void within_error(const exact::DirectForm& form, const ShareRow& q, const ShareRow& x, float value,
                         long double key, const char* what, std::int64_t d) {
    const long double lost = exact::direct_bound(form.error, d).lost, e = q.share + lost, f = x.share;
    ASSERT_LE(value, key + e) << what << ", d " << d;
    ASSERT_GE(value + 2 * f, key - e) << what << ", d " << d;
}

// check(form, d, query, points, what): rows of sum 1 and others, equal, sparse, near each other, of many sizes, zeros;
// one share that outweighs terms which are lost to it.
template <class Check>
void share_sets(Check check) {
    std::mt19937_64 random(31);
    std::exponential_distribution<double> exponential;
    std::normal_distribution<double> normal;
    const std::pair<const char*, std::function<double(std::size_t)>> makers[] = {
        {"uniform", [&](std::size_t) { return exponential(random); }},
        {"sparse", [&](std::size_t) { return random() % 8 ? 0 : exponential(random); }},
        {"one-hot", [](std::size_t j) { return j == 0 ? 1.0 : 0.0; }},
        {"nearly one-hot", [&](std::size_t j) { return j == 0 ? 1 : 1e-30 * exponential(random); }},
        {"equal shares", [](std::size_t) { return 1.0; }},
        {"near", [&](std::size_t j) { return 1 + static_cast<double>(j % 7) + 1e-6 * normal(random); }},
        {"of many sizes",
         [&](std::size_t) { return std::ldexp(exponential(random), -static_cast<int>(random() % 80)); }},
        {"denormals beside 1",
         [&](std::size_t j) { return j % 3 == 0 ? 1.0 : std::ldexp(1.0, -900 - static_cast<int>(random() % 90)); }},
        {"terms that are lost", [](std::size_t j) { return j == 0 ? 1.0 : 3e-8; }},
        {"zeros", [](std::size_t) { return 0.0; }},
    };
    for (const std::int64_t d : {1, 2, 3, 8, 31, 128, 4096}) {
        const exact::DirectForm form = coarse(Direct::divergence, d);
        for (const bool sums_to_1 : {true, false}) {
            std::vector<std::vector<Vector>> sets;
            for (const auto& [what, share] : makers) {
                std::vector<Vector> rows;
                for (int row = 0; row < (d > 1000 ? 3 : 12); ++row) {
                    Vector v;
                    double sum = 0;
                    for (std::int64_t j = 0; j < d; ++j) {
                        v.push_back(share(static_cast<std::size_t>(j)));
                        sum += v.back();
                    }
                    for (double& x : v) x = sums_to_1 && sum > 0 ? x / sum : x / 3;
                    rows.push_back(v);
                }
                sets.push_back(rows);
            }
            for (std::size_t a = 0; a < sets.size(); ++a) {
                for (std::size_t b = 0; b < sets.size(); ++b) {
                    if (a != b && (a + b) % 3 != 0) continue;
                    check(form, d, sets[a][0], sets[b], makers[b].first);
                    if (testing::Test::HasFatalFailure()) return;
                }
            }
        }
    }
}

}  // namespace coarse_forms
