// The costs of paths: finite and positive, growing with the work, and what the planner chooses by.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "cpu/tuning.h"
#include "kith/error.h"
#include "plan/choice.h"
#include "plan/rates/costs.h"

namespace {

using kith::Path;
using kith::planner::built_in_costs;
using kith::planner::cost_of;
using kith::planner::CostRates;
using kith::planner::Machine;
using kith::planner::Request;

constexpr Path cpu_paths[] = {Path::tree,     Path::projected,  Path::gemm_i8, Path::gemm_bf16,
                              Path::gemm_f32, Path::direct_f32, Path::exact};

Machine machine_of(const std::string& isa, int threads) {
    Machine m;
    m.isa = isa;
    m.threads = threads;
    m.bf16 = m.vnni = isa == "amx" || isa == "avx512";
    m.free_bytes = std::int64_t{64} << 30;
    return m;
}

Request of(const kith::Shape& shape) {
    Request r;
    r.shape = shape;
    r.device = "cpu";
    r.metric.traits.gemm = kith::metric::Gemm::l2;
    r.metric.traits.direct = kith::metric::Direct::squares;
    r.metric.traits.monotone = true;
    return r;
}

bool runs_on(Path path, const Machine& m) {
    const bool products = path == Path::gemm_bf16 || path == Path::gemm_i8;
    return m.bf16 || !products;
}

// fn(machine, request) for sizes from one to many.
template <class F>
void for_all(const F& fn) {
    for (const char* const isa : {"amx", "avx512", "avx2", "baseline"})
        for (const int threads : {1, 2, 16})
            for (const std::int64_t n : {1, 100, 5000, 300000})
                for (const std::int64_t q : {1, 20, 3000})
                    for (const std::int64_t d : {1, 3, 40, 2000})
                        for (const std::int64_t k : {1, 10, 300})
                            fn(machine_of(isa, threads), of({n, q, d, k, kith::ElementType::f32, false}));
}

TEST(Costs, AreFiniteAndPositiveForEveryPath) {
    for_all([](const Machine& m, const Request& r) {
        for (const Path path : cpu_paths) {
            if (!runs_on(path, m)) continue;
            const auto once = cost_of(built_in_costs(m.isa), path, r, false, m.threads),
                       ready = cost_of(built_in_costs(m.isa), path, r, true, m.threads);
            EXPECT_TRUE(std::isfinite(once.seconds)) << name(path) << m.isa;
            EXPECT_GT(once.seconds, 0) << name(path) << m.isa;
            EXPECT_GT(ready.seconds, 0) << name(path) << m.isa;
            EXPECT_EQ(0, ready.prepare) << name(path);
            EXPECT_LE(once.prepare + once.sample, once.seconds * (1 + 1e-12));
        }
    });
}

// Of one thread: more are woken for more work, and may then take less time.
TEST(Costs, GrowWithQueriesPointsAndNeighbours) {
    for_all([](const Machine& m, const Request& r) {
        if (m.threads > 1) return;
        for (const Path path : cpu_paths) {
            if (!runs_on(path, m)) continue;
            const CostRates& rates = built_in_costs(m.isa);
            const double least = cost_of(rates, path, r, true, 1).seconds * (1 - 1e-9);
            Request more = r;
            more.shape.q *= 2;
            EXPECT_GE(cost_of(rates, path, more, true, 1).seconds, least) << name(path);
            more = r;
            more.shape.n *= 2;
            EXPECT_GE(cost_of(rates, path, more, true, 1).seconds, least)
                << name(path) << r.shape.n << " " << r.shape.d;
            more = r;
            more.shape.k *= 2;
            if (more.shape.k <= r.shape.n / 4) {
                EXPECT_GE(cost_of(rates, path, more, true, 1).seconds, least) << name(path);
            }
        }
    });
}

// A few queries are compared with the points' own rows, whatever filter was chosen.
TEST(Costs, OfAFewQueriesAreTheSameForAllFilters) {
    const Machine m = machine_of("avx512", 1);
    const CostRates& rates = built_in_costs(m.isa);
    const Request few = of({10000, 16, 64, 10, kith::ElementType::f32, false});
    EXPECT_EQ(cost_of(rates, Path::gemm_bf16, few, false, 1).seconds,
              cost_of(rates, Path::direct_f32, few, false, 1).seconds);
    EXPECT_EQ(0, cost_of(rates, Path::gemm_f32, few, false, 1).prepare);
    const Request more = of({10000, 17, 64, 10, kith::ElementType::f32, false});
    EXPECT_NE(cost_of(rates, Path::gemm_bf16, more, false, 1).seconds,
              cost_of(rates, Path::direct_f32, more, false, 1).seconds);
    EXPECT_GT(cost_of(rates, Path::gemm_f32, more, false, 1).prepare, 0);
}

TEST(Costs, TheCheapestPathIsChosen) {
    for_all([](const Machine& m, const Request& r) {
        const CostRates& rates = built_in_costs(m.isa);
        Request whole = r;
        whole.leaves_out = false;  // nothing depends on a sample
        const Path chosen = choose_path(whole, nullptr, m).path;
        const double least = cost_of(rates, chosen, whole, false, m.threads).seconds;
        const bool many = static_cast<double>(r.shape.k) > 0.1 * static_cast<double>(r.shape.n);
        for (const Path path : {Path::gemm_bf16, Path::gemm_f32, Path::direct_f32, Path::exact}) {
            if (!runs_on(path, m) || (many && path != Path::exact)) continue;
            if (path == Path::gemm_bf16 && r.shape.d < kith::cpu::min_bf16_dimensions) continue;
            EXPECT_LE(least, cost_of(rates, path, whole, false, m.threads).seconds) << name(path) << name(chosen);
        }
        EXPECT_EQ(chosen, choose_path(whole, nullptr, m).path);
        Request forced = r;
        forced.path = "gemm-f32";
        EXPECT_EQ(Path::gemm_f32, choose_path(forced, nullptr, m).path);
    });
}

// Points that were prepared for one path are not prepared for another where that costs more than it saves.
TEST(Costs, CountTheFormsThatAreReady) {
    const Machine m = machine_of("avx512", 1);
    Request r = of({300000, 20, 64, 10, kith::ElementType::f32, false});
    r.leaves_out = false;
    r.points.prepared = true;
    r.points.chunk = r.shape.n;
    for (const Path path : {Path::gemm_bf16, Path::gemm_f32, Path::direct_f32}) {
        r.points.path = path;
        EXPECT_EQ(path, choose_path(r, nullptr, m).path);
    }
}

// What a GPU takes of the two: a filter of all coordinates, or the full scan.
Path of_gpu(Request r) {
    Machine m = machine_of("avx512", 1);
    m.devices = {{"GPU", 90, std::int64_t{70} << 30, 132}};
    r.leaves_out = false;  // nothing depends on a sample
    return choose_path(r, m.devices.data(), m).path;
}

TEST(CostsOfAGpu, DecideBetweenAFilterAndTheScan) {
    const CostRates& rates = built_in_costs("sm_90a");
    for (const std::int64_t n : {1, 100, 5000, 300000})
        for (const std::int64_t q : {1, 20, 3000})
            for (const std::int64_t d : {3, 40, 2000})
                for (const std::int64_t k : {1, 10}) {
                    const Request r = of({n, q, d, k, kith::ElementType::f32, false});
                    const Path filter = d <= 8 ? Path::direct_f32 : Path::gemm_f16;
                    const double filtered = cost_of(rates, filter, r, false, 0).seconds,
                                 scanned = cost_of(rates, Path::exact, r, false, 0).seconds;
                    ASSERT_GT(std::min(filtered, scanned), 0);
                    const bool few = static_cast<double>(k) <= 0.25 * static_cast<double>(n);
                    EXPECT_EQ(few && 1.2 * filtered <= scanned ? filter : Path::exact, of_gpu(r))
                        << n << " " << q << " " << d << " " << k;
                }
}

TEST(CostsOfAGpu, LeaveAFilterWhereTheyAreNotKnown) {
    Request few = of({1000, 10, 64, 5, kith::ElementType::f32, false});
    EXPECT_EQ(Path::exact, of_gpu(few));
    Request many = few;
    many.shape.n = many.shape.q = 100000;
    EXPECT_EQ(Path::gemm_f16, of_gpu(many));
    // Points that are prepared for queries to come: each call may scan.
    Request ahead = few;
    ahead.ahead = ahead.points.prepared = true;
    EXPECT_EQ(Path::gemm_f16, of_gpu(ahead));
    Request within = few;
    within.all_points = true;
    EXPECT_EQ(Path::gemm_f16, of_gpu(within));
    // A GPU without units for binary64 scans what takes next to nothing.
    Machine slow = machine_of("avx512", 1);
    slow.devices = {{"GPU", 89, std::int64_t{20} << 30, 128}};
    Request some = of({3000, 200, 300, 5, kith::ElementType::f32, false});
    some.leaves_out = false;
    EXPECT_EQ(Path::exact, of_gpu(some));
    EXPECT_EQ(Path::gemm_f16, choose_path(some, slow.devices.data(), slow).path);
    EXPECT_EQ(Path::exact,
              choose_path(of({100, 1, 8, 5, kith::ElementType::f32, false}), slow.devices.data(), slow).path);
    // A scan by a matrix takes d products for each coordinate.
    Request matrix = some;
    matrix.metric.traits.whole_vector = true;
    EXPECT_EQ(Path::gemm_f16, of_gpu(matrix));
    // The rates of Hopper are those of all GPUs.
    EXPECT_EQ(&built_in_costs("sm_90a"), &built_in_costs("sm_80"));
}

TEST(Costs, AFileThatIsBrokenIsRefused) {
    const auto refusal = [](const std::string& text) {
        try {
            kith::planner::read_costs(text, "c.json");
        } catch (const kith::Error& error) {
            EXPECT_EQ(kith::ErrorCode::bad_file, error.code());
            return std::string(error.what());
        }
        return std::string("read");
    };
    const std::string head = R"({"name": "a", "source": "b", "paths": [)";
    EXPECT_EQ("read", refusal(head + R"({"path": "exact", "metric": "", "pair": 1e-9}]})"));
    EXPECT_EQ(0U, refusal(head + R"({"path": "exat", "metric": ""}]})").find("c.json:1:"));
    EXPECT_NE(std::string::npos, refusal(head + R"({"path": "exact", "metric": "", "pear": 1}]})").find("'pear'"));
    EXPECT_NE(std::string::npos, refusal(head + R"({"path": "exact", "metric": "", "pair": -1}]})").find("'pair'"));
    EXPECT_NE(std::string::npos, refusal(head + "]}").find("no rates"));
    EXPECT_NE(std::string::npos, refusal("{}").find("'name'"));
}

}  // namespace
