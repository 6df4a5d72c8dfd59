// Matches of two sets of features on a GPU: those of the CPU, of every element type, with ties, NaN, device memory.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "adversarial.h"
#include "arrays.h"
#include "gpu/backend.h"
#include "gpu_arrays.h"
#include "kith/kith.h"
#include "kith/match.h"

namespace {

using namespace kith;

Options on(const std::string& device, MetricId metric, const std::string& path = "") {
    Options options;
    options.device = device;
    options.metric = metric;
    options.path = path;
    return options;
}

std::string difference(const Matches& want, const Matches& got) {
    if (want.first != got.first) return "other rows";
    if (want.second != got.second) return "other matches";
    return want.distances == got.distances ? "" : "other distances";
}

TEST(GpuMatch, IsThatOfTheCpu) {
    std::uint64_t turn = 0;
    std::size_t matched = 0;
    for (const char* data : {"duplicates", "lattice", "gaussian", "nan_rows", "integers", "clusters"}) {
        for (const std::int64_t d : {3, 40, 128}) {
            const auto type = arrays::element_types[turn % 6];
            const auto set = adversarial::make(data, 900, 700, d, turn);
            const auto a = arrays::make(set.points, 900, d, type, arrays::shapes[turn % 3]);
            const auto b = arrays::make(set.queries, 700, d, type, arrays::shapes[(turn + 1) % 3]);
            const auto on_a = gpu_arrays::on_device(a), on_b = gpu_arrays::on_device(b);
            ++turn;
            for (const MetricId metric : {MetricId::euclidean, MetricId::cityblock}) {
                for (const std::optional<double> ratio : {std::optional<double>(), std::optional<double>(0.8)}) {
                    for (const bool mutual : {false, true}) {
                        const std::string what = std::string(data) + ", d " + std::to_string(d) + ", " + name(type) +
                                                 ", ratio " + std::to_string(ratio.value_or(0)) +
                                                 (mutual ? ", mutual" : "");
                        const Matches want = match(a.view, b.view, {ratio, mutual, on("cpu", metric)});
                        matched += want.first.size();
                        for (const char* path : {"", "exact"})
                            ASSERT_EQ("", difference(
                                              want, match(a.view, b.view, {ratio, mutual, on("cuda:0", metric, path)})))
                                << what << ", path '" << path << "'";
                        ASSERT_EQ("",
                                  difference(want, match(on_a.view, on_b.view, {ratio, mutual, on("cuda:0", metric)})))
                            << what << ", device memory";
                    }
                }
            }
        }
    }
    EXPECT_GT(matched, 1000U);
}

// As many as two images have, of whole numbers as SIFT's are.
TEST(GpuMatch, OfManyFeatures) {
    const auto set = adversarial::make("integers", 9000, 8000, 128, 3);
    const auto a = arrays::make(set.points, 9000, 128, ElementType::u8),
               b = arrays::make(set.queries, 8000, 128, ElementType::u8);
    const Matches want = match(a.view, b.view, {0.9, true, on("cpu", MetricId::euclidean)});
    EXPECT_EQ("", difference(want, match(a.view, b.view, {0.9, true, on("cuda:0", MetricId::euclidean)})));
    if (gpu::device_count() > 1) {
        EXPECT_EQ("", difference(want, match(a.view, b.view, {0.9, true, on("cuda:all", MetricId::euclidean)})));
    }
}

}  // namespace
