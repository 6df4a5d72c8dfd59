// The use of the enclosure a - E <= w <= a + 2 F + E (docs/exactness.md, section 4) on the GPU: the kernels that make
// limits, lists and certificates, given values at the ends of what it permits, and searches that hang by one term of
// it.
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "adversarial.h"
#include "bound_opposites.h"
#include "gpu/filter/levels.h"
#include "gpu/filter/lists.h"
#include "gpu/filter/pass.h"
#include "gpu/workspace.h"
#include "gpu_arrays.h"
#include "kith/kith.h"

namespace {

using namespace kith;
using gpu::FilterLists;
using gpu::Survivor;

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
    std::vector<Survivor> entries;  // of the capacity
    std::int32_t count = 0;
    float limit = infinity, e = 0;
    std::uint8_t lost = 0;
    unsigned long long longest = 0;

    std::vector<std::uint32_t> points() const {
        std::vector<std::uint32_t> out;
        for (std::int32_t i = 0; i < count; ++i) out.push_back(entries[static_cast<std::size_t>(i)].point);
        std::sort(out.begin(), out.end());
        return out;
    }
};

// What a close says of it.
struct Closed {
    std::uint8_t status = 0xff;
    float limit = 0;
    std::vector<std::uint32_t> candidates;
    unsigned long long totals[2] = {};
};

// Calls f with the list and the points' F on the device, and reads it back.
template <class F>
List with_lists(const List& in, const std::vector<float>& f, F call) {
    const OnDevice<Survivor> survivors(in.entries);
    const OnDevice<std::int32_t> counts({in.count});
    const OnDevice<float> limit({in.limit}), e({in.e}), errors(f);
    const OnDevice<std::uint8_t> lost({in.lost});
    const OnDevice<unsigned long long> longest({0});
    call(FilterLists{1, static_cast<std::int64_t>(in.entries.size()), survivors.get(), counts.get(), limit.get(),
                     lost.get(), e.get(), errors.get(), longest.get()});
    gpu_arrays::check(cudaDeviceSynchronize());
    return {survivors.host(), counts.host()[0], limit.host()[0], in.e, lost.host()[0], longest.host()[0]};
}

List started(const std::vector<float>& values, const std::vector<float>& f, float e, std::int64_t rank,
             std::int64_t capacity) {
    List list;
    list.entries.resize(static_cast<std::size_t>(capacity));
    list.e = e;
    std::vector<float> padded = values;
    padded.resize(static_cast<std::size_t>(gpu::whole_tiles(static_cast<std::int64_t>(values.size()))), infinity);
    const OnDevice<float> all(padded);
    return with_lists(list, f, [&](const FilterLists& lists) {
        gpu::start_lists(lists, all.get(), static_cast<std::int64_t>(padded.size()),
                         static_cast<std::int64_t>(values.size()), rank, nullptr);
    });
}

List tightened(const List& list, const std::vector<float>& f, std::int64_t rank) {
    return with_lists(list, f, [&](const FilterLists& lists) { gpu::tighten_lists(lists, rank, nullptr); });
}

Closed closed(const List& list, const std::vector<float>& f, std::int64_t k, std::int64_t self = -1,
              bool unfit = false) {
    Closed out;
    const OnDevice<std::int64_t> selves({self});
    const OnDevice<std::uint8_t> unfits({static_cast<std::uint8_t>(unfit)}), status({0xff});
    const OnDevice<std::uint32_t> ids(std::vector<std::uint32_t>(list.entries.size(), 0xffffffffu));
    const OnDevice<unsigned long long> totals({0, 0});
    const List after = with_lists(list, f, [&](const FilterLists& lists) {
        gpu::FilterForm form;  // a position is its row
        gpu::close_lists(lists, form,
                         {k, static_cast<std::int64_t>(f.size()), self >= 0 ? selves.get() : nullptr, unfits.get(),
                          ids.get(), status.get(), totals.get()},
                         nullptr);
    });
    out.status = status.host()[0];
    out.limit = after.limit;
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
    EXPECT_GE(tightened(list_of(q), q.f, 1).limit, q.a[1]);
}

