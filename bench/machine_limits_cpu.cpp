// The CPU's limits: Highway loops compiled for every instruction set, the best of which runs.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

#include "machine_limits.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "machine_limits_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kith::bench::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// `rounds` times 12 independent multiply-adds, enough to hide their latency; how many lanes took part.
std::size_t multiply_add(std::size_t rounds, float* sink) {
    const hn::ScalableTag<float> tag;
    const auto x = hn::Set(tag, 0.5f), y = hn::Set(tag, 1.0f);
    auto a0 = y, a1 = y, a2 = y, a3 = y, a4 = y, a5 = y, a6 = y, a7 = y, a8 = y, a9 = y, a10 = y, a11 = y;
    for (std::size_t i = 0; i < rounds; ++i) {
        a0 = hn::MulAdd(a0, x, y), a1 = hn::MulAdd(a1, x, y), a2 = hn::MulAdd(a2, x, y), a3 = hn::MulAdd(a3, x, y);
        a4 = hn::MulAdd(a4, x, y), a5 = hn::MulAdd(a5, x, y), a6 = hn::MulAdd(a6, x, y), a7 = hn::MulAdd(a7, x, y);
        a8 = hn::MulAdd(a8, x, y), a9 = hn::MulAdd(a9, x, y), a10 = hn::MulAdd(a10, x, y);
        a11 = hn::MulAdd(a11, x, y);
    }
    const auto sum =
        hn::Add(hn::Add(hn::Add(a0, a1), hn::Add(a2, a3)),
                hn::Add(hn::Add(hn::Add(a4, a5), hn::Add(a6, a7)), hn::Add(hn::Add(a8, a9), hn::Add(a10, a11))));
    *sink = hn::GetLane(hn::SumOfLanes(tag, sum));
    return 12 * hn::Lanes(tag);
}

// The sum of `count` floats, a multiple of 64.
float sum(const float* values, std::size_t count) {
    const hn::ScalableTag<float> tag;
    const std::size_t lanes = hn::Lanes(tag);
    auto a = hn::Zero(tag), b = a, c = a, d = a;
    for (std::size_t i = 0; i < count; i += 4 * lanes) {
        a = hn::Add(a, hn::LoadU(tag, values + i));
        b = hn::Add(b, hn::LoadU(tag, values + i + lanes));
        c = hn::Add(c, hn::LoadU(tag, values + i + 2 * lanes));
        d = hn::Add(d, hn::LoadU(tag, values + i + 3 * lanes));
    }
    return hn::GetLane(hn::SumOfLanes(tag, hn::Add(hn::Add(a, b), hn::Add(c, d))));
}

}  // namespace kith::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kith::bench {

HWY_EXPORT(multiply_add);
HWY_EXPORT(sum);

namespace {

constexpr int repeats = 5;
constexpr std::size_t rounds = 20'000'000;
constexpr std::size_t array_floats = std::size_t{1} << 26;  // 256 MiB, past any cache

// The best of some runs: a limit, not a typical value.
template <class F>
double best_seconds(F run) {
    double best = 1e30;
    for (int i = 0; i < repeats; ++i) {
        const auto start = std::chrono::steady_clock::now();
        run();
        best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return best;
}

// run(t) on a thread of its own for every t.
template <class F>
void on_threads(int threads, const F& run) {
    std::vector<std::jthread> others;
    for (int t = 1; t < threads; ++t) others.emplace_back(run, static_cast<std::size_t>(t));
    run(0);
}

}  // namespace

Limits cpu_limits(int threads) {
    std::vector<float> sinks(static_cast<std::size_t>(threads) * 64), values(array_floats, 1.0f);
    std::size_t each = 0;
    const double compute = best_seconds([&] {
        on_threads(threads, [&](std::size_t t) {
            const std::size_t count = HWY_DYNAMIC_DISPATCH(multiply_add)(rounds, &sinks[t * 64]);
            if (t == 0) each = count;
        });
    });
    const double read = best_seconds([&] {
        on_threads(threads, [&](std::size_t t) {
            const std::size_t part = array_floats / static_cast<std::size_t>(threads) / 64 * 64;
            sinks[t * 64] = HWY_DYNAMIC_DISPATCH(sum)(values.data() + t * part, part);
        });
    });
    return {static_cast<double>(each) * static_cast<double>(rounds) * threads / compute,
            static_cast<double>(array_floats * sizeof(float)) / read,
            "fused multiply-adds in registers; reads of 256 MiB"};
}

}  // namespace kith::bench
#endif  // HWY_ONCE
