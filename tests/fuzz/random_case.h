// Random searches: metric, data, element types, layouts, shapes and options, all from one seed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "admissible.h"
#include "adversarial.h"
#include "arrays.h"
#include "kith/functor.h"
#include "kith/kith.h"
#include "metric_variants.h"
#include "oracle.h"
#include "random_formula.h"

namespace random_case {

using Random = adversarial::Random;

template <class List>
auto one_of(Random& random, const List& list) {
    return list[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(std::size(list))))];
}
template <class T>
T one_of(Random& random, std::initializer_list<T> list) {
    return list.begin()[random.below(static_cast<std::int64_t>(list.size()))];
}
inline bool chance(Random& random, int in) {
    return random.below(in) == 0;
}

// ---------------------------------------------------------------- metrics of the user's own

// A step as a formula's text, and what the text means.
struct UserStep {
    std::string text;
    random_formula::Step step;
};

inline const UserStep user_steps[] = {
    {"a + abs(q - x)", [](double a, double q, double x) { return a + std::fabs(q - x); }},
    {"a + (q - x) * (q - x)", [](double a, double q, double x) { return a + (q - x) * (q - x); }},
    {"a + (q > x ? q - x : 2 * (x - q))",
     [](double a, double q, double x) { return a + (q > x ? q - x : 2 * (x - q)); }},
    {"a - q * x", [](double a, double q, double x) { return a - q * x; }},
    {"a + sqrt(abs(q - x))", [](double a, double q, double x) { return a + std::sqrt(std::fabs(q - x)); }},
    {"q == x ? a : a + 1", [](double a, double q, double x) { return q == x ? a : a + 1; }},
    {"0.5 * a + (q < x ? x : q)", [](double a, double q, double x) { return 0.5 * a + (q < x ? x : q); }},
    {"a + (q - x) / (1 + abs(x))", [](double a, double q, double x) { return a + (q - x) / (1 + std::fabs(x)); }},
};

// The one that is searched with: a definition of the oracle is a plain function.
inline thread_local const UserStep* user_step = nullptr;
inline thread_local double user_start = 0;

inline oracle::Value user_rank(const oracle::Pair& pair, const oracle::Parameters&) {
    double a = user_start;
    for (int j = 0; j < pair.d; ++j) a = user_step->step(a, pair.q[j], pair.x[j]);
    return {a};
}
inline constexpr oracle::Definition user_definition{
    .rank = user_rank, .report = oracle::as_it_is, .of_one_thread = true};

// ---------------------------------------------------------------- data

// Rows and columns of `values` made harder, in up to three ways.
inline void perturb(std::vector<double>& values, std::int64_t rows, std::int64_t d, Random& random) {
    const auto at = [&](std::int64_t i, std::int64_t j) -> double& { return values[i * d + j]; };
    const double infinity = std::numeric_limits<double>::infinity();
    for (std::int64_t left = random.below(4); left > 0; --left) {
        const std::int64_t some = 1 + random.below(rows);
        switch (random.below(11)) {
            case 0:  // duplicates
                for (std::int64_t i = 0; i < some; ++i) {
                    const std::int64_t from = random.below(rows), to = random.below(rows);
                    for (std::int64_t j = 0; j < d; ++j) at(to, j) = at(from, j);
                }
                break;
            case 1:  // a constant column
                for (std::int64_t i = 0, j = random.below(d); i < rows; ++i) at(i, j) = 3.25;
                break;
            case 2:  // zero rows, of either sign
                for (std::int64_t i = 0; i < some / 3 + 1; ++i)
                    std::fill_n(&at(random.below(rows), 0), d, random.below(2) ? 0.0 : -0.0);
                break;
            case 3:
                for (std::int64_t i = 0; i < some / 5 + 1; ++i) at(random.below(rows), random.below(d)) = std::nan("");
                break;
            case 4:
                for (std::int64_t i = 0; i < some / 5 + 1; ++i)
                    at(random.below(rows), random.below(d)) = random.below(2) ? infinity : -infinity;
                break;
            case 5:  // ties
                for (double& v : values) v = std::isfinite(v) ? std::nearbyint(v * 2) / 2 : v;
                break;
            case 6:  // far from the origin
                for (double& v : values) v += 4096;
                break;
            case 7: {  // another unit
                const int e = static_cast<int>(random.below(280)) - 140;
                for (double& v : values) v = std::ldexp(v, e);
                break;
            }
            case 8:  // rows of all sizes
                for (std::int64_t i = 0; i < rows; ++i) {
                    const int e = static_cast<int>(random.below(60)) - 30;
                    for (std::int64_t j = 0; j < d; ++j) at(i, j) = std::ldexp(at(i, j), e);
                }
                break;
            case 9:  // constant rows
                for (std::int64_t i = 0; i < some / 3 + 1; ++i) {
                    const std::int64_t row = random.below(rows);
                    std::fill_n(&at(row, 0), d, at(row, 0));
                }
                break;
            default:  // the last places of f32 only
                for (double& v : values) v = 1 + v * 0x1p-22;
        }
    }
}

