// The use of the enclosure a - E <= w <= a + 2 F + E (docs/proofs/filter.md, lemma 2) on the GPU: the kernels that make
// thresholds, lists and certificates, given values at the ends of what it permits, and searches that hang by one term
// of it.
#include <cuda_fp16.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "adversarial.h"
#include "bound_opposites.h"
#include "filter_values.h"
#include "gpu/filter/levels.h"
#include "gpu/filter/lists/candidate_lists.h"
#include "gpu/filter/pass.h"
#include "gpu/runtime/memory/device_memory.h"
#include "gpu_arrays.h"
#include "kith/kith.h"

namespace {

using namespace kith;
using filter_values::instruction_sets;
using gpu::Candidate;
using gpu::CandidateLists;

constexpr float infinity = std::numeric_limits<float>::infinity();

float below(long double x) {
    auto f = static_cast<float>(x);
    return f > x ? std::nextafter(f, -infinity) : f;
}
float above(long double x) {
    return -below(-x);
}

template <class T>
class OnDevice {
public:
    explicit OnDevice(const std::vector<T>& values) : buffer_(static_cast<std::int64_t>(values.size()), nullptr) {
        gpu_arrays::check(cudaMemcpy(buffer_.get(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    }
    T* get() const { return buffer_.get(); }
    std::vector<T> host() const {
        std::vector<T> out(static_cast<std::size_t>(buffer_.size()));
        gpu_arrays::check(cudaMemcpy(out.data(), buffer_.get(), out.size() * sizeof(T), cudaMemcpyDeviceToHost));
        return out;
    }

private:
    gpu::Buffer<T> buffer_;
};

// One query's list as the host sees it, before or after a kernel.
struct List {
    std::vector<Candidate> entries;  // of the capacity
    std::int32_t count = 0;
    float threshold = infinity, e = 0;
    std::uint8_t overflowed = 0;
    std::vector<unsigned> lengths = {};
    float ceiling = infinity, farthest = std::numeric_limits<float>::max();

    std::vector<std::uint32_t> points() const {
        std::vector<std::uint32_t> out;
        for (std::int32_t i = 0; i < count; ++i) out.push_back(entries[static_cast<std::size_t>(i)].point);
        std::sort(out.begin(), out.end());
        return out;
    }
    // What it should have held, or a little more; 0: it did not overflow, or no list would do.
    int needed() const {
        for (int c = 0; c < gpu::length_classes; ++c)
            if (lengths[static_cast<std::size_t>(gpu::length_classes + c)]) return gpu::longest_of_class(c);
        return 0;
    }
};

// What a close says of it.
struct Closed {
    std::uint8_t status = 0xff;
    float threshold = 0;
    std::vector<std::uint32_t> candidates;
    unsigned long long totals[2] = {};
};

// Calls f with the list and the points' F on the device, and reads it back.
template <class F>
List with_lists(const List& in, const std::vector<float>& f, F call) {
    const OnDevice<Candidate> candidates(in.entries);
    const OnDevice<std::int32_t> counts({in.count});
    const OnDevice<float> threshold({in.threshold}), e({in.e}), errors(f);
    const OnDevice<std::uint8_t> overflowed({in.overflowed});
    const OnDevice<unsigned> lengths(std::vector<unsigned>(2 * gpu::length_classes));
    call(CandidateLists{1, static_cast<std::int64_t>(in.entries.size()), candidates.get(), counts.get(),
                        threshold.get(), overflowed.get(), e.get(), errors.get(), lengths.get(), 1, in.ceiling,
                        in.farthest});
    gpu_arrays::check(cudaDeviceSynchronize());
    return {candidates.host(),    counts.host()[0], threshold.host()[0], in.e,
            overflowed.host()[0], lengths.host(),   in.ceiling,          in.farthest};
}

List started(const std::vector<float>& values, const std::vector<float>& f, float e, std::int64_t order,
             std::int64_t capacity, float ceiling = infinity) {
    List list;
    list.entries.resize(static_cast<std::size_t>(capacity));
    list.e = e;
    list.ceiling = ceiling;
    std::vector<float> padded = values;
    padded.resize(static_cast<std::size_t>(gpu::whole_tiles(static_cast<std::int64_t>(values.size()))), infinity);
    const OnDevice<float> all(padded);
    return with_lists(list, f, [&](const CandidateLists& lists) {
        gpu::start_lists(lists, all.get(), static_cast<std::int64_t>(padded.size()),
                         static_cast<std::int64_t>(values.size()), order, nullptr);
    });
}

List tightened(const List& list, const std::vector<float>& f, std::int64_t order) {
    return with_lists(list, f, [&](const CandidateLists& lists) { gpu::tighten_lists(lists, order, nullptr); });
}

Closed closed(const List& list, const std::vector<float>& f, std::int64_t k, std::int64_t self = -1,
              gpu::Fitness fitness = gpu::fit, std::vector<std::uint8_t> nan = {}) {
    Closed out;
    const OnDevice<std::int64_t> selves({self});
    nan.resize(f.size());
    const OnDevice<std::uint8_t> unfit({fitness}), nans(nan), status({0xff});
    const OnDevice<std::uint32_t> ids(std::vector<std::uint32_t>(list.entries.size(), 0xffffffffu));
    const OnDevice<unsigned long long> totals({0, 0});
    const List after = with_lists(list, f, [&](const CandidateLists& lists) {
        gpu::FilterForm form;  // a position is its row
        gpu::close_lists(lists, form,
                         {.k = k,
                          .n = static_cast<std::int64_t>(f.size()),
                          .self = self >= 0 ? selves.get() : nullptr,
                          .unfit = unfit.get(),
                          .nan = nans.get(),
                          .ids = ids.get(),
                          .status = status.get(),
                          .totals = totals.get()},
                         nullptr);
    });
    out.status = status.host()[0];
    out.threshold = after.threshold;
    out.candidates = ids.host();
    out.candidates.resize(static_cast<std::size_t>(after.count));
    std::sort(out.candidates.begin(), out.candidates.end());
    std::copy_n(totals.host().begin(), 2, out.totals);
    return out;
}

// A witness with w at its upper end, a + 2 F + E, and a neighbour at its lower, a - E.
struct Pair {
    std::vector<float> a, f;
    float e;
};
Pair pair_at_the_ends(adversarial::Random& random) {
    Pair p;
    p.e = static_cast<float>(std::ldexp(1 + random.uniform(), static_cast<int>(random.below(20)) - 20));
    const auto a = static_cast<float>(random.gaussian()), f = static_cast<float>(random.uniform() * 0.1);
    const long double w = static_cast<long double>(a) + 2 * static_cast<long double>(f) + p.e;
    p.a = {a, below(w + p.e)};
    p.f = {f, 0.5f};
    return p;
}

List list_of(const Pair& p, std::int64_t capacity = 64) {
    List list;
    list.e = p.e;
    for (std::size_t i = 0; i < p.a.size(); ++i) list.entries.push_back({p.a[i], static_cast<std::uint32_t>(i)});
    list.count = static_cast<std::int32_t>(p.a.size());
    list.entries.resize(static_cast<std::size_t>(capacity));
    return list;
}

using Points = std::vector<std::uint32_t>;

TEST(GpuBoundLists, LimitsPayTheErrorOfBothSides) {
    adversarial::Random random(1);
    for (int repeat = 0; repeat < 100; ++repeat) {
        const Pair p = pair_at_the_ends(random);
        ASSERT_EQ((Points{0, 1}), started(p.a, p.f, p.e, 1, 64).points()) << "start " << repeat;
        ASSERT_EQ((Points{0, 1}), tightened(list_of(p), p.f, 1).points()) << "tighten " << repeat;
        const Closed c = closed(list_of(p), p.f, 1);
        ASSERT_EQ(gpu::certified, c.status) << repeat;
        ASSERT_EQ((Points{0, 1}), c.candidates) << "close " << repeat;
        ASSERT_EQ(2u, c.totals[0]);
    }
}

// Sums that f32 would round to nearest downwards: they are rounded upwards.
TEST(GpuBoundLists, LimitsAreRoundedUpwards) {
    const float a = -1 - 0x1p-23f, f = 0x1p-24f + 0x1.fcp-27f, e = 0.5f - 0x1p-11f;
    ASSERT_EQ(-1.0f, a + 2 * f);
    const Pair p{{a, below(static_cast<long double>(a) + 2 * static_cast<long double>(f) + 2 * e)}, {f, 0.25f}, e};
    EXPECT_EQ((Points{0, 1}), started(p.a, p.f, p.e, 1, 64).points());
    EXPECT_EQ((Points{0, 1}), tightened(list_of(p), p.f, 1).points());
    EXPECT_EQ((Points{0, 1}), closed(list_of(p), p.f, 1).candidates);
    // And with 2 E that does not fit beside the value.
    const Pair q{{1, above(1 + 0x1p-25L)}, {0, 0}, 0x1p-26f};
    EXPECT_GE(tightened(list_of(q), q.f, 1).threshold, q.a[1]);
}

// What equals a threshold is within it, and a threshold is of the r-th value, not of one before.
TEST(GpuBoundLists, LimitsAreOfTheirRank) {
    for (const std::int64_t order : {1, 2, 16, 40}) {
        std::vector<float> values, f(64, 0.0f);
        for (int i = 0; i < 64; ++i) values.push_back(static_cast<float>(i * 37 % 64));
        const auto within = [&](const List& list) {
            ASSERT_GE(list.threshold, static_cast<float>(order - 1)) << "order " << order;
            std::int64_t expected = 0;
            for (const float v : values) expected += v <= list.threshold;
            ASSERT_EQ(expected, list.count) << "order " << order;
        };
        within(started(values, f, 0, order, 64));
        within(tightened(list_of({values, f, 0}), f, order));
        const Closed c = closed(list_of({values, f, 0}), f, order);
        ASSERT_EQ(gpu::certified, c.status);
        ASSERT_GE(static_cast<std::int64_t>(c.candidates.size()), order);
    }
}

// A point that the bound does not cover passes, and its value is no witness.
TEST(GpuBoundLists, UncoveredPointsAreNoWitnesses) {
    const Pair p{{-infinity, 5, 7}, {infinity, 0, 0}, 0};
    const List list = started(p.a, p.f, p.e, 1, 64);
    EXPECT_EQ((Points{0, 1}), list.points());
    EXPECT_EQ(5.0f, list.threshold);
    EXPECT_EQ((Points{0, 1}), closed(list_of(p), p.f, 1).candidates);
    const Pair alone{{-infinity}, {infinity}, 0};
    EXPECT_EQ((Points{0}), closed(list_of(alone), alone.f, 1).candidates);
}

// A list that has all values of finite keys, fewer than k of them, ends with the first rows; one that a lower threshold
// has cut does not, and says what threshold would do.
TEST(GpuBoundLists, FewerThanKFiniteKeysEndWithTheFirstRows) {
    List list;
    list.e = 1;
    list.ceiling = 50;
    list.farthest = 100;
    list.entries = {{3, 90}, {7, 5}, {60, 200}};  // the last one's key may be infinite
    list.count = 3;
    list.entries.resize(64);
    const std::vector<float> f(256, 0.0f);
    list.threshold = 102;
    Closed c = closed(list, f, 4);
    EXPECT_EQ(gpu::certified, c.status);
    EXPECT_EQ(1, std::count(c.candidates.begin(), c.candidates.end(), 5u));
    for (const std::uint32_t row : {0u, 1u, 2u, 3u, 90u, 200u})
        EXPECT_EQ(1, std::count(c.candidates.begin(), c.candidates.end(), row)) << row;
    // Three would do, of which one may be infinite.
    c = closed(list, f, 3);
    EXPECT_EQ(1, std::count(c.candidates.begin(), c.candidates.end(), 0u));
    list.threshold = 100.5f;
    c = closed(list, f, 4);
    EXPECT_EQ(gpu::uncertain, c.status);
    EXPECT_GE(c.threshold, 101);
    EXPECT_LT(c.threshold, 110);
    list.threshold = 102;
    list.overflowed = 1;
    EXPECT_EQ(gpu::uncertain, closed(list, f, 4).status);
}

// From the ceiling on a key may be infinite: such a pair is no witness, but a candidate of every query that has too
// few.
TEST(GpuBoundLists, FromTheCeilingOnNoPairIsAWitness) {
    const float most = std::numeric_limits<float>::max();
    const Pair p{{3, 5, 7}, {0, 0.5f, 0}, 0};  // upper values 3, 6, 7
    EXPECT_EQ(3.0f, started(p.a, p.f, p.e, 1, 64, 6).threshold);
    EXPECT_EQ(6.0f, started(p.a, p.f, p.e, 2, 64, above(6.0001L)).threshold);
    const List list = started(p.a, p.f, p.e, 2, 64, 6);
    EXPECT_EQ(most, list.threshold);
    EXPECT_EQ((Points{0, 1, 2}), list.points());
    List all = list_of(p);
    all.ceiling = 6;
    EXPECT_EQ(most, tightened(all, p.f, 2).threshold);
    EXPECT_EQ((Points{0}), closed(all, p.f, 1).candidates);
    EXPECT_EQ((Points{0, 1, 2}), closed(all, p.f, 2).candidates);
    all.threshold = 8;
    EXPECT_EQ(gpu::uncertain, closed(all, p.f, 2).status);
}

// The certificate: k entries, nothing overflowed, and T within the threshold that was kept.
TEST(GpuBoundLists, CertificateNeedsAllThree) {
    const Pair p{{1, 2, 3}, {0, 0, 0}, 0.25f};
    List list = list_of(p);
    EXPECT_EQ(gpu::certified, closed(list, p.f, 3).status);
    Closed c = closed(list, p.f, 4);
    EXPECT_EQ(gpu::uncertain, c.status) << "three entries for four";
    EXPECT_EQ(infinity, c.threshold);
    EXPECT_TRUE(c.candidates.empty());
    EXPECT_EQ(1u, c.totals[1]);

    list.threshold = 3.5f;
    EXPECT_EQ(gpu::certified, closed(list, p.f, 3).status) << "T is the threshold";
    list.threshold = 3.25f;
    c = closed(list, p.f, 3);
    EXPECT_EQ(gpu::uncertain, c.status) << "T is beyond the threshold";
    EXPECT_EQ(3.5f, c.threshold) << "T is certain, by the list alone";
    EXPECT_EQ(gpu::certified, closed(list, p.f, 2).status);

    list.threshold = infinity;
    list.overflowed = 1;
    c = closed(list, p.f, 3);
    EXPECT_EQ(gpu::uncertain, c.status) << "something was overflowed";
    EXPECT_EQ(3.5f, c.threshold);
    list.overflowed = 0;
    list.count = static_cast<std::int32_t>(list.entries.size()) + 1;
    for (std::size_t i = 3; i < list.entries.size(); ++i) list.entries[i] = {50, 0};
    EXPECT_EQ(gpu::uncertain, closed(list, p.f, 3).status) << "the list overflowed";
    list.count = 3;
    c = closed(list, p.f, 3, -1, gpu::to_scan);
    EXPECT_EQ(gpu::uncertain, c.status) << "the query cannot be filtered";
    EXPECT_EQ(infinity, c.threshold);
}

// A query with a NaN is certified with nothing; one that is as far from every point with the first of them, if they are
// enough without those of a NaN.
TEST(GpuBoundLists, QueriesThatNeedNoList) {
    const Pair p{{1, 2, 3, 4, 5, 6}, std::vector<float>(6, 0.0f), 0};
    const List list = list_of(p, 4);
    Closed c = closed(list, p.f, 2, -1, gpu::no_neighbours);
    EXPECT_EQ(gpu::certified, c.status);
    EXPECT_TRUE(c.candidates.empty());
    c = closed(list, p.f, 3, 2, gpu::all_alike, {0, 1});
    EXPECT_EQ(gpu::certified, c.status) << "itself among them";
    EXPECT_EQ((Points{0, 1, 3}), c.candidates);
    EXPECT_EQ(gpu::uncertain, closed(list, p.f, 4, -1, gpu::all_alike, {0, 1}).status);
    EXPECT_EQ(gpu::certified, closed(list_of(p), p.f, 6, -1, gpu::all_alike, {0, 1}).status) << "there are no more";
}

// What did not fit is overflowed for good, whatever a lower threshold leaves.
TEST(GpuBoundLists, OverflowIsRemembered) {
    std::vector<float> values(300), f(300, 0.0f);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 10);
    const List started_list = started(values, f, 0, 70, 64);
    EXPECT_EQ(1, started_list.overflowed);
    const auto within = std::ranges::count_if(values, [&](float v) { return v <= started_list.threshold; });
    EXPECT_LE(within, started_list.needed());
    EXPECT_GE(within * 5 / 4, started_list.needed());
    EXPECT_EQ(64, started_list.count);
    List list = list_of({{1, 2, 3}, {0, 0, 0}, 0});
    list.count = static_cast<std::int32_t>(list.entries.size()) + 1;
    for (std::size_t i = 3; i < list.entries.size(); ++i) list.entries[i] = {9, 0};
    const List after = tightened(list, {0, 0, 0}, 1);
    EXPECT_EQ(1, after.overflowed);
    EXPECT_LE(65, after.needed());
    EXPECT_GE(65 * 5 / 4, after.needed());
    EXPECT_EQ(1, after.count);
    EXPECT_EQ(gpu::uncertain, closed(after, {0, 0, 0}, 1).status);
    list.count = static_cast<std::int32_t>(gpu::max_candidates) + 1;
    EXPECT_EQ(0, tightened(list, {0, 0, 0}, 1).needed()) << "no list would hold it";
}

// What lists hold goes to longer ones, of those that overflowed what there was room for.
TEST(GpuBoundLists, LongerLists) {
    constexpr std::int64_t capacity = 70, longer = 100;
    const std::vector<std::int32_t> counts{0, 1, 33, 70, 200};
    const auto q = std::ssize(counts);
    std::vector<gpu::Candidate> entries, none(static_cast<std::size_t>(q * longer));
    for (std::int64_t i = 0; i < q * capacity; ++i)
        entries.push_back({static_cast<float>(i), static_cast<std::uint32_t>(i + 1)});
    const OnDevice<gpu::Candidate> from(entries), to(none);
    const OnDevice<std::int32_t> counted(counts);
    CandidateLists lists;
    lists.q = q;
    lists.capacity = capacity;
    lists.candidates = from.get();
    lists.counts = counted.get();
    gpu::copy_lists(lists, to.get(), longer, nullptr);
    gpu_arrays::check(cudaDeviceSynchronize());
    const std::vector<gpu::Candidate> got = to.host();
    for (std::int64_t i = 0; i < q; ++i)
        for (std::int64_t j = 0; j < longer; ++j) {
            const bool held = j < std::min<std::int64_t>(counts[static_cast<std::size_t>(i)], capacity);
            const gpu::Candidate want = held ? entries[static_cast<std::size_t>(i * capacity + j)] : gpu::Candidate{};
            const gpu::Candidate& seen = got[static_cast<std::size_t>(i * longer + j)];
            EXPECT_EQ(want.a, seen.a) << i << ", " << j;
            EXPECT_EQ(want.point, seen.point) << i << ", " << j;
        }
}

// A few long lists do not lengthen all.
TEST(GpuBoundLists, LengthsOfMost) {
    for (const int length : {0, 1, 2, 3, 5, 64, 100, 1000, 16384}) {
        std::vector<unsigned> lengths(2 * gpu::length_classes);
        int c = 0;
        while (gpu::longest_of_class(c) < length) ++c;
        lengths[static_cast<std::size_t>(c)] = 5;
        lengths[static_cast<std::size_t>(gpu::length_classes - 1)] = 2;
        lengths[static_cast<std::size_t>(gpu::length_classes + c)] = 3;
        const OnDevice<unsigned> there(lengths);
        const OnDevice<unsigned long long> out({7, 7, 7, 7});
        CandidateLists lists;
        lists.lengths = there.get();
        gpu::most_lengths(lists, 2, out.get(), nullptr);
        gpu_arrays::check(cudaDeviceSynchronize());
        const int longest = gpu::longest_of_class(c);
        EXPECT_LE(length, longest);
        EXPECT_GE(std::max(1, length * 5 / 4), longest);
        EXPECT_EQ(static_cast<unsigned long long>(longest), out.host()[0]) << length;
        EXPECT_EQ(static_cast<unsigned long long>(longest), out.host()[1]) << length;
        EXPECT_EQ(static_cast<unsigned long long>(gpu::longest_of_class(gpu::length_classes - 1)), out.host()[2]);
        EXPECT_EQ(static_cast<unsigned long long>(longest), out.host()[3]) << length;
        gpu::most_lengths(lists, 7, out.get(), nullptr);
        gpu_arrays::check(cudaDeviceSynchronize());
        EXPECT_EQ(0u, out.host()[0]);
    }
}

TEST(GpuBoundLists, ALimitNeverRises) {
    List list = list_of({{1, 2, 3}, {0, 0, 0}, 0});
    list.threshold = 2;
    const List after = tightened(list, {0, 0, 0}, 3);
    EXPECT_EQ(2.0f, after.threshold);
    EXPECT_EQ((Points{0, 1}), after.points());
}

TEST(GpuBoundLists, TheSelfIsNoCandidate) {
    const Pair p{{1, 2, 3}, {0, 0, 0}, 0};
    EXPECT_EQ((Points{0, 2}), closed(list_of(p), p.f, 3, 1).candidates);
}

// The largest value up to `most` that passes, where all below one that passes do.
template <class Passes>
float largest(float most, Passes passes) {
    if (passes(most)) return most;
    // By their numbers: floats in order, those of one sign like whole numbers.
    const auto number = [](float value) {
        const auto bits = std::bit_cast<std::int32_t>(value);
        return bits < 0 ? std::int64_t{std::numeric_limits<std::int32_t>::min()} - bits : std::int64_t{bits};
    };
    const auto value = [](std::int64_t at) {
        return std::bit_cast<float>(
            static_cast<std::int32_t>(at < 0 ? std::int64_t{std::numeric_limits<std::int32_t>::min()} - at : at));
    };
    std::int64_t low = number(-std::numeric_limits<float>::max()), high = number(most);
    while (high - low > 1) {
        const std::int64_t middle = low + (high - low) / 2;
        (passes(value(middle)) ? low : high) = middle;
    }
    return value(low);
}

// Of a symmetric pass: every pair within its column's threshold passes, roundings included, and padding never does.
TEST(GpuBoundLists, ColumnLimitsLoseNothing) {
    adversarial::Random random(3);
    constexpr std::int64_t n = 300;
    std::vector<float> threshold, h;
    for (std::int64_t i = 0; i < n; ++i) {
        threshold.push_back(
            static_cast<float>(random.gaussian() * std::ldexp(1.0, static_cast<int>(random.below(20)) - 10)));
        h.push_back(static_cast<float>(500 + random.gaussian() * 100));
    }
    std::vector<float> padded = h;
    padded.resize(gpu::whole_tiles(n), infinity);
    const OnDevice<float> thresholds(threshold), halves(padded), out(std::vector<float>(padded.size(), 0.0f));
    gpu::column_thresholds(thresholds.get(), halves.get(), n, out.get(), nullptr);
    gpu_arrays::check(cudaDeviceSynchronize());
    const std::vector<float> found = out.host();
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (i >= n) {
            ASSERT_TRUE(std::isnan(found[i])) << i;
            continue;
        }
        for (std::size_t row = 0; row < n; ++row) {
            // The largest a of that row that is within the column's threshold, as f32 exchanges it.
            const float a = largest(above(static_cast<long double>(threshold[i]) + h[i] - h[row] + 0x1p-10L),
                                    [&](float value) { return value - h[i] + h[row] <= threshold[i]; });
            const float point_threshold = above(-static_cast<long double>(h[row]) + std::abs(h[row]) * 0x1p-22L);
            ASSERT_LE(a - found[i], point_threshold) << i << " " << row;
        }
    }
}

// What a pass keeps is all that is at most the threshold: here the threshold is one of the values.
TEST(GpuBoundLists, AValueAtTheLimitPasses) {
    constexpr std::int64_t n = gpu::filter_tile_points, q = 8, width = 64;
    adversarial::Random random(4);
    const auto halves = [&](std::int64_t rows) {
        std::vector<__half> out;
        for (std::int64_t i = 0; i < rows * width; ++i)
            out.push_back(__float2half(static_cast<float>(random.gaussian())));
        return out;
    };
    std::vector<float> h;
    for (std::int64_t i = 0; i < n; ++i) h.push_back(static_cast<float>(30 + random.gaussian()));
    const OnDevice<__half> queries(halves(q)), points(halves(n));
    const OnDevice<float> start(h), all(std::vector<float>(q * n, 0.0f));
    gpu::FilterPass pass;
    pass.queries = queries.get();
    pass.points = points.get();
    pass.half_norm = start.get();
    pass.q = q;
    pass.n = pass.count = n;
    pass.width = width;
    for (const gpu::FilterIsa isa : instruction_sets()) {
        gpu::FilterPass dense = pass;
        dense.all = all.get();
        dense.ld = n;
        gpu::sweep(dense, isa, nullptr);
        gpu_arrays::check(cudaDeviceSynchronize());
        const std::vector<float> values = all.host();
        std::vector<float> threshold;
        for (std::int64_t i = 0; i < q; ++i) threshold.push_back(values[static_cast<std::size_t>(i * n + 37 * i)]);
        const OnDevice<float> thresholds(threshold);
        const OnDevice<Candidate> candidates(std::vector<Candidate>(q * n));
        const OnDevice<std::int32_t> counts(std::vector<std::int32_t>(q, 0));
        gpu::FilterPass sparse = pass;
        sparse.threshold = thresholds.get();
        sparse.candidates = candidates.get();
        sparse.counts = counts.get();
        sparse.capacity = n;
        gpu::sweep(sparse, isa, nullptr);
        gpu_arrays::check(cudaDeviceSynchronize());
        const std::vector<Candidate> found = candidates.host();
        for (std::int64_t i = 0; i < q; ++i) {
            std::vector<std::uint32_t> want, got;
            for (std::int64_t p = 0; p < n; ++p)
                if (values[static_cast<std::size_t>(i * n + p)] <= threshold[static_cast<std::size_t>(i)])
                    want.push_back(static_cast<std::uint32_t>(p));
            for (std::int32_t s = 0; s < counts.host()[static_cast<std::size_t>(i)]; ++s)
                got.push_back(found[static_cast<std::size_t>(i * n + s)].point);
            std::sort(got.begin(), got.end());
            ASSERT_EQ(want, got) << "query " << i << (isa == gpu::FilterIsa::sm_80 ? ", sm_80" : ", sm_90a");
        }
    }
}

// More pass than a list has room for: they are counted, and nothing is written behind the list.
TEST(GpuBoundLists, AFullListIsWrittenToItsEnd) {
    constexpr std::int64_t n = gpu::filter_tile_points, q = 8, width = 64, capacity = 40;
    const OnDevice<__half> queries(std::vector<__half>(q * width, __float2half(1.0f)));
    const OnDevice<__half> points(std::vector<__half>(n * width, __float2half(1.0f)));
    const OnDevice<float> start(std::vector<float>(n, 0.0f)), limits(std::vector<float>(q, 0.0f));
    gpu::FilterPass pass;
    pass.queries = queries.get();
    pass.points = points.get();
    pass.half_norm = start.get();
    pass.q = q;
    pass.n = pass.count = n;
    pass.width = width;
    pass.threshold = limits.get();
    pass.capacity = capacity;
    constexpr std::uint32_t poison = 0x5a5a5a5a;
    for (const gpu::FilterIsa isa : instruction_sets()) {
        // Room for a list more, which belongs to nobody.
        const OnDevice<Candidate> candidates(std::vector<Candidate>((q + 1) * capacity, Candidate{0, poison}));
        const OnDevice<std::int32_t> counts(std::vector<std::int32_t>(q, 0));
        pass.candidates = candidates.get();
        pass.counts = counts.get();
        gpu::sweep(pass, isa, nullptr);
        gpu_arrays::check(cudaDeviceSynchronize());
        const std::vector<Candidate> found = candidates.host();
        EXPECT_EQ(std::vector<std::int32_t>(q, n), counts.host());
        for (std::int64_t i = 0; i < q; ++i) {
            std::vector<bool> seen(n, false);
            for (std::int64_t j = 0; j < capacity; ++j) {
                const Candidate& s = found[static_cast<std::size_t>(i * capacity + j)];
                ASSERT_GT(n, s.point) << "query " << i << ", entry " << j;
                ASSERT_FALSE(seen[s.point]) << "query " << i << ", point " << s.point;
                seen[s.point] = true;
            }
        }
        for (std::int64_t j = 0; j < capacity; ++j)
            ASSERT_EQ(poison, found[static_cast<std::size_t>(q * capacity + j)].point) << "entry " << j;
    }
}

// ---------------------------------------------------------------- whole searches

std::int64_t nearest(const bound_opposites::Opposites& data, MetricId metric, const char* isa) {
    const std::vector<double> points = bound_opposites::points(data);
    const auto d = static_cast<std::int64_t>(data.query.size());
    Options options;
    options.device = "cuda";
    options.metric = metric;
    options.path = "gemm-f16";
    options.isa = isa;
    return search(view(points.data(), 2, d), view(data.query.data(), 1, d), 1, options).ids[0];
}

constexpr int fp16_bits = 11;

TEST(GpuBoundSearch, SquaresNeedTheErrorTwice) {
    for (const char* isa : {"", "sm_80"})
        EXPECT_EQ(1, nearest(bound_opposites::squares(fp16_bits), MetricId::sqeuclidean, isa)) << isa;
}

TEST(GpuBoundSearch, UnitQueriesNeedTheErrorTwice) {
    for (const char* isa : {"", "sm_80"})
        for (const MetricId metric : {MetricId::cosine, MetricId::inner_product})
            EXPECT_EQ(1, nearest(bound_opposites::units(fp16_bits), metric, isa)) << isa << ", " << name(metric);
}

// Short lists are a warp's, longer ones a block's.
TEST(GpuBoundLists, OfEveryLength) {
    for (const int length : {1, 31, 32, 33, 200, 255, 256, 257, 258, 511, 512, 513, 1000, 1024}) {
        List list;
        list.count = length;
        std::vector<float> values;
        for (int i = 0; i < 1024; ++i) {
            // Numbers 0 .. length - 1 in another order, one after the other.
            const int value = i < length ? static_cast<int>((static_cast<std::int64_t>(i) * 617 + 5) % length) : -1;
            list.entries.push_back({static_cast<float>(value), static_cast<std::uint32_t>(i)});
        }
        // 617 is prime and divides none of the lengths: all values are there.
        const std::vector<float> f(1024, 0.0f);
        for (const int order : {1, 10, 100, length}) {
            if (order > length) continue;
            const List after = tightened(list, f, order);
            ASSERT_GE(after.threshold, static_cast<float>(order - 1)) << length << ", " << order;
            std::vector<std::uint32_t> within;
            for (int i = 0; i < length; ++i)
                if (list.entries[static_cast<std::size_t>(i)].a <= after.threshold)
                    within.push_back(static_cast<std::uint32_t>(i));
            ASSERT_EQ(within, after.points()) << length << ", " << order;
            ASSERT_LE(after.count, order + order / 16 + 1) << length << ", " << order;
            const Closed done = closed(list, f, order);
            ASSERT_EQ(gpu::certified, done.status) << length << ", " << order;
            for (const Candidate& entry : list.entries)
                if (entry.a >= 0 && entry.a < static_cast<float>(order)) {
                    ASSERT_TRUE(std::ranges::binary_search(done.candidates, entry.point)) << length << ", " << order;
                }
        }
    }
}

// So many pairs that points behind the samples come in ranges: the bits of tiles that are too small for these, and a
// certificate each time.
TEST(GpuBoundLists, RangesBehindTheSamples) {
    constexpr std::int64_t n = 1 << 20, q = 4096, d = 16;
    std::vector<float> values(static_cast<std::size_t>((n + q) * d));
    std::uint64_t state = 1;
    for (float& x : values) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        x = static_cast<float>(state >> 40) * 0x1p-24f + static_cast<float>(state >> 20 & 0xfffff) * 0x1p-20f;
    }
    const auto rows = [&](std::int64_t first, std::int64_t count) {
        MatrixView v;
        v.data = values.data() + first * d;
        v.rows = count;
        v.cols = v.stride = d;
        return v;
    };
    Options options;
    options.device = "cuda";
    options.path = "gemm-f16";
    const Index index(rows(0, n), options);
    for (const std::int64_t k : {1, 10, 100, 700}) {
        const Neighbors all = index.search(rows(n, q), k, options);
        EXPECT_EQ(q, all.report.certified) << k;
        for (std::int64_t first = 0; first < q; first += q / 4) {
            const Neighbors some = index.search(rows(n + first, q / 4), k, options);
            ASSERT_TRUE(std::equal(some.ids.begin(), some.ids.end(), all.ids.begin() + first * k)) << k;
        }
    }
}

}  // namespace
