// The CPU backend from inside: the metrics' vector kernels against exact::rank bit for bit, and its paths against a
// plain scan with exact::rank, on data made to break filters.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "cpu/backend.h"
#include "cpu/metric/kernels.h"
#include "cpu/search/strategies.h"
#include "exact/canonical.h"
#include "exact/element.h"
#include "exact/metric_spec.h"
#include "formula/program.h"
#include "kith/functor.h"
#include "metric/all.h"

namespace {

using namespace kith;

constexpr cpu::Isa all_isas[] = {cpu::Isa::baseline, cpu::Isa::avx2, cpu::Isa::avx512, cpu::Isa::amx};
constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<cpu::Isa> isas() {
    std::vector<cpu::Isa> list;
    for (const cpu::Isa isa : all_isas) {
        if (cpu::supported(isa)) list.push_back(isa);
    }
    return list;
}

// ---------------------------------------------------------------- kernels

std::vector<double> symmetric_matrix(std::int64_t d) {
    std::vector<double> m(static_cast<std::size_t>(d * d));
    for (std::int64_t i = 0; i < d; ++i) {
        for (std::int64_t j = 0; j < d; ++j)
            m[static_cast<std::size_t>(i * d + j)] = (i == j ? 2.0 : 0.0) + 1.0 / static_cast<double>(3 + i + j);
    }
    return m;
}

template <class M>
void kernels_match(MetricId id, double p, bool packed) {
    std::mt19937_64 random(static_cast<unsigned>(id) * 7 + 1);
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    for (std::int64_t d = 1; d <= 130; ++d) {
        const std::int64_t count = 1 + d % 21;
        const auto matrix = symmetric_matrix(d);
        metric::Params params;
        params.p = p;
        params.d = d;
        params.packed_bits = packed;
        params.constants = matrix.data();
        std::vector<double> raw(static_cast<std::size_t>((count + 1) * d));
        for (double& x : raw) {
            x = random() % 8 == 0 ? 0.0 : uniform(random) * (random() % 16 == 0 ? 1e6 : 1.0);
            if (packed) x = std::floor(x * 255.99 / 1e6);
        }
        // The scalar form: the query is the last row.
        std::vector<double> scalar = raw, scratch(static_cast<std::size_t>(d)), expected;
        std::vector<double> aux(static_cast<std::size_t>((count + 1) * metric::max_aux));
        for (std::int64_t i = 0; i <= count; ++i)
            exact::prepare_vector<M>(scalar.data() + i * d, d, aux.data() + i * metric::max_aux, params);
        for (std::int64_t i = 0; i < count; ++i)
            expected.push_back(exact::rank<M>(scalar.data() + count * d, scalar.data() + i * d,
                                              aux.data() + count * metric::max_aux, aux.data() + i * metric::max_aux,
                                              params, scratch.data()));
        for (const cpu::Isa isa : isas()) {
            const cpu::MetricKernels& kernels = cpu::metric_kernels(id, isa);
            std::vector<double> rows = raw, row_aux(aux.size()), out(static_cast<std::size_t>(count));
            kernels.prepare(rows.data(), d, count + 1, row_aux.data(), params);
            kernels.ranks(rows.data() + count * d, row_aux.data() + count * metric::max_aux, rows.data(), d,
                          row_aux.data(), count, params, out.data());
            for (std::int64_t i = 0; i < count; ++i) {
                const auto at = static_cast<std::size_t>(i);
                ASSERT_EQ(std::bit_cast<std::uint64_t>(out[at]), std::bit_cast<std::uint64_t>(expected[at]))
                    << name(id) << " " << cpu::name(isa) << " d " << d << " point " << i << ": " << out[at] << " and "
                    << expected[at];
            }
        }
    }
}

#define KITH_METRIC(name, type, aliases, what)                                                        \
    TEST(MetricKernels, name) {                                                                       \
        kernels_match<metric::type>(MetricId::name, 3.0, false);                                      \
        if (metric::type::traits.packed_bits) kernels_match<metric::type>(MetricId::name, 2.0, true); \
    }
#include "kith/metrics.def"
#undef KITH_METRIC
// No table has a user's metric: nothing is read behind its end.
TEST(MetricKernels, UsersMetricsHaveNoTraits) {
    for (const MetricId id : {MetricId::formula, MetricId::functor}) {
        const metric::Traits traits = cpu::metric_traits(id), none;
        EXPECT_TRUE(is_user_metric(id));
        EXPECT_EQ(none.monotone, traits.monotone);
        EXPECT_EQ(none.direct, traits.direct);
        EXPECT_EQ(none.gemm, traits.gemm);
        EXPECT_FALSE(cpu::rows_serve(id, ElementType::f32, 1, 4));
    }
}
TEST(MetricKernels, minkowski_fractional) {
    kernels_match<metric::Minkowski>(MetricId::minkowski, 1.7, false);
}

// ---------------------------------------------------------------- paths

struct Answer {
    std::vector<std::int64_t> ids;
    std::vector<double> ranks;
    Report report;
};

template <class T>
struct Data {
    std::int64_t n, q, d;
    std::vector<T> points, queries;
};

// The k best by (rank, id) from the scalar definition.
template <class M, class T>
Answer definition(const Data<T>& data, const MetricSpec& spec, std::int64_t k, bool graph) {
    const std::int64_t d = data.d;
    const auto widened = [&](const std::vector<T>& rows, std::int64_t count, std::vector<double>& aux,
                             std::vector<bool>& nan) {
        std::vector<double> out(rows.size());
        aux.resize(static_cast<std::size_t>(count * metric::max_aux));
        nan.resize(static_cast<std::size_t>(count));
        for (std::int64_t i = 0; i < count; ++i) {
            for (std::int64_t j = 0; j < d; ++j) {
                const double x = exact::load(rows.data(), detail::element_type_of<T>(), i * d + j);
                out[static_cast<std::size_t>(i * d + j)] = x;
                if (x != x) nan[static_cast<std::size_t>(i)] = true;
            }
            exact::prepare_vector<M>(out.data() + i * d, d, aux.data() + i * metric::max_aux, spec.params);
        }
        return out;
    };
    std::vector<double> aux_x, aux_q, scratch(static_cast<std::size_t>(d));
    std::vector<bool> nan_x, nan_q;
    const auto points = widened(data.points, data.n, aux_x, nan_x);
    const auto queries = widened(data.queries, data.q, aux_q, nan_q);
    Answer answer;
    for (std::int64_t i = 0; i < data.q; ++i) {
        std::vector<std::pair<double, std::int64_t>> all;
        for (std::int64_t j = 0; j < data.n && !nan_q[static_cast<std::size_t>(i)]; ++j) {
            if (nan_x[static_cast<std::size_t>(j)] || (graph && i == j)) continue;
            all.emplace_back(
                exact::rank<M>(queries.data() + i * d, points.data() + j * d, aux_q.data() + i * metric::max_aux,
                               aux_x.data() + j * metric::max_aux, spec.params, scratch.data()),
                j);
        }
        std::sort(all.begin(), all.end());
        for (std::int64_t r = 0; r < k; ++r) {
            const auto at = static_cast<std::size_t>(r);
            answer.ids.push_back(at < all.size() ? all[at].second : -1);
            answer.ranks.push_back(at < all.size() ? all[at].first : infinity);
        }
    }
    return answer;
}

template <class T>
Answer run(const Data<T>& data, const MetricSpec& spec, std::int64_t k, bool graph, Path path, cpu::Isa isa,
           int threads, bool own) {
    Plan plan;
    plan.path = path;
    plan.isa = cpu::name(isa);
    plan.threads = threads;
    const std::function<bool(const Progress&)> silent;
    ProgressMeter progress(silent, 1);
    const auto points = cpu::prepare(view(data.points.data(), data.n, data.d), spec, plan, own, progress);
    Answer answer;
    answer.ids.resize(static_cast<std::size_t>(data.q * k));
    answer.ranks.resize(answer.ids.size());
    cpu::search(*points, view(data.queries.data(), data.q, data.d), graph, plan, progress,
                cpu::Results(k, answer.ids.data(), answer.ranks.data()), answer.report);
    return answer;
}

template <class M, class T>
void paths_agree(const char* what, MetricId id, const Data<T>& data, std::int64_t k, bool graph = false) {
    MetricSpec spec;
    spec.id = id;
    spec.params.d = data.d;
    spec.params.p = 3;
    std::vector<double> constants;
    for (std::int64_t i = 0; i < data.d; ++i) constants.push_back(0.5 + static_cast<double>(i % 3));
    spec.params.constants = constants.data();
    std::vector<Path> paths = {Path::exact};
    constexpr bool sets = M::traits.direct == metric::Direct::jaccard || M::traits.direct == metric::Direct::dice;
    if (M::traits.gemm != metric::Gemm::none) paths.insert(paths.end(), {Path::gemm_f32, Path::gemm_bf16});
    else if (sets || (M::traits.direct != metric::Direct::none && !std::is_same_v<T, double>))
        paths.push_back(Path::direct_f32);
    const Answer expected = definition<M>(data, spec, k, graph);
    for (const Path path : paths) {
        for (const cpu::Isa isa : isas()) {
            if (path == Path::gemm_bf16 && (!cpu::has_avx512(isa) || !cpu::supports_bf16())) continue;
            // Owned points are packed when they are prepared; few queries of others go through the rows.
            for (const auto& [threads, own] : {std::pair(1, true), std::pair(2, false), std::pair(2, true)}) {
                if (threads == 2 && own && data.q > 16) continue;
                const Answer got = run(data, spec, k, graph, path, isa, threads, own);
                const Report& r = got.report;
                // Counts tie.
                const bool ties = sets || M::traits.direct == metric::Direct::mismatches;
                if (path != Path::exact && std::string(what) == "many" && !ties) {
                    EXPECT_EQ(r.certified, data.q);
                }
                EXPECT_EQ(r.certified + r.retried + r.scanned, data.q);
                for (std::size_t i = 0; i < expected.ids.size(); ++i) {
                    ASSERT_TRUE(got.ids[i] == expected.ids[i] && std::bit_cast<std::uint64_t>(got.ranks[i]) ==
                                                                     std::bit_cast<std::uint64_t>(expected.ranks[i]))
                        << what << ", " << name(id) << ", " << name(path) << ", " << cpu::name(isa) << ", " << threads
                        << " threads, n " << data.n << " q " << data.q << " d " << data.d << " k " << k << ": query "
                        << i / static_cast<std::size_t>(k) << " place " << i % static_cast<std::size_t>(k) << ": id "
                        << got.ids[i] << " rank " << got.ranks[i] << "; expected id " << expected.ids[i] << " rank "
                        << expected.ranks[i];
                }
            }
        }
    }
}

template <class T>
Data<T> made(std::int64_t n, std::int64_t q, std::int64_t d, const std::function<double()>& coordinate) {
    Data<T> data{n, q, d, {}, {}};
    for (std::int64_t i = 0; i < n * d; ++i) data.points.push_back(static_cast<T>(coordinate()));
    for (std::int64_t i = 0; i < q * d; ++i) data.queries.push_back(static_cast<T>(coordinate()));
    return data;
}

template <class M>
void adversaries(MetricId id) {
    std::mt19937_64 random(99);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    const bool positive = M::traits.non_negative;
    const auto gauss = [&] { return positive ? std::abs(normal(random)) : normal(random); };
    const auto whole = [&] { return static_cast<double>(random() % 3) - (positive ? 0 : 1); };
    const auto far = [&] { return 1e4 + 1e-3 * std::floor(uniform(random) * 8); };
    const auto tiny = [&] { return std::ldexp(static_cast<double>(random() % 5), -149); };
    const auto huge = [&] {
        return (positive ? 1.0 : random() % 2 ? 1.0 : -1.0) * std::ldexp(1.0 + uniform(random), 126);
    };
    for (const std::int64_t d : {1, 2, 3, 7, 16, 17, 31, 32, 33, 64, 70, 129}) {
        paths_agree<M, float>("normal", id, made<float>(700, 23, d, gauss), 10);
        paths_agree<M, float>("ties", id, made<float>(500, 7, d, whole), 30);
    }
    paths_agree<M, float>("many", id, made<float>(6000, 40, 24, gauss), 100);
    paths_agree<M, float>("one query", id, made<float>(9000, 1, 40, gauss), 5);
    paths_agree<M, float>("far", id, made<float>(900, 11, 20, far), 10);
    paths_agree<M, double>("far, f64", id, made<double>(900, 11, 20, far), 10);
    paths_agree<M, double>("normal, f64", id, made<double>(900, 11, 45, gauss), 10);
    paths_agree<M, float>("denormal", id, made<float>(400, 9, 5, tiny), 10);
    paths_agree<M, float>("huge", id, made<float>(400, 9, 5, huge), 10);
    paths_agree<M, float>("one point", id, made<float>(1, 3, 9, gauss), 4);
    paths_agree<M, float>("k over n", id, made<float>(13, 3, 9, gauss), 20);
    paths_agree<M, float>("zeros", id, made<float>(900, 5, 12, [] { return 0.0; }), 10);
    paths_agree<M, float>("sparse", id, made<float>(900, 5, 12, [&] { return random() % 6 ? 0.0 : gauss(); }), 10);
    {
        // Thousands of equal points: more ties than any buffer holds.
        auto data = made<float>(5000, 5, 6, gauss);
        for (std::int64_t i = 6 * 100; i < data.n * 6; ++i)
            data.points[static_cast<std::size_t>(i)] = data.points[static_cast<std::size_t>(i % 6)];
        std::copy_n(data.points.begin(), 6, data.queries.begin());
        paths_agree<M, float>("duplicates", id, data, 10);
    }
    {
        auto data = made<float>(800, 9, 10, gauss);
        data.points[77] = 1e30f;
        data.queries[25] = 3e30f;
        paths_agree<M, float>("outlier", id, data, 10);
    }
    {
        auto data = made<float>(800, 9, 10, gauss);
        const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
        for (const std::size_t at : {5u, 105u, 1003u, 7999u}) data.points[at] = inf;
        for (const std::size_t at : {15u, 2105u, 1004u}) data.points[at] = nan;
        data.queries[3] = nan;
        data.queries[13] = inf;
        if (!positive) data.points[55] = data.queries[24] = -inf;
        paths_agree<M, float>("inf and nan", id, data, 10);
        for (std::int64_t i = 0; i < data.n; i += 2) data.points[static_cast<std::size_t>(i * 10)] = nan;
        paths_agree<M, float>("half nan", id, data, 10);
        paths_agree<M, float>("half nan, many asked", id, data, 700);
    }
    {
        auto data = made<float>(300, 300, 8, whole);
        data.queries = data.points;
        paths_agree<M, float>("graph", id, data, 12, true);
        paths_agree<M, float>("graph, all", id, data, 300, true);
    }
    {
        // Values near each other on every scale: sorted and reversed inputs.
        auto data = made<float>(3000, 6, 4, gauss);
        std::sort(data.points.begin(), data.points.end(), std::greater<float>());
        paths_agree<M, float>("falling", id, data, 10);
        std::sort(data.points.begin(), data.points.end());
        paths_agree<M, float>("rising", id, data, 10);
    }
    {
        auto data = made<std::uint8_t>(900, 9, 50, [&] { return static_cast<double>(random() % 256); });
        paths_agree<M, std::uint8_t>("u8", id, data, 10);
    }
    if (!positive) {
        auto data = made<std::int8_t>(900, 9, 50, [&] { return static_cast<double>(random() % 256) - 128; });
        paths_agree<M, std::int8_t>("i8", id, data, 10);
    }
}

#define KITH_METRIC(name, type, aliases, what)                                                       \
    TEST(Paths, name) {                                                                              \
        if constexpr (!metric::type::traits.whole_vector) adversaries<metric::type>(MetricId::name); \
    }
#include "kith/metrics.def"
#undef KITH_METRIC

TEST(Paths, bf16_is_among_them) {
    if (!cpu::supports_bf16()) GTEST_SKIP() << "this processor has no AVX512_BF16: gemm-bf16 is not tested";
}

// Two clusters, far apart for their size: rounded to bf16 the points of one are all alike, and f32 takes over.
TEST(Paths, bf16_gives_way_to_f32) {
    if (!cpu::supports_bf16()) GTEST_SKIP() << "this processor has no AVX512_BF16";
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal;
    for (const std::int64_t q : {7, 40, 600}) {
        for (const bool graph : {false, true}) {
            Data<float> data{12000, q, 16, {}, {}};
            if (graph && q != 600) continue;
            if (graph) data.n = data.q = 3000;
            const auto fill = [&](std::vector<float>& rows, std::int64_t count) {
                for (std::int64_t i = 0; i < count * data.d; ++i)
                    rows.push_back(static_cast<float>((i / data.d % 2 ? 10 : -10) + 0.05 * normal(random)));
            };
            fill(data.points, data.n);
            fill(data.queries, data.q);
            if (graph) data.queries = data.points;
            MetricSpec spec;
            spec.params.d = data.d;
            const Answer expected = run(data, spec, 10, graph, Path::exact, cpu::Isa::avx512, 2, true);
            for (const cpu::Isa isa : isas()) {
                if (!cpu::has_avx512(isa)) continue;
                SCOPED_TRACE(std::string(cpu::name(isa)) + ", q " + std::to_string(q));
                const Answer got = run(data, spec, 10, graph, Path::gemm_bf16, isa, 2, true);
                EXPECT_EQ(expected.ids, got.ids);
                EXPECT_EQ(expected.ranks, got.ranks);
                EXPECT_EQ(0, got.report.scanned);
                EXPECT_EQ(data.q, got.report.retried);
                EXPECT_LT(got.report.candidates, 0.25 * static_cast<double>(data.n * data.q));
            }
        }
    }
}

// The same of f32: what lies closer together is scanned, sooner than refined point by point.
TEST(Paths, f32_gives_way_to_the_scan) {
    std::mt19937_64 random(4);
    std::normal_distribution<double> normal;
    for (const std::int64_t q : {7, 100}) {
        const auto coordinate = [&, i = std::int64_t{0}]() mutable {
            return (i++ / 16 % 2 ? 10 : -10) + 1e-9 * normal(random);
        };
        const Data<double> data = made<double>(12000, q, 16, coordinate);
        MetricSpec spec;
        spec.params.d = data.d;
        const Answer got = run(data, spec, 10, false, Path::gemm_f32, cpu::best_isa(), 2, true);
        const Answer expected = run(data, spec, 10, false, Path::exact, cpu::best_isa(), 2, true);
        EXPECT_EQ(expected.ids, got.ids) << q;
        EXPECT_EQ(expected.ranks, got.ranks) << q;
        EXPECT_EQ(q, got.report.scanned) << q;
        EXPECT_LT(got.report.candidates, 1.6 * static_cast<double>(data.n * data.q)) << q;
    }
}

// ---------------------------------------------------------------- the user's own metrics

Answer user_answer(const MetricSpec& spec, const Data<double>& data) {
    Plan plan;
    plan.path = kith::Path::exact;
    plan.threads = 2;
    const std::function<bool(const Progress&)> silent;
    ProgressMeter progress(silent, 1);
    const auto points = cpu::prepare(view(data.points.data(), data.n, data.d), spec, plan, true, progress);
    Answer answer;
    answer.ids.resize(static_cast<std::size_t>(data.q * 7));
    answer.ranks.resize(answer.ids.size());
    cpu::search(*points, view(data.queries.data(), data.q, data.d), false, plan, progress,
                cpu::Results(7, answer.ids.data(), answer.ranks.data()), answer.report);
    return answer;
}

TEST(UserMetrics, formula_and_functor_give_the_definition) {
    std::mt19937_64 random(5);
    std::normal_distribution<double> normal;
    const auto data = made<double>(600, 9, 11, [&] { return normal(random); });
    const auto step = [](double a, double q, double x) { return q > 0 ? a + std::fabs(q - x) : std::fmax(a, q * x); };
    const FunctorMetric functor = functor_metric(step, 0.5);
    MetricSpec spec;
    spec.id = MetricId::functor;
    spec.functor = &functor;
    spec.start = functor.start;
    const Answer by_functor = user_answer(spec, data);
    spec.id = MetricId::formula;
    spec.formula = formula::compile("q > 0 ? a + fabs(q - x) : fmax(a, q * x)");
    const Answer by_formula = user_answer(spec, data);
    for (std::int64_t i = 0; i < data.q; ++i) {
        std::vector<std::pair<double, std::int64_t>> all;
        for (std::int64_t j = 0; j < data.n; ++j) {
            double a = 0.5;
            for (std::int64_t c = 0; c < data.d; ++c)
                a = step(a, data.queries[static_cast<std::size_t>(i * data.d + c)],
                         data.points[static_cast<std::size_t>(j * data.d + c)]);
            all.emplace_back(a, j);
        }
        std::sort(all.begin(), all.end());
        for (std::size_t r = 0; r < 7; ++r) {
            const std::size_t at = static_cast<std::size_t>(i) * 7 + r;
            EXPECT_EQ(by_functor.ids[at], all[r].second);
            EXPECT_EQ(by_functor.ranks[at], all[r].first);
            EXPECT_EQ(by_formula.ids[at], all[r].second);
            EXPECT_EQ(by_formula.ranks[at], all[r].first);
        }
    }
}

TEST(UserMetrics, bad_formulas_name_the_position) {
    for (const char* text : {"", "a +", "a + y", "a + q^2", "a = 3", "a, q", "sin(q)", "a + (q - x", "\"a\""}) {
        try {
            formula::compile(text);
            ADD_FAILURE() << text;
        } catch (const Error& e) {
            EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
            EXPECT_NE(std::string(e.what()).find("position"), std::string::npos) << e.what();
        }
    }
    for (const char* text : {"a + pow(abs(q - x), 3)", "max(a, fabs(q-x))", "q == x ? a : a + 1", "a + min(q, x)",
                             "a + exp(-sqrt(abs(q))) * log(2)", "x >= q ? a : a - 1"})
        EXPECT_NO_THROW(formula::compile(text)) << text;
}

}  // namespace
