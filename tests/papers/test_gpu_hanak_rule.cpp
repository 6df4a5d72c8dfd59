// Searches on CUDA by Hanak's rule: the bits of the CPU's answer, by the path that the plan names.
#include <string>
#include <vector>

#include "adversarial.h"
#include "gpu_arrays.h"
#include "kith/kith.h"
#include "papers/distance/cublas.h"
#include "same_answer.h"

namespace {

std::vector<float> gaussian(std::int64_t rows, std::int64_t d, std::uint64_t seed) {
    adversarial::Random random(seed);
    std::vector<float> values;
    for (std::int64_t i = 0; i < rows * d; ++i) values.push_back(static_cast<float>(random.gaussian()));
    return values;
}

// A shape for every row of the rule's tables.
TEST(GpuHanakRule, SameBitsAsTheCpu) {
    struct Size {
        std::int64_t n, q, d, k;
    };
    for (const Size& s : {Size{5000, 1, 40, 10}, Size{5000, 100, 40, 10}, Size{5000, 200, 40, 10},
                          Size{3000, 200, 150, 10}, Size{3000, 8001, 16, 20}, Size{9000, 20, 8, 2000},
                          Size{9000, 20, 8, 4000}, Size{9000, 20, 8, 6000}, Size{101000, 3, 8, 6000}})
        for (const kith::MetricId metric : {kith::MetricId::sqeuclidean, kith::MetricId::cityblock}) {
            const std::vector<float> points = gaussian(s.n, s.d, 1), queries = gaussian(s.q, s.d, 2);
            const kith::MatrixView p = kith::view(points.data(), s.n, s.d), q = kith::view(queries.data(), s.q, s.d);
            kith::Options cpu, cuda;
            cpu.device = "cpu";
            cuda.device = "cuda";
            cpu.metric = cuda.metric = metric;
            const kith::Neighbors want = kith::search(p, q, s.k, cpu);
            for (const char* const path : {"hanak-rule", "kuang-zhao+hanak-rule"}) {
                cuda.path = path;
                const std::string planned =
                    kith::path_name(kith::plan({s.n, s.q, s.d, s.k, kith::ElementType::f32, false}, cuda));
                const kith::Neighbors got = kith::search(p, q, s.k, cuda);
                const std::string label = std::string(path) + ", " + planned + ", n " + std::to_string(s.n) + ", q " +
                                          std::to_string(s.q) + ", k " + std::to_string(s.k);
                EXPECT_TRUE(same_answer(want, got)) << label;
                EXPECT_EQ(planned, got.report.path) << label;
            }
        }
}

TEST(GpuHanakRule, GraphAndIndex) {
    const std::vector<float> points = gaussian(900, 12, 3), queries = gaussian(30, 12, 4);
    const kith::MatrixView p = kith::view(points.data(), 900, 12), q = kith::view(queries.data(), 30, 12);
    kith::Options cpu, cuda;
    cpu.device = "cpu";
    cuda.device = "cuda";
    cuda.path = "hanak-rule";
    EXPECT_TRUE(same_answer(kith::graph(p, 9, cpu), kith::graph(p, 9, cuda)));
    const kith::Index index(p, cuda);
    EXPECT_TRUE(same_answer(kith::search(p, q, 9, cpu), index.search(q, 9, cuda)));
}

}  // namespace