// What equals a limit is within it, and a limit is of the r-th value, not of one before.
TEST(GpuBoundLists, LimitsAreOfTheirRank) {
    for (const std::int64_t rank : {1, 2, 16, 40}) {
        std::vector<float> values, f(64, 0.0f);
        for (int i = 0; i < 64; ++i) values.push_back(static_cast<float>(i * 37 % 64));
        const auto within = [&](const List& list) {
            ASSERT_GE(list.limit, static_cast<float>(rank - 1)) << "rank " << rank;
            std::int64_t expected = 0;
            for (const float v : values) expected += v <= list.limit;
            ASSERT_EQ(expected, list.count) << "rank " << rank;
        };
        within(started(values, f, 0, rank, 64));
        within(tightened(list_of({values, f, 0}), f, rank));
        const Closed c = closed(list_of({values, f, 0}), f, rank);
        ASSERT_EQ(gpu::certified, c.status);
        ASSERT_GE(static_cast<std::int64_t>(c.candidates.size()), rank);
    }
}

// A point that the bound does not cover passes, and its value is no witness.
TEST(GpuBoundLists, UncoveredPointsAreNoWitnesses) {
    const Pair p{{-infinity, 5, 7}, {infinity, 0, 0}, 0};
    const List list = started(p.a, p.f, p.e, 1, 64);
    EXPECT_EQ((Points{0, 1}), list.points());
    EXPECT_EQ(5.0f, list.limit);
    EXPECT_EQ((Points{0, 1}), closed(list_of(p), p.f, 1).candidates);
    const Pair alone{{-infinity}, {infinity}, 0};
    EXPECT_EQ((Points{0}), closed(list_of(alone), alone.f, 1).candidates);
}

// The certificate: k entries, nothing lost, and T within the limit that was kept.
TEST(GpuBoundLists, CertificateNeedsAllThree) {
    const Pair p{{1, 2, 3}, {0, 0, 0}, 0.25f};
    List list = list_of(p);
    EXPECT_EQ(gpu::certified, closed(list, p.f, 3).status);
    Closed c = closed(list, p.f, 4);
    EXPECT_EQ(gpu::uncertain, c.status) << "three entries for four";
    EXPECT_EQ(infinity, c.limit);
    EXPECT_TRUE(c.candidates.empty());
    EXPECT_EQ(1u, c.totals[1]);

    list.limit = 3.5f;
    EXPECT_EQ(gpu::certified, closed(list, p.f, 3).status) << "T is the limit";
    list.limit = 3.25f;
    c = closed(list, p.f, 3);
    EXPECT_EQ(gpu::uncertain, c.status) << "T is beyond the limit";
    EXPECT_EQ(3.5f, c.limit) << "T is certain, by the list alone";
    EXPECT_EQ(gpu::certified, closed(list, p.f, 2).status);

    list.limit = infinity;
    list.lost = 1;
    c = closed(list, p.f, 3);
    EXPECT_EQ(gpu::uncertain, c.status) << "something was lost";
    EXPECT_EQ(3.5f, c.limit);
    list.lost = 0;
    list.count = static_cast<std::int32_t>(list.entries.size()) + 1;
    for (std::size_t i = 3; i < list.entries.size(); ++i) list.entries[i] = {50, 0};
    EXPECT_EQ(gpu::uncertain, closed(list, p.f, 3).status) << "the list overflowed";
    list.count = 3;
    c = closed(list, p.f, 3, -1, true);
    EXPECT_EQ(gpu::uncertain, c.status) << "the query cannot be filtered";
    EXPECT_EQ(infinity, c.limit);
}

// What did not fit is lost for good, whatever a lower limit leaves.
TEST(GpuBoundLists, OverflowIsRemembered) {
    std::vector<float> values(300), f(300, 0.0f);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 10);
    const List started_list = started(values, f, 0, 70, 64);
    EXPECT_EQ(1, started_list.lost);
    EXPECT_EQ(64, started_list.count);
    List list = list_of({{1, 2, 3}, {0, 0, 0}, 0});
    list.count = static_cast<std::int32_t>(list.entries.size()) + 1;
    for (std::size_t i = 3; i < list.entries.size(); ++i) list.entries[i] = {9, 0};
    const List after = tightened(list, {0, 0, 0}, 1);
    EXPECT_EQ(1, after.lost);
    EXPECT_EQ(1, after.count);
    EXPECT_EQ(gpu::uncertain, closed(after, {0, 0, 0}, 1).status);
}

TEST(GpuBoundLists, ALimitNeverRises) {
    List list = list_of({{1, 2, 3}, {0, 0, 0}, 0});
    list.limit = 2;
    const List after = tightened(list, {0, 0, 0}, 3);
    EXPECT_EQ(2.0f, after.limit);
    EXPECT_EQ((Points{0, 1}), after.points());
}