// ---------------------------------------------------------------- a search

struct Case {
    std::string label;
    std::string device = "cpu";
    Variant variant;                       // name "formula" or "functor": the user's own
    std::shared_ptr<const UserStep> step;  // then
    double start = 0;                      // then
    kith::FunctorMetric functor;           // then; options() points here
    const oracle::Definition* definition = nullptr;
    arrays::Array points, queries;
    std::int64_t n = 1, q = 1, d = 1, k = 1;
    // Ways that must not change a bit.
    std::string path, isa;
    int threads = 0;
    bool small_memory = false, f64 = false;

    kith::Options options() const {
        kith::Options o;
        o.device = device;
        o.metric = variant.metric;
        if (variant.name == "functor") o.metric.functor = &functor;
        o.path = path;
        o.isa = isa;
        o.threads = threads;
        o.f64 = f64;
        return o;
    }
};

inline std::int64_t log_uniform(Random& random, std::int64_t most) {
    return static_cast<std::int64_t>(std::exp(random.uniform() * std::log(static_cast<double>(most) + 0.99)));
}

// Sizes of up to so many steps of the oracle.
inline void choose_sizes(Case& c, Random& random, std::int64_t most_d, double steps) {
    const bool filter = chance(random, 4);  // points enough for its thresholds to fall
    c.n = filter ? 1000 + random.below(9000) : log_uniform(random, 2000);
    c.d = std::min(most_d, filter ? log_uniform(random, 64) : log_uniform(random, 700));
    c.q = chance(random, 3) ? 1 + random.below(17) : log_uniform(random, 300);
    while (static_cast<double>(c.n) * static_cast<double>(c.q) * static_cast<double>(c.d) > steps) {
        if (c.q > 8) c.q /= 2;
        else if (c.d > 16) c.d /= 2;
        else c.n /= 2;
    }
    const std::int64_t ks[] = {1, 1 + random.below(16), 1 + random.below(c.n), c.n, c.n + 1 + random.below(5)};
    c.k = std::min<std::int64_t>(one_of(random, ks), 100000 / c.q + 1);
}

inline std::vector<std::string> all_metrics() {
    std::vector<std::string> names = metric_names();
    names.push_back("formula");
    names.push_back("functor");
    return names;
}

