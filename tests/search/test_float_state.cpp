// Every metric on every path of the CPU, called in every floating-point state: the bits of the plain one.
#include <cstring>

#include "cpu/simd/isa.h"
#include "float_states.h"
#include "plan/planner.h"
#include "same_answer.h"
#include "search_cases.h"

namespace {

using namespace kith;

constexpr std::int64_t n = 90, q = 11, k = 7;

// Multiples of 2^-149: flushed, all of them are 0.
arrays::Array subnormal(std::int64_t rows, std::int64_t d, std::uint64_t seed, bool non_negative) {
    adversarial::Random random(seed);
    std::vector<double> values(static_cast<std::size_t>(rows * d));
    for (double& v : values) v = 0x1p-149 * static_cast<double>(random.below(40) - (non_negative ? 0 : 20));
    return arrays::make(values, rows, d, ElementType::f32);
}

struct Data {
    std::string name;
    arrays::Array points, queries;
};

std::vector<Data> data_of(const Variant& variant) {
    const oracle::Definition& metric = oracle::definition(variant.name);
    const std::int64_t d = metric.dimensions ? metric.dimensions : 5;
    std::vector<Data> all;
    for (const char* name : {"gaussian", "infinities"}) {
        auto c = search_cases::make_case(variant, name, {n, q, d, k}, ElementType::f32, ElementType::f32,
                                         arrays::Shape::dense, 3);
        all.push_back({name, std::move(c.points), std::move(c.queries)});
    }
    all.push_back({"subnormal", subnormal(n, d, 1, metric.non_negative), subnormal(q, d, 2, metric.non_negative)});
    return all;
}

std::vector<std::string> isa_names() {
    std::vector<std::string> names;
    for (int i = 0; i < cpu::isa_count; ++i)
        if (cpu::supported(static_cast<cpu::Isa>(i))) names.emplace_back(cpu::name(static_cast<cpu::Isa>(i)));
    return names;
}

class FloatState : public testing::TestWithParam<std::string> {};

TEST_P(FloatState, ChangesNoBitOnAnyPath) {
    const std::int64_t d = oracle::definition(GetParam()).dimensions ? oracle::definition(GetParam()).dimensions : 5;
    const Variant variant = variants(GetParam(), d, ElementType::f32).front();
    int searches = 0;
    for (const Data& data : data_of(variant)) {
        for (const planner::PathFacts& path : planner::paths()) {
            for (const std::string& isa : isa_names()) {
                Options options = search_cases::options_of("cpu", variant, {name(path.path), isa, 1}, true);
                const auto search = [&] { return kith::search(data.points.view, data.queries.view, k, options); };
                float_states::set_default();
                Neighbors want;
                try {
                    want = search();
                } catch (const Error& error) {
                    if (error.code() == ErrorCode::invalid_argument) continue;  // serves other metrics
                    throw;
                }
                for (const float_states::State& state : float_states::all)
                    for (const int threads : {1, 2}) {
                        options.threads = threads;
                        ASSERT_TRUE(same_answer(want, float_states::called_in(state, search)))
                            << data.name << ", path " << name(path.path) << ", isa " << isa << ", threads " << threads
                            << ", " << state.name;
                    }
                ++searches;
            }
        }
    }
    EXPECT_GT(searches, 0);
}

// The plain state's bits are those of the definition, whatever state the oracle is asked in.
TEST_P(FloatState, IsNotTheOracles) {
    const std::int64_t d = oracle::definition(GetParam()).dimensions ? oracle::definition(GetParam()).dimensions : 5;
    const Variant variant = variants(GetParam(), d, ElementType::f32).front();
    for (const Data& data : data_of(variant)) {
        const Options options = search_cases::options_of("cpu", variant, {}, true);
        const Neighbors got = kith::search(data.points.view, data.queries.view, k, options);
        for (const float_states::State& state : float_states::all) {
            const std::string difference = float_states::called_in(state, [&] {
                return Truth(variant.name, variant.params, data.points.view, data.queries.view, k).difference(got);
            });
            EXPECT_EQ("", difference) << data.name << ", " << state.name;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Metric, FloatState, testing::ValuesIn(metric_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