TEST(GpuBoundLists, TheSelfIsNoCandidate) {
    const Pair p{{1, 2, 3}, {0, 0, 0}, 0};
    EXPECT_EQ((Points{0, 2}), closed(list_of(p), p.f, 3, 1).candidates);
}

// Of a symmetric pass: every pair within its column's limit passes, roundings included, and padding never does.
TEST(GpuBoundLists, ColumnLimitsLoseNothing) {
    adversarial::Random random(3);
    constexpr std::int64_t n = 300;
    std::vector<float> limit, h;
    for (std::int64_t i = 0; i < n; ++i) {
        limit.push_back(
            static_cast<float>(random.gaussian() * std::ldexp(1.0, static_cast<int>(random.below(20)) - 10)));
        h.push_back(static_cast<float>(500 + random.gaussian() * 100));
    }
    std::vector<float> padded = h;
    padded.resize(gpu::whole_tiles(n), infinity);
    const OnDevice<float> limits(limit), halves(padded), out(std::vector<float>(padded.size(), 0.0f));
    gpu::column_limits(limits.get(), halves.get(), n, out.get(), nullptr);
    gpu_arrays::check(cudaDeviceSynchronize());
    const std::vector<float> found = out.host();
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (i >= n) {
            ASSERT_TRUE(std::isnan(found[i])) << i;
            continue;
        }
        for (std::size_t row = 0; row < n; ++row) {
            // The largest a of that row that is within the column's limit, as f32 exchanges it.
            float a = above(static_cast<long double>(limit[i]) + h[i] - h[row] + 0x1p-10L);
            while (a - h[i] + h[row] > limit[i]) a = std::nextafter(a, -infinity);
            const float bar = above(-static_cast<long double>(h[row]) + std::abs(h[row]) * 0x1p-22L);
            ASSERT_LE(a - found[i], bar) << i << " " << row;
        }
    }
}

// What a pass keeps is all that is at most the limit: here the limit is one of the values.
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
    pass.h = start.get();
    pass.q = q;
    pass.n = pass.count = n;
    pass.width = width;
    std::vector<gpu::FilterIsa> instruction_sets{gpu::FilterIsa::sm_80};
    cudaDeviceProp device{};
    gpu_arrays::check(cudaGetDeviceProperties(&device, 0));
    if (device.major == 9 && device.minor == 0) instruction_sets.push_back(gpu::FilterIsa::sm_90a);
    for (const gpu::FilterIsa isa : instruction_sets) {
        gpu::FilterPass dense = pass;
        dense.all = all.get();
        dense.ld = n;
        gpu::filter_pass(dense, isa, nullptr);
        gpu_arrays::check(cudaDeviceSynchronize());
        const std::vector<float> values = all.host();
        std::vector<float> limit;
        for (std::int64_t i = 0; i < q; ++i) limit.push_back(values[static_cast<std::size_t>(i * n + 37 * i)]);
        const OnDevice<float> limits(limit);
        const OnDevice<Survivor> survivors(std::vector<Survivor>(q * n));
        const OnDevice<std::int32_t> counts(std::vector<std::int32_t>(q, 0));
        gpu::FilterPass sparse = pass;
        sparse.limit = limits.get();
        sparse.survivors = survivors.get();
        sparse.counts = counts.get();
        sparse.capacity = n;
        gpu::filter_pass(sparse, isa, nullptr);
        gpu_arrays::check(cudaDeviceSynchronize());
        const std::vector<Survivor> found = survivors.host();
        for (std::int64_t i = 0; i < q; ++i) {
            std::vector<std::uint32_t> want, got;
            for (std::int64_t p = 0; p < n; ++p)
                if (values[static_cast<std::size_t>(i * n + p)] <= limit[static_cast<std::size_t>(i)])
                    want.push_back(static_cast<std::uint32_t>(p));
            for (std::int32_t s = 0; s < counts.host()[static_cast<std::size_t>(i)]; ++s)
                got.push_back(found[static_cast<std::size_t>(i * n + s)].point);
            std::sort(got.begin(), got.end());
            ASSERT_EQ(want, got) << "query " << i << (isa == gpu::FilterIsa::sm_80 ? ", sm_80" : ", sm_90a");
        }
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

}  // namespace