inline void choose_metric(Case& c, Random& random, const std::string& name, kith::ElementType type) {
    if (name == "formula" || name == "functor") {
        c.variant = {name, name, name == "formula" ? kith::MetricId::formula : kith::MetricId::functor, {}, nullptr};
        const random_formula::Part own = random_formula::make(random, 1 + static_cast<int>(random.below(5)));
        c.step = std::make_shared<const UserStep>(chance(random, 3) ? one_of(random, user_steps)
                                                                    : UserStep{own.text, own.value});
        c.start = chance(random, 3) ? 2.5 : 0.0;
        c.definition = &user_definition;
        c.functor = kith::functor_metric(c.step->step, c.start);
        c.variant.metric.formula = c.step->text;
        if (name == "formula") c.variant.metric.start = c.start;
        c.variant.label += std::string(" '") + c.step->text + "' from " + std::to_string(c.start);
        return;
    }
    c.variant = one_of(random, variants(name, c.d, type));
    if (name == "minkowski" && chance(random, 2)) {
        const double p = chance(random, 2) ? double(1 + random.below(18)) : 1 + 5 * random.uniform();
        c.variant.metric.p = c.variant.params.p = p;
        c.variant.label = "minkowski p=" + std::to_string(p);
    }
    c.definition = &oracle::definition(name);
}

inline void choose_way(Case& c, Random& random) {
    const bool cpu = c.device == "cpu";
    const auto paths =
        cpu ? std::vector<std::string>{"", "", "", "exact", "gemm-bf16", "gemm-f32", "direct-f32", "tree", "projected"}
            : std::vector<std::string>{"", "", "exact", "gemm-f16"};
    const auto isas = cpu ? std::vector<std::string>{"", "", "amx", "avx512", "avx2", "baseline"}
                          : std::vector<std::string>{"", "", "sm_80"};
    c.path = one_of(random, paths);
    c.isa = one_of(random, isas);
    c.threads = one_of(random, {0, 1, 2, 3, 5});
    c.small_memory = chance(random, 4);
    c.f64 = chance(random, 3);
}

inline Case make(std::uint64_t seed, const std::string& device) {
    Random random(seed);
    Case c;
    c.device = device;
    const std::string name = one_of(random, all_metrics());
    // Some milliseconds: mahalanobis takes d^2 steps, one of a formula many calls.
    const bool user = name == "formula" || name == "functor";
    choose_sizes(c, random, name == "mahalanobis" ? 24 : 2000, user ? 2e5 : 3e6);
    const kith::ElementType type = one_of(random, arrays::element_types);
    if (const int d = user ? 0 : oracle::definition(name).dimensions) c.d = d;
    choose_metric(c, random, name, type);
    kith::ElementType query_type = chance(random, 5) ? one_of(random, arrays::element_types) : type;
    if (c.variant.metric.packed_bits) query_type = type;
    choose_way(c, random);
    const std::string data = one_of(random, adversarial::names());
    adversarial::DataSet set = adversarial::make(data, c.n, c.q, c.d, random.bits());
    perturb(set.points, c.n, c.d, random);
    if (chance(random, 2)) perturb(set.queries, c.q, c.d, random);
    for (std::int64_t i = 0; i < c.q; ++i) {  // queries that are points
        if (!chance(random, 4)) continue;
        const std::int64_t from = random.below(c.n);
        std::copy_n(set.points.begin() + from * c.d, c.d, set.queries.begin() + i * c.d);
    }
    for (auto* values : {&set.points, &set.queries}) admissible::make(*values, *c.definition, type, query_type);
    const arrays::Shape shape = one_of(random, arrays::shapes), query_shape = one_of(random, arrays::shapes);
    c.points = arrays::make(set.points, c.n, c.d, type, shape);
    c.queries = arrays::make(set.queries, c.q, c.d, query_type, query_shape);
    c.label = c.variant.label + " of " + data + ": n " + std::to_string(c.n) + " (" + kith::name(type) + ", layout " +
              std::to_string(int(shape)) + "), q " + std::to_string(c.q) + " (" + kith::name(query_type) + ", layout " +
              std::to_string(int(query_shape)) + "), d " + std::to_string(c.d) + ", k " + std::to_string(c.k) +
              ", path '" + c.path + "', isa '" + c.isa + "', threads " + std::to_string(c.threads) +
              (c.small_memory ? ", small memory" : "") + (c.f64 ? ", f64" : "");
    return c;
}

}  // namespace random_case
