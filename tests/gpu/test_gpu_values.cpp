// The value pass: the values and groups that its kernels leave, the candidates that its closing kernels find, and whole
// searches of very few queries, which go through it, by all coordinates, along few directions and by numbers of 8 bits.
#include <cuda_fp16.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "exact/order.h"
#include "filter_values.h"
#include "gpu/filter/dense/value_pass.h"
#include "gpu/filter/int8/bytes.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/memory/device_memory.h"
#include "gpu_arrays.h"
#include "same_answer.h"
#include "search_cases.h"
#include "spectrum.h"

namespace {

namespace gpu = kith::gpu;
using kith::ElementType;
using Order = kith::exact::Order<float>;

template <class T>
gpu::Buffer<T> on_device(const std::vector<T>& values) {
    gpu::Buffer<T> out(static_cast<std::int64_t>(values.size()), nullptr);
    gpu_arrays::check(cudaMemcpy(out.get(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    return out;
}

template <class T>
std::vector<T> on_host(const gpu::Buffer<T>& values) {
    std::vector<T> out(static_cast<std::size_t>(values.size()));
    gpu_arrays::check(cudaMemcpy(out.data(), values.get(), out.size() * sizeof(T), cudaMemcpyDeviceToHost));
    return out;
}

// What the rows of a pass are: halves with upper values, and lower bounds alone in halves and in numbers of 8 bits
// times a step, all `below` the values or a little more. A query's share of the error is `more`.
enum class Of { halves, lower_halves, bytes };
constexpr int below = 3, step_of_bytes = 2;
constexpr float more = 0.75f;

// A pass over whole numbers, on the host and on the device: products and sums are exact in any order.
struct WholeNumbers {
    Of of;
    std::int64_t q, n, width, groups, padded = gpu::whole_tiles(n);
    std::vector<float> a;  // q x padded
    std::vector<std::uint32_t> keys;
    std::vector<float> h, f;
    gpu::Buffer<__half> queries, points;
    gpu::Buffer<float> half_norm, point_error, lower_half_norm, error;
    gpu::Buffer<std::int8_t> byte_queries, byte_points;
    gpu::Buffer<int> byte_half_norm;
    gpu::Buffer<std::uint32_t> values, least, step_least;
    gpu::ValuePass pass;
    gpu::CoarseValues coarse;

    // `spread`: coordinates are 0 to +-spread; 0 makes all points alike.
    WholeNumbers(std::int64_t q, std::int64_t n, std::int64_t width, std::int64_t groups, int spread,
                 Of of = Of::halves)
        : of(of), q(q), n(n), width(width), groups(groups) {
        std::mt19937 random(static_cast<unsigned>(n + width));
        const auto number = [&] {
            return static_cast<int>(random() % (2 * static_cast<unsigned>(spread) + 1)) - spread;
        };
        const auto fill = [&](std::int64_t count) {
            std::vector<int> out(static_cast<std::size_t>(count));
            for (int& x : out) x = number();
            return out;
        };
        const std::vector<int> u = fill(q * width), v = fill(n * width);
        const int step = of == Of::bytes ? step_of_bytes : 1;
        const float infinity = std::numeric_limits<float>::infinity();
        h.assign(static_cast<std::size_t>(padded), infinity);
        f.assign(static_cast<std::size_t>(padded), 0);
        for (std::int64_t i = 0; i < n; ++i) {
            h[static_cast<std::size_t>(i)] = static_cast<float>(number() + 40);
            f[static_cast<std::size_t>(i)] = static_cast<float>(number() + spread);
        }
        // One that the bound does not cover, and one with a NaN.
        if (spread > 0 && n > 100) {
            h[70] = -infinity;
            f[70] = infinity;
            h[90] = infinity;
        }
        for (std::int64_t i = 0; i < q; ++i)
            for (std::int64_t p = 0; p < padded; ++p) {
                int product = 0;  // past the last row, with that
                for (std::int64_t c = 0; c < width; ++c)
                    product += u[static_cast<std::size_t>(i * width + c)] *
                               v[static_cast<std::size_t>(std::min(p, n - 1) * width + c)];
                const float half_norm = h[static_cast<std::size_t>(p)];
                a.push_back(half_norm - static_cast<float>(step * step * product));
                keys.push_back(of == Of::halves         ? Order::key(a.back())
                               : of == Of::lower_halves ? Order::key(a.back() - below)
                                                        : gpu::value_key(whole(half_norm) - product));
            }
        const auto halves = [&](const std::vector<int>& numbers) {
            std::vector<__half> out;
            for (const int x : numbers) out.push_back(__float2half(static_cast<float>(step * x)));
            return on_device(out);
        };
        queries = halves(u);
        points = halves(v);
        half_norm = on_device(h);
        point_error = on_device(f);
        values = gpu::Buffer<std::uint32_t>(q * padded, nullptr);
        least = gpu::Buffer<std::uint32_t>(q * 2 * groups, nullptr);
        pass = {.queries = queries.get(),
                .points = points.get(),
                .half_norm = half_norm.get(),
                .point_error = point_error.get(),
                .ceiling = infinity,
                .q = q,
                .n = n,
                .width = width,
                .groups = groups,
                .values = values.get(),
                .ld = padded,
                .least = least.get(),
                .step_least = nullptr};
        if (of != Of::halves) make_coarse(u, v);
        step_least = gpu::Buffer<std::uint32_t>(q * groups * pass.steps_of_group(), nullptr);
        pass.step_least = step_least.get();
        gpu::value_pass(pass, nullptr);
        gpu_arrays::check(cudaDeviceSynchronize());
    }
    // The same pass with lower bounds alone; those of 8 bits have rows of whole words of 32 numbers.
    void make_coarse(const std::vector<int>& u, const std::vector<int>& v) {
        coarse = {.queries = pass.queries,
                  .points = pass.points,
                  .half_norm = pass.half_norm,
                  .point_error = pass.point_error,
                  .width = width,
                  .error = nullptr,
                  .step = step_of_bytes};
        error = on_device(std::vector<float>(static_cast<std::size_t>(q), more));
        coarse.error = error.get();
        std::vector<float> lower(h.size());
        std::vector<int> lower_whole;
        for (std::size_t i = 0; i < h.size(); ++i) {
            lower[i] = h[i] - below;
            lower_whole.push_back(whole(h[i]));
        }
        pass.point_error = nullptr;
        if (of == Of::lower_halves) {
            lower_half_norm = on_device(lower);
            pass.half_norm = lower_half_norm.get();
            return;
        }
        const auto bytes = [&](const std::vector<int>& numbers, std::int64_t rows, int sign) {
            const std::int64_t row = gpu::byte_width(width);
            std::vector<std::int8_t> out(static_cast<std::size_t>(rows * row));
            for (std::int64_t i = 0; i < rows * width; ++i)
                out[static_cast<std::size_t>(i / width * row + i % width)] =
                    static_cast<std::int8_t>(sign * numbers[static_cast<std::size_t>(i)]);
            return on_device(out);
        };
        byte_queries = bytes(u, q, -1);
        byte_points = bytes(v, n, 1);
        byte_half_norm = on_device(lower_whole);
        pass.bytes = true;
        pass.queries = byte_queries.get();
        pass.points = byte_points.get();
        pass.half_norm = reinterpret_cast<const float*>(byte_half_norm.get());
        pass.width = gpu::byte_width(width) / 2;
    }
    static constexpr float unit = step_of_bytes * step_of_bytes;
    // A half norm in whole numbers of 8 bits.
    static int whole(float half_norm) {
        const float infinity = std::numeric_limits<float>::infinity();
        return half_norm == infinity    ? gpu::ByteLimits::excluded
               : half_norm == -infinity ? gpu::ByteLimits::always
                                        : static_cast<int>(std::floor((half_norm - below) / unit));
    }
    // That of the largest lower bound that a threshold allows.
    std::uint32_t limit(float threshold) const {
        if (of == Of::bytes) return gpu::value_key(static_cast<int>(std::ceil((threshold + more) / unit)) + 1);
        return Order::key(threshold + more);
    }
    std::uint32_t key(std::int64_t i, std::int64_t p) const { return keys[static_cast<std::size_t>(i * padded + p)]; }
    // The least key of a step.
    std::uint32_t least_key(std::int64_t i, std::int64_t step) const {
        const auto first = keys.begin() + i * padded + step * gpu::value_step;
        return *std::min_element(first, first + gpu::value_step);
    }
    std::string label() const {
        return "rows " + std::to_string(static_cast<int>(of)) + ", q " + std::to_string(q) + ", n " +
               std::to_string(n) + ", width " + std::to_string(width) + ", groups " + std::to_string(groups);
    }
    float value(std::int64_t i, std::int64_t p) const { return a[static_cast<std::size_t>(i * padded + p)]; }
    float upper(std::int64_t i, std::int64_t p) const {
        const float infinity = std::numeric_limits<float>::infinity(), error = f[static_cast<std::size_t>(p)];
        return error < infinity ? value(i, p) + 2 * error : infinity;
    }
    // Of each group of a query.
    template <class Value>
    std::vector<float> least_of(std::int64_t i, Value value_of) const {
        std::vector<float> out(static_cast<std::size_t>(groups), std::numeric_limits<float>::infinity());
        for (std::int64_t p = 0; p < n; ++p) {
            float& least_value = out[static_cast<std::size_t>(p / gpu::value_step % groups)];
            least_value = std::min(least_value, value_of(i, p));
        }
        return out;
    }
};

// Widths of less than one run of eight lanes, of whole runs, of one and a bit, and points that end within a step.
TEST(GpuValues, AreThoseOfTheHost) {
    const std::int64_t shapes[][3] = {{1, 16, 1},   {31, 16, 1},    {257, 48, 3},    {1000, 64, 32},
                                      {990, 80, 5}, {1500, 128, 9}, {1023, 144, 32}, {2050, 272, 60}};
    for (const Of of : {Of::halves, Of::lower_halves, Of::bytes})
        for (const auto& [n, width, groups] : shapes)
            for (std::int64_t q = 1; q <= gpu::value_queries; ++q) {
                const WholeNumbers w(q, n, width, groups, 2, of);
                const auto values = on_host(w.values), least = on_host(w.least), of_steps = on_host(w.step_least);
                for (std::int64_t i = 0; i < q; ++i) {
                    for (std::int64_t p = 0; p < w.pass.steps() * gpu::value_step; ++p)
                        ASSERT_EQ(w.key(i, p), values[static_cast<std::size_t>(i * w.padded + p)])
                            << w.label() << ": query " << i << ", position " << p;
                    const auto uppers = w.least_of(i, [&](auto query, auto p) { return w.upper(query, p); });
                    std::vector<std::uint32_t> lowers(static_cast<std::size_t>(groups), Order::nan);
                    for (std::int64_t step = 0; step < w.pass.steps(); ++step) {
                        const std::uint32_t want = w.least_key(i, step);
                        const std::int64_t at = (i * groups + step % groups) * w.pass.steps_of_group() + step / groups;
                        ASSERT_EQ(want, of_steps[static_cast<std::size_t>(at)]) << w.label() << ", " << step;
                        std::uint32_t& least_of_group = lowers[static_cast<std::size_t>(step % groups)];
                        least_of_group = std::min(least_of_group, want);
                    }
                    for (std::int64_t g = 0; g < groups; ++g) {
                        const auto at = static_cast<std::size_t>(2 * i * groups + g);
                        if (of == Of::halves) {
                            ASSERT_EQ(Order::key(uppers[static_cast<std::size_t>(g)]), least[at])
                                << w.label() << ", " << g;
                        } else {
                            ASSERT_EQ(g, least[at] / gpu::value_step % groups) << w.label();
                            ASSERT_EQ(lowers[static_cast<std::size_t>(g)], w.key(i, least[at])) << w.label();
                        }
                        ASSERT_EQ(lowers[static_cast<std::size_t>(g)], least[at + static_cast<std::size_t>(groups)])
                            << w.label() << ", " << g;
                    }
                }
            }
}

// A pass that rounds its queries itself compares what round_queries() makes of them, and leaves the same errors.
TEST(GpuValues, QueriesRoundedInThePass) {
    constexpr std::int64_t n = 700, groups = 7;
    std::mt19937 random(3);
    const auto numbers = [&](std::int64_t count) {
        std::vector<double> out;
        for (std::int64_t i = 0; i < count; ++i) out.push_back(static_cast<double>(random() % 2001) / 100 - 10);
        return out;
    };
    for (const std::int64_t d : {5, 31, 64, 130, 350}) {
        for (const int leading : {0, 3}) {
            const std::int64_t padded_columns = gpu::LeadingDirections::padded(d), most = gpu::LeadingDirections::most;
            std::vector<double> matrix(static_cast<std::size_t>(padded_columns * most), 0.0);
            for (int i = 0; i < leading; ++i) matrix[static_cast<std::size_t>((2 * i) * most + i)] = i % 2 ? -1 : 1;
            const auto on_device_matrix = on_device(matrix), shift = on_device(numbers(d));
            gpu::Directions directions;
            directions.depth = directions.columns = d;
            directions.form.width = gpu::byte_width(d + 2 * leading) / 2;
            directions.bytes.step = 0.07;  // with a shift of up to 10, some coordinates lie beyond a byte's range
            directions.bytes.shift = shift.get();
            directions.bytes.shift_norm = 10;
            directions.bytes.kappa = 0.01;
            directions.bytes.leading = {.count = leading,
                                        .matrix = on_device_matrix.get(),
                                        .coarse = 0.1,
                                        .fine = 0.001,
                                        .coarse_kappa = 0.01,
                                        .fine_kappa = 0.01};
            const std::int64_t width = directions.form.width, padded = gpu::whole_tiles(n);
            std::vector<std::int8_t> rows;
            for (std::int64_t i = 0; i < n * 2 * width; ++i)
                rows.push_back(static_cast<std::int8_t>(static_cast<int>(random() % 256) - 128));
            const auto points = on_device(rows);
            const auto half_norm = on_device(std::vector<int>(static_cast<std::size_t>(padded), 12));
            for (std::int64_t q = 1; q <= gpu::value_queries; ++q) {
                const std::string label =
                    "d " + std::to_string(d) + ", leading " + std::to_string(leading) + ", q " + std::to_string(q);
                std::vector<__half> halves;
                for (const double x : numbers(q * d)) halves.push_back(__float2half(static_cast<float>(x)));
                const auto vectors = on_device(halves);
                const gpu::Buffer<std::int8_t> rounded(q * 2 * width, nullptr);
                const gpu::Buffer<float> error(q, nullptr), own_error(q, nullptr);
                gpu::round_queries(directions, vectors.get(), {}, 0, q, rounded.get(), error.get(), nullptr);
                ASSERT_TRUE(gpu::rounds_queries(directions, q)) << label;
                std::vector<std::uint32_t> seen[2];
                for (const bool rounds : {false, true}) {
                    const gpu::Buffer<std::uint32_t> values(q * padded, nullptr), least(q * 2 * groups, nullptr);
                    gpu::ValuePass pass{.queries = rounds ? nullptr : rounded.get(),
                                        .points = points.get(),
                                        .half_norm = reinterpret_cast<const float*>(half_norm.get()),
                                        .point_error = nullptr,
                                        .bytes = true,
                                        .q = q,
                                        .n = n,
                                        .width = width,
                                        .groups = groups,
                                        .values = values.get(),
                                        .ld = padded,
                                        .least = least.get(),
                                        .step_least = nullptr};
                    const gpu::Buffer<std::uint32_t> step_least(q * groups * pass.steps_of_group(), nullptr);
                    pass.step_least = step_least.get();
                    if (rounds) gpu::value_pass(pass, nullptr, {vectors.get(), directions, own_error.get()});
                    else gpu::value_pass(pass, nullptr);
                    gpu_arrays::check(cudaDeviceSynchronize());
                    seen[rounds] = on_host(values);
                    for (std::int64_t i = 0; i < q; ++i)
                        std::fill(seen[rounds].begin() + i * padded + n, seen[rounds].begin() + (i + 1) * padded, 0u);
                }
                ASSERT_EQ(seen[0], seen[1]) << label;
                ASSERT_EQ(on_host(error), on_host(own_error)) << label;
            }
        }
    }
    // Rows of which a block has no room for what rounding takes, and what is no number of 8 bits.
    gpu::Directions wide;
    EXPECT_FALSE(gpu::rounds_queries(wide, 1));
    wide.bytes.step = 1;
    wide.columns = wide.depth = 2048;
    wide.form.width = 1024;
    EXPECT_TRUE(gpu::rounds_queries(wide, 4));
    wide.bytes.leading.count = 1;
    EXPECT_FALSE(gpu::rounds_queries(wide, 4));
}

struct Closed {
    std::vector<unsigned long long> counted;
    std::vector<std::int32_t> counts;
    std::vector<float> threshold;
    std::vector<std::uint8_t> status;
    std::vector<std::uint32_t> ids;
};

constexpr std::int64_t room = 512;

gpu::FilterForm strided() {
    gpu::FilterForm form;
    form.stride = 7;
    return form;
}

Closed close(const WholeNumbers& w, std::int64_t k, float query_error, gpu::Fitness fitness,
             const std::vector<std::int64_t>& self = {}, std::int64_t capacity = room) {
    const auto q = static_cast<std::size_t>(w.q);
    const auto unfit = on_device(std::vector<std::uint8_t>(q, fitness));
    const auto nan = on_device(std::vector<std::uint8_t>(static_cast<std::size_t>(w.n), 0));
    const auto error = on_device(std::vector<float>(q, query_error));
    const gpu::Buffer<std::uint32_t> ids(w.q * capacity, nullptr);
    const gpu::Buffer<std::int32_t> counts(w.q, nullptr);
    const gpu::Buffer<float> threshold(w.q, nullptr);
    const gpu::Buffer<std::uint8_t> status(w.q, nullptr);
    const gpu::Buffer<unsigned long long> counted(w.q, nullptr);
    const auto own = on_device(self.empty() ? std::vector<std::int64_t>(q, -1) : self);
    gpu::CandidateLists lists;
    lists.q = w.q;
    lists.capacity = capacity;
    lists.counts = counts.get();
    lists.threshold = threshold.get();
    lists.query_error = error.get();
    gpu::CloseTask task;
    task.k = k;
    task.n = w.n;
    task.self = self.empty() ? nullptr : own.get();
    task.unfit = unfit.get();
    task.nan = nan.get();
    task.ids = ids.get();
    task.status = status.get();
    gpu::CoarseValues coarse = w.coarse;
    const gpu::ValuePilots pilots(k, w.groups);
    coarse.pilots = pilots.all;
    coarse.pilots_of_warp = pilots.of_warp;
    gpu::close_values(w.pass, coarse, lists, strided(), task, counted.get(), nullptr);
    gpu_arrays::check(cudaDeviceSynchronize());
    return {on_host(counted), on_host(counts), on_host(threshold), on_host(status), on_host(ids)};
}

// The threshold is the k-th of the groups' least upper values and 2 E; the candidates are all within, but the query.
TEST(GpuValues, CloseToAllCandidates) {
    for (const std::int64_t k : {1, 9, 15}) {
        for (const std::int64_t groups : {32, 60, 313}) {
            const WholeNumbers w(3, 10007, 48, groups, 3);
            const std::vector<std::int64_t> self{-1, 7 * 70 % w.n, -1};
            const Closed closed = close(w, k, 0.5f, gpu::fit, self);
            for (std::int64_t i = 0; i < w.q; ++i) {
                auto uppers = w.least_of(i, [&](auto of, auto p) { return w.upper(of, p); });
                std::sort(uppers.begin(), uppers.end());
                const auto at = static_cast<std::size_t>(i);
                const float threshold = uppers[static_cast<std::size_t>(k - 1)] + 1;
                ASSERT_EQ(threshold, closed.threshold[at]) << w.label() << ", k " << k;
                std::set<std::uint32_t> want;
                for (std::int64_t p = 0; p < w.n; ++p) {
                    const auto row = static_cast<std::int64_t>(gpu::row_at(strided(), p, w.n));
                    if (w.value(i, p) <= threshold && row != self[at]) want.insert(static_cast<std::uint32_t>(row));
                }
                ASSERT_LE(want.size(), static_cast<std::size_t>(room)) << w.label();
                ASSERT_EQ(want.size(), closed.counted[at]) << w.label() << ", k " << k;
                ASSERT_EQ(want.size(), static_cast<std::size_t>(closed.counts[at]));
                ASSERT_EQ(gpu::certified, closed.status[at]);
                const auto first = closed.ids.begin() + i * room;
                ASSERT_EQ(want, (std::set<std::uint32_t>(first, first + closed.counts[at]))) << w.label();
            }
        }
    }
}

// Of lower bounds alone: the threshold is an upper value and 2 E, no less than the k-th smallest of all, no more than
// that of the points that its warps take (of many a little more); the candidates are all whose bounds are within.
TEST(GpuValues, CloseLowerBoundsToAllCandidates) {
    constexpr std::int64_t most = 4096;
    const std::int64_t shapes[][2] = {{1, 32}, {9, 32}, {15, 32}, {1, 60}, {9, 60}, {9, 313}, {15, 313}, {150, 313}};
    for (const Of of : {Of::lower_halves, Of::bytes}) {
        for (const auto& [k, groups] : shapes) {
            const WholeNumbers w(3, 10007, 48, groups, 3, of);
            const std::vector<std::int64_t> self{-1, 7 * 70 % w.n, -1};
            const Closed closed = close(w, k, 0.5f, gpu::fit, self, most);
            const gpu::ValuePilots pilots(k, groups);
            for (std::int64_t i = 0; i < w.q; ++i) {
                const auto at = static_cast<std::size_t>(i);
                const auto group_of = [&](std::int64_t p) {
                    return static_cast<std::size_t>(p / gpu::value_step % w.groups);
                };
                std::vector<std::uint32_t> lowers(static_cast<std::size_t>(groups), Order::nan);
                for (std::int64_t p = 0; p < w.n; ++p) lowers[group_of(p)] = std::min(lowers[group_of(p)], w.key(i, p));
                // Of each group the largest upper value of those with its least.
                std::vector<float> uppers, of_groups(lowers.size(), -std::numeric_limits<float>::infinity());
                for (std::int64_t p = 0; p < w.n; ++p) {
                    uppers.push_back(w.upper(i, p));
                    float& worst = of_groups[group_of(p)];
                    if (w.key(i, p) == lowers[group_of(p)]) worst = std::max(worst, uppers.back());
                }
                // Those that the warps take, where some tie the worst.
                std::vector<float> taken;
                for (std::int64_t warp = 0; warp < 32; ++warp) {
                    std::vector<std::pair<std::uint32_t, float>> held;
                    for (std::size_t g = 0; g < lowers.size(); ++g)
                        if (static_cast<std::int64_t>(g) % 1024 / 32 == warp)
                            held.emplace_back(lowers[g], -of_groups[g]);
                    std::sort(held.begin(), held.end());
                    for (std::size_t j = 0; j < held.size() && static_cast<int>(j) < pilots.of_warp; ++j)
                        taken.push_back(-held[j].second);
                }
                ASSERT_GE(taken.size(), static_cast<std::size_t>(k)) << w.label();
                std::sort(uppers.begin(), uppers.end());
                std::sort(taken.begin(), taken.end());
                const auto last = static_cast<std::size_t>(k - 1);
                const float threshold = closed.threshold[at];
                ASSERT_GE(threshold, uppers[last] + 1) << w.label() << ", k " << k;
                ASSERT_LE(threshold, taken[std::min(last + last / 16, taken.size() - 1)] + 1) << w.label() << ", " << k;
                ASSERT_TRUE(std::binary_search(uppers.begin(), uppers.end(), threshold - 1));
                std::set<std::uint32_t> want;
                for (std::int64_t p = 0; p < w.n; ++p) {
                    const auto row = static_cast<std::int64_t>(gpu::row_at(strided(), p, w.n));
                    if (w.key(i, p) <= w.limit(threshold) && row != self[at])
                        want.insert(static_cast<std::uint32_t>(row));
                }
                ASSERT_LE(want.size(), static_cast<std::size_t>(most)) << w.label();
                ASSERT_EQ(want.size(), closed.counted[at]) << w.label() << ", k " << k;
                ASSERT_EQ(gpu::certified, closed.status[at]);
                const auto first = closed.ids.begin() + i * most;
                ASSERT_EQ(want, (std::set<std::uint32_t>(first, first + closed.counts[at]))) << w.label();
            }
        }
    }
}

// More that tie than there is room for: no certificate, and a threshold that is certain.
TEST(GpuValues, GiveUpWhereTooManyTie) {
    for (const Of of : {Of::halves, Of::lower_halves, Of::bytes}) {
        const WholeNumbers w(2, 3001, 16, 90, 0, of);
        const Closed full = close(w, 5, 0.25f, gpu::fit);
        const Closed scanned = close(w, 5, -std::numeric_limits<float>::infinity(), gpu::to_scan);
        const Closed none = close(w, 5, -std::numeric_limits<float>::infinity(), gpu::no_neighbours);
        const Closed alike = close(w, 5, 0, gpu::all_alike);
        for (std::size_t i = 0; i < 2; ++i) {
            EXPECT_EQ(gpu::no_certificate, full.counted[i]) << w.label();
            EXPECT_EQ(gpu::uncertain, full.status[i]);
            EXPECT_EQ(0, full.counts[i]);
            EXPECT_EQ(40.5f, full.threshold[i]);
            EXPECT_EQ(gpu::no_certificate, scanned.counted[i]);
            EXPECT_EQ(std::numeric_limits<float>::infinity(), scanned.threshold[i]);
            EXPECT_EQ(0u, none.counted[i]);
            EXPECT_EQ(gpu::certified, none.status[i]);
            EXPECT_LE(5u, alike.counted[i]);
            EXPECT_GE(static_cast<unsigned long long>(room), alike.counted[i]);
            EXPECT_EQ(gpu::certified, alike.status[i]);
        }
    }
}

// Every metric of products on every data set, q 1 to 4: the bits of the scan.
TEST(GpuValues, SearchesGiveTheBitsOfTheScan) {
    const std::int64_t dimensions[] = {9, 16, 33, 100, 257};
    std::uint64_t turn = 0;
    for (const char* metric : {"sqeuclidean", "cosine", "inner_product", "correlation", "hellinger", "kl_divergence",
                               "seuclidean", "mahalanobis"}) {
        for (const std::string& data : adversarial::names()) {
            ++turn;
            const search_cases::Size size{turn % 3 == 0 ? 1900 : 1001, static_cast<std::int64_t>(turn % 4) + 1,
                                          dimensions[turn % 5], turn % 2 ? 10 : 16};
            const ElementType type = turn % 7 == 0 ? ElementType::f64 : ElementType::f32;
            const Variant variant = variants(metric, size.d, type).front();
            const auto c = search_cases::make_case(variant, data, size, type, type, arrays::Shape{}, turn);
            const auto scan = search_cases::answer("cpu", c, {"exact", "", 0, false}, true);
            ASSERT_TRUE(scan) << c.label;
            for (const char* path : {"gemm-f16", "projected", "gemm-i8"}) {
                if (path == std::string("gemm-i8") && filter_values::instruction_sets().size() < 2) continue;
                if (path != std::string("gemm-f16") && metric == std::string("kl_divergence")) continue;
                const kith::Options options = search_cases::options_of("cuda", variant, {path, "", 0, false}, true);
                const kith::Plan plan = kith::plan({size.n, size.q, size.d, size.k, type, false}, options);
                ASSERT_EQ(size.q, plan.matrix_queries) << c.label << ": " << plan.why;
                const auto got = search_cases::answer("cuda", c, {path, "", 0, false}, true);
                ASSERT_TRUE(got) << c.label;
                ASSERT_TRUE(same_answer(*scan, *got)) << c.label << ", path " << path;
            }
        }
    }
}

// Points enough for every group, neighbours by the hundred, an Index, both types of distances.
TEST(GpuValues, ManyPoints) {
    constexpr std::int64_t n = 70001, d = 40, q = 3;
    const auto set = adversarial::make("gaussian", n, q, d, 3, false);
    const auto points = arrays::make(set.points, n, d, ElementType::f32),
               queries = arrays::make(set.queries, q, d, ElementType::f32);
    kith::Options on_cpu, on_gpu;
    on_cpu.device = "cpu";
    on_gpu.device = "cuda";
    const kith::Index cpu(points.view, on_cpu), gpu_index(points.view, on_gpu);
    for (const std::int64_t k : {1, 100, 900}) {
        for (const bool f64 : {false, true}) {
            on_cpu.f64 = on_gpu.f64 = f64;
            const auto want = cpu.search(queries.view, k, on_cpu), got = gpu_index.search(queries.view, k, on_gpu);
            ASSERT_TRUE(same_answer(want, got)) << "k " << k;
            EXPECT_EQ(q, got.report.certified);
            EXPECT_LT(got.report.candidates, static_cast<double>(3 * q * k + 100 * q)) << "k " << k;
        }
    }
}

// The paths of what an Index on this device may have in place of all coordinates.
std::vector<std::string> coarse_paths() {
    if (filter_values::instruction_sets().size() < 2) return {"projected"};
    return {"projected", "gemm-i8"};
}

// Every group has points, and every warp of the closing kernel groups; of more neighbours than pilots serve, passes.
TEST(GpuValues, ManyPointsAlongDirectionsAndInBytes) {
    constexpr std::int64_t n = 70001, d = 256, most = 4;
    const spectrum::Spectrum points(n, spectrum::falling(d, 0.7), 1), queries(most, spectrum::falling(d, 0.7), 2);
    kith::Options on_cpu, on_gpu;
    on_cpu.device = "cpu";
    on_gpu.device = "cuda";
    const kith::Index cpu(points.view(), on_cpu);
    for (const std::string& path : coarse_paths()) {
        on_gpu.path = path;
        const kith::Index index(points.view(), on_gpu);
        for (std::int64_t q = 1; q <= most; ++q) {
            kith::MatrixView some = queries.view();
            some.rows = q;
            for (const std::int64_t k : {1, 10, 100, 300, 513}) {
                const auto want = cpu.search(some, k, on_cpu), got = index.search(some, k, on_gpu);
                ASSERT_TRUE(same_answer(want, got)) << path << ", q " << q << ", k " << k;
                EXPECT_EQ(path, got.report.path) << "q " << q << ", k " << k;
                EXPECT_EQ(0, got.report.scanned) << path << ", q " << q << ", k " << k;
            }
        }
    }
}

// Points that lower bounds hold badly, one coordinate far out or infinite, have the least of these, and their upper
// values say nothing of the others: values of all coordinates follow.
TEST(GpuValues, FarPointsTakeThePilots) {
    constexpr std::int64_t n = 70001, d = 128, q = 3, k = 10;
    for (const float far : {1000.0f, std::numeric_limits<float>::infinity()}) {
        spectrum::Spectrum points(n, spectrum::falling(d, 0), 1);
        const spectrum::Spectrum queries(q, spectrum::falling(d, 0), 2);
        for (std::int64_t i = 0; i < n; i += 700) points.rows[static_cast<std::size_t>(i * d + i % d)] = far;
        kith::Options options;
        options.device = "cpu";
        const auto want = kith::search(points.view(), queries.view(), k, options);
        options.device = "cuda";
        for (const std::string& path : coarse_paths()) {
            options.path = path;
            const kith::Index index(points.view(), options);
            for (int turn = 0; turn < 3; ++turn) {
                const auto got = index.search(queries.view(), k, options);
                ASSERT_TRUE(same_answer(want, got)) << path << ", " << far;
                EXPECT_EQ(0, got.report.scanned) << path << ", " << far;
            }
        }
    }
}

// More equal points than a list of a value pass has room for, and fewer than a retry's has.
TEST(GpuValues, TooManyTiesAreRetried) {
    constexpr std::int64_t n = 8000, d = 24, q = 3, k = 12;
    const auto set = adversarial::make("all_equal", n, q, d, 5, false);
    const auto points = arrays::make(set.points, n, d, ElementType::f32),
               queries = arrays::make(set.queries, q, d, ElementType::f32);
    kith::Options options;
    options.device = "cuda";
    options.path = "gemm-f16";
    const auto got = kith::search(points.view, queries.view, k, options);
    EXPECT_EQ(q, got.report.retried);
    options.path = "exact";
    const auto want = kith::search(points.view, queries.view, k, options);
    EXPECT_TRUE(same_answer(want, got));
}

}  // namespace
