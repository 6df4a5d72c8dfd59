// Estimators of information on a GPU: the bits of the CPU, of continuous samples, ties, duplicates and lattices, by
// every path, of device memory, with their errors.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "gpu/backend.h"
#include "gpu_arrays.h"
#include "kith/estimators.h"
#include "samples.h"

namespace {

using namespace kith;
using namespace samples;

Options on(const std::string& device, const std::string& path = "") {
    Options options;
    options.device = device;
    options.path = path;
    return options;
}

std::vector<std::string> devices() {
    std::vector<std::string> out{"cuda:0"};
    if (gpu::device_count() > 1) out.emplace_back("cuda:all");
    return out;
}

// "" where both are the same, bit for bit.
std::string difference(const Estimate& want, const Estimate& got) {
    const auto same = [](double a, double b) {
        return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) || (std::isnan(a) && std::isnan(b));
    };
    if (!same(want.value, got.value))
        return "value " + std::to_string(got.value) + ", not " + std::to_string(want.value);
    if (!same(want.error, got.error))
        return "error " + std::to_string(got.error) + ", not " + std::to_string(want.error);
    if (want.samples != got.samples || want.left_out != got.left_out) return "other samples";
    return "";
}

// The samples of a case: of a grid of `step`, with 0 none, of which every tenth is the first again.
Table table(std::int64_t n, std::int64_t d, unsigned seed, double step, bool duplicates) {
    Table out = gaussian(n, d, seed);
    if (step > 0) out = rounded(out, step);
    if (duplicates)
        for (std::int64_t r = 10; r < n; r += 10) std::copy_n(out.values.begin(), d, out.values.begin() + r * d);
    return out;
}

struct Data {
    const char* label;
    double step;
    bool duplicates;
};
const Data data_sets[] = {
    {"continuous", 0, false}, {"duplicates", 0, true}, {"ties", 0.25, false}, {"lattice", 1, true}};

// Compares `estimate` of a device with that of the CPU; where all is refused, both have to refuse.
template <class F>
void compare(const std::string& what, const F& estimate) {
    std::string refusal;
    Estimate want;
    try {
        want = estimate(on("cpu"));
    } catch (const Error& error) {
        refusal = error.what();
    }
    for (const std::string& device : devices()) {
        for (const char* path : {"", "exact"}) {
            if (device != "cuda:0" && *path) continue;
            try {
                const Estimate got = estimate(on(device, path));
                ASSERT_EQ("", refusal) << what << ", " << device << " estimates what the CPU refuses";
                ASSERT_EQ("", difference(want, got)) << what << ", " << device << ", path '" << path << "'";
            } catch (const Error& error) {
                ASSERT_EQ(refusal, error.what()) << what << ", " << device << ", path '" << path << "'";
            }
        }
    }
}

TEST(GpuEstimators, EntropyIsThatOfTheCpu) {
    for (const std::int64_t d : {1, 2, 3, 7, 20}) {
        for (const Data& data : data_sets) {
            const Table x = table(1500, d, 1, data.step, data.duplicates);
            for (const MetricId metric : {MetricId::euclidean, MetricId::cityblock, MetricId::chebyshev}) {
                compare(std::string(data.label) + ", d " + std::to_string(d), [&](Options options) {
                    options.metric = metric;
                    return entropy(x.view(), 4, options);
                });
            }
        }
    }
    const Table x = table(900, 3, 2, 0, false);
    compare("minkowski", [&](Options options) {
        options.metric = MetricId::minkowski;
        options.metric.p = 3;
        return entropy(x.view(), 4, options, {.repeats = 2});
    });
}

TEST(GpuEstimators, DivergenceIsThatOfTheCpu) {
    for (const std::int64_t d : {1, 2, 3, 12}) {
        for (const Data& data : data_sets) {
            const Table x = table(1200, d, 3, data.step, data.duplicates),
                        y = table(1500, d, 4, data.step, data.duplicates);
            for (const auto form :
                 {DivergenceForm::nearest, DivergenceForm::common_ball, DivergenceForm::common_ball_distances}) {
                compare(std::string(data.label) + ", d " + std::to_string(d) + ", form " +
                            std::to_string(static_cast<int>(form)),
                        [&](const Options& options) { return kl_divergence(x.view(), y.view(), 5, form, options); });
            }
        }
    }
}

TEST(GpuEstimators, InformationIsThatOfTheCpu) {
    for (const std::int64_t d : {1, 2, 8}) {
        for (const Data& data : data_sets) {
            const std::string what = std::string(data.label) + ", d " + std::to_string(d);
            const Table x = table(1100, d, 5, data.step, data.duplicates), z = table(1100, 1, 6, data.step, false);
            Table y = table(1100, 1, 7, data.step, data.duplicates);
            for (std::int64_t i = 0; i < y.n; ++i) y.values[static_cast<std::size_t>(i)] += x.at(i, 0) + z.at(i, 0);
            for (const KraskovForm form : {KraskovForm::first, KraskovForm::second}) {
                compare(what, [&](const Options& options) {
                    return mutual_information(x.view(), y.view(), 3, form, options);
                });
            }
            compare(what + ", given z", [&](const Options& options) {
                return conditional_mutual_information(x.view(), y.view(), z.view(), 3, options);
            });
            compare(what + ", transfer",
                    [&](const Options& options) { return transfer_entropy(x.view(), y.view(), 3, 2, 1, options); });
        }
    }
}

TEST(GpuEstimators, ErrorsAreThoseOfTheCpu) {
    const Table x = gaussian(900, 2, 8), y = gaussian(800, 2, 9, 0.5, 1.5), z = gaussian(900, 1, 10);
    const Bootstrap as{.repeats = 2, .parts = 3, .seed = 4};
    compare("entropy", [&](const Options& o) { return entropy(x.view(), 4, o, as); });
    compare("divergence",
            [&](const Options& o) { return kl_divergence(x.view(), y.view(), 4, DivergenceForm::common_ball, o, as); });
    compare("information", [&](const Options& o) { return mutual_information(x.view(), z.view(), 4, {}, o, as); });
    compare("transfer", [&](const Options& o) { return transfer_entropy(x.view(), z.view(), 4, 1, 1, o, as); });
}

TEST(GpuEstimators, OfDeviceMemory) {
    const Table x = gaussian(700, 3, 11), y = gaussian(700, 2, 12);
    const auto to_device = [](const Table& table) {
        gpu_arrays::DeviceArray out{std::make_unique<gpu_arrays::Buffer<std::byte>>(table.values.size() * 8),
                                    table.view()};
        gpu_arrays::check(
            cudaMemcpy(out.bytes->data(), table.values.data(), table.values.size() * 8, cudaMemcpyHostToDevice));
        out.view.data = out.bytes->data();
        out.view.device = 0;
        return out;
    };
    const auto a = to_device(x), b = to_device(y);
    EXPECT_EQ("", difference(entropy(x.view(), 3, on("cpu")), entropy(a.view, 3, on("cuda:0"))));
    EXPECT_EQ("", difference(mutual_information(x.view(), y.view(), 3, {}, on("cpu")),
                             mutual_information(a.view, b.view, 3, {}, on("cuda:0"))));
}

}  // namespace
