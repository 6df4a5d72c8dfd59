// search() on the CPU against the oracle, and the paths and instruction sets that can be forced.
#include "api/check/validate.h"
#include "cpu/simd/isa.h"
#include "search_cases.h"

namespace {

class CpuSearch : public testing::TestWithParam<std::string> {};

TEST_P(CpuSearch, EveryDataSet) {
    search_cases::every_data_set("cpu", GetParam());
}
TEST_P(CpuSearch, EveryWay) {
    search_cases::every_way("cpu", GetParam());
}
TEST_P(CpuSearch, EveryFilter) {
    search_cases::every_filter("cpu", GetParam());
}
TEST_P(CpuSearch, ManyPoints) {
    search_cases::many_points("cpu", GetParam());
}
TEST_P(CpuSearch, ManyQueries) {
    search_cases::many_queries("cpu", GetParam());
}

INSTANTIATE_TEST_SUITE_P(Metric, CpuSearch, testing::ValuesIn(metric_names()),
                         [](const auto& info) { return info.param; });

// One small search with `path` forced: "" or the refusal.
std::string forced(const std::string& metric, const std::string& path, kith::ElementType type) {
    const Variant variant = variants(metric, 4, type).front();
    const auto c =
        search_cases::make_case(variant, "probabilities", {50, 2, 4, 3}, type, type, arrays::Shape::dense, 1);
    kith::Options options = search_cases::options_of("cpu", variant, {path, "", 1, false}, false);
    try {
        const auto got = kith::search(c.points.view, c.queries.view, c.k, options);
        // The report names the path that certified most queries: the scan if the forced one left all.
        EXPECT_EQ(got.report.scanned == got.queries ? "exact" : path, got.report.path);
        EXPECT_EQ("", c.truth().difference(got)) << c.label;
        return "";
    } catch (const kith::Error& error) {
        EXPECT_EQ(kith::ErrorCode::invalid_argument, error.code());
        return error.what();
    }
}

TEST(ForcedPath, ServesItsMetrics) {
    const bool bf16 = __builtin_cpu_supports("avx512bf16");
    for (const std::string& metric : metric_names()) {
        const kith::metric::Traits traits = kith::api::traits_of(kith::metric_named(metric).id);
        EXPECT_EQ("", forced(metric, "exact", kith::ElementType::f32));
        EXPECT_EQ(traits.monotone, forced(metric, "tree", kith::ElementType::f64).empty()) << metric;
        if (kith::metric::product_form(traits) != kith::metric::Gemm::none) {
            EXPECT_EQ("", forced(metric, "gemm-f32", kith::ElementType::f32)) << metric;
            const std::string refusal = forced(metric, "gemm-bf16", kith::ElementType::f32);
            EXPECT_EQ(bf16, refusal.empty()) << metric << ": " << refusal;
            EXPECT_EQ(bf16, refusal.find("AVX512_BF16") == std::string::npos) << metric << ": " << refusal;
        } else {
            EXPECT_NE("", forced(metric, "gemm-f32", kith::ElementType::f32)) << metric;
            const bool direct = traits.direct != kith::metric::Direct::none;
            for (const kith::ElementType type : {kith::ElementType::f32, kith::ElementType::f64})
                EXPECT_EQ(direct, forced(metric, "direct-f32", type).empty()) << metric << ", " << name(type);
        }
    }
}

TEST(ForcedPath, IsRefusedByNameElsewhere) {
    const auto refused = [](const std::string& metric, const std::string& path, kith::ElementType type) {
        const std::string message = forced(metric, path, type);
        EXPECT_NE(std::string::npos, message.find("'" + path + "'")) << metric << ": " << message;
        EXPECT_NE(std::string::npos, message.find("exact")) << "no choices in: " << message;
    };
    refused("canberra", "gemm-f32", kith::ElementType::f32);
    refused("cityblock", "gemm-f32", kith::ElementType::f32);
    refused("cosine", "direct-f32", kith::ElementType::f32);
    refused("cosine", "tree", kith::ElementType::f32);
    refused("minkowski", "tree", kith::ElementType::f32);
    refused("euclidean", "warp-9", kith::ElementType::f32);
}

TEST(ForcedIsa, RunsWhereTheMachineHasIt) {
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const float values[] = {1, 2, 3};
    const auto runs = [&](const std::string& isa) {
        kith::Options options;
        options.device = "cpu";
        options.isa = isa;
        try {
            const auto got = kith::search(kith::view(values, 3, 1), kith::view(values, 1, 1), 1, options);
            EXPECT_NE(std::string::npos, got.report.device.find(isa)) << got.report.device;
            return true;
        } catch (const kith::Error& error) {
            EXPECT_NE(std::string::npos, std::string(error.what()).find("'" + isa + "'")) << error.what();
            return false;
        }
    };
    EXPECT_TRUE(runs("baseline"));
    EXPECT_EQ(avx2, runs("avx2"));
    EXPECT_EQ(avx512, runs("avx512"));
    EXPECT_EQ(kith::cpu::supported(kith::cpu::Isa::amx), runs("amx"));
    EXPECT_FALSE(runs("mmx"));
}

// Estimated from the points: the quadratic form of the inverse sample covariance, here of a matrix that inverts
// exactly.
TEST(Mahalanobis, EstimatesTheCovariance) {
    // Uncorrelated columns of variance 4/3 and 16/3: the inverse is diag(3/4, 3/16).
    const double points[] = {1, 2, 1, -2, -1, 2, -1, -2};
    const double queries[] = {3, 2};
    kith::Options options;
    options.device = "cpu";
    options.metric = kith::MetricId::mahalanobis;
    options.f64 = true;
    const auto got = kith::search(kith::view(points, 4, 2), kith::view(queries, 1, 2), 4, options);
    EXPECT_EQ((std::vector<std::int64_t>{0, 1, 2, 3}), got.ids);
    const double want[] = {std::sqrt(3.0), std::sqrt(6.0), std::sqrt(12.0), std::sqrt(15.0)};
    for (int i = 0; i < 4; ++i) EXPECT_NEAR(want[i], got.distances64[i], 1e-12);
}

}  // namespace
