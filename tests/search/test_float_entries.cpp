// Every entry of the library, C++ and C, called in every floating-point state: the bits of the plain one, the caller's
// state as it was. Functions of the caller's run in the caller's state, its metrics in that of the definitions.
#include <atomic>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "api/check/validate.h"
#include "api/group/device_group.h"
#include "api/guard.h"
#include "api/run.h"
#include "arrays.h"
#include "exact/report/progress.h"
#include "float_states.h"
#include "kith/batches.h"
#include "kith/c.h"
#include "kith/cut.h"
#include "kith/distances.h"
#include "kith/estimators.h"
#include "kith/functor.h"
#include "kith/kith.h"
#include "kith/match.h"
#include "kith/memory.h"
#include "kith/plan.h"
#include "kith/radius.h"
#include "kith/recommend.h"
#include "kith/retrieval.h"
#include "kith/schedule.h"
#include "kith/shards.h"

namespace {

using namespace kith;

// The bytes of an answer.
class Bits {
public:
    template <class T>
    Bits& add(const std::vector<T>& values) {
        return add(values.data(), values.size() * sizeof(T));
    }
    Bits& add(const void* from, std::size_t count) {
        if (count > 0) bytes_.append(static_cast<const char*>(from), count);
        return *this;
    }
    Bits& add(double value) { return add(&value, sizeof value); }
    Bits& add(const std::string& text) { return add(text.data(), text.size()); }
    Bits& add(const Neighbors& r) { return add(r.ids).add(r.distances).add(r.distances64); }
    Bits& add(const RadiusNeighbors& r) { return add(r.offsets).add(r.ids).add(r.distances).add(r.distances64); }
    Bits& add(const RadiusRows& r) {
        const auto count = static_cast<std::size_t>(r.offsets[r.count]);
        if (r.distances) add(r.distances, count * sizeof(float));
        if (r.distances64) add(r.distances64, count * sizeof(double));
        return add(r.ids, count * sizeof(std::int64_t));
    }
    Bits& add(const PartialNeighbors& r) { return add(r.ids).add(r.keys); }
    Bits& add(const Estimate& e) { return add(e.value).add(&e.error, sizeof e.error); }
    std::string take() { return std::move(bytes_); }

private:
    std::string bytes_;
};

constexpr std::int64_t n = 70, q = 9, d = 4, k = 5;

// Numbers of some subnormal unit, and numbers that round.
struct Inputs {
    arrays::Array points, queries, samples, others, ragged, image, table;
    std::vector<double> radii = std::vector<double>(q, 0x1p-296);
    std::vector<std::int64_t> offsets{0}, items;
    std::vector<double> preferences;

    Inputs() {
        std::uint64_t random = 1;
        const auto draw = [&](std::int64_t rows, std::int64_t cols, double unit, ElementType type) {
            std::vector<double> values;
            for (std::int64_t i = 0; i < rows * cols; ++i) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                values.push_back(unit * static_cast<double>(random >> 40));
            }
            return arrays::make(values, rows, cols, type);
        };
        points = draw(n, d, 0x1p-149 * 0x1p-19, ElementType::f32);
        queries = draw(q, d, 0x1p-149 * 0x1p-19, ElementType::f32);
        samples = draw(n, 2, 0.1, ElementType::f64);
        others = draw(n, 2, 0.1, ElementType::f64);
        ragged = draw(n, 1, 0.1, ElementType::f64);
        image = draw(64, 64, 0x1p-20, ElementType::f32);
        table = draw(q, n, 0x1p-149 * 0x1p-19, ElementType::f32);
        for (std::int64_t user = 0; user < 20; ++user) {
            for (std::int64_t item = user % 3; item < 12; item += 1 + user % 4) {
                items.push_back(item);
                preferences.push_back(0.1 * static_cast<double>(1 + item + user));
            }
            offsets.push_back(static_cast<std::int64_t>(items.size()));
        }
    }
    SparseView of_users() const { return {20, 12, offsets.data(), items.data(), preferences.data()}; }
};

struct Entry {
    const char* name;
    std::function<std::string(const Inputs&, const Options&)> call;
};

kith_matrix c_matrix(const MatrixView& v) {
    return kith_view(v.data, v.rows, v.cols, static_cast<int32_t>(v.type));
}
kith_options c_options(const Options& o) {
    kith_options options;
    kith_options_init(&options, sizeof options);
    options.device = "cpu";
    options.threads = o.threads;
    options.f64 = 1;
    options.metric = KITH_METRIC_sqeuclidean;
    return options;
}

// For radii that are squares of distances between the points.
Options squared(Options options) {
    options.metric = metric_named("sqeuclidean");
    return options;
}

Options one_thread() {
    Options options;
    options.device = "cpu";
    options.threads = 1;
    options.f64 = true;
    return squared(options);
}

// As search() on two devices, which are the CPU.
Neighbors on_two_devices(const Inputs& in, const Options& o) {
    return api::guarded([&] {
        ProgressMeter progress(o.progress, static_cast<double>(n * q));
        const MetricSpec metric = api::validate_metric(o.metric, in.points.view, 1, progress);
        const Shape shape{n, q, d, k, ElementType::f32, false};
        const api::DeviceGroup group(in.points.view, metric, {"cpu", "cpu"}, shape, o, false, progress);
        return api::collect(q, k, o.f64,
                            [&](const NeighborsView& out) { return group.run(&in.queries.view, k, o, progress, out); });
    });
}

const Entry entries[] = {
    {"search", [](const Inputs& in,
                  const Options& o) { return Bits().add(search(in.points.view, in.queries.view, k, o)).take(); }},
    {"graph", [](const Inputs& in, const Options& o) { return Bits().add(graph(in.points.view, k, o)).take(); }},
    {"graph by kato",
     [](const Inputs& in, Options o) {
         o.path = "kato";
         return Bits().add(graph(in.points.view, k, o)).take();
     }},
    {"search on several devices",
     [](const Inputs& in, const Options& o) { return Bits().add(on_two_devices(in, o)).take(); }},
    {"select",
     [](const Inputs& in, Options o) {
         o.f64 = false;
         return Bits().add(select(in.table.view, k, o)).take();
     }},
    {"Index",
     [](const Inputs& in, const Options& given) {
         const Options o = squared(given);
         const Index index(in.points.view, o);
         Bits bits;
         bits.add(index.search(in.queries.view, k, o)).add(index.graph(k, o));
         bits.add(index.radius(in.queries.view, 0x1p-296, o)).add(index.radius_graph(0x1p-296, o));
         bits.add(index.radius_counts(in.queries.view, 0x1p-296, o).counts);
         index.radius_blocks(in.queries.view, 0x1p-296, o, [&](const RadiusRows& rows) { bits.add(rows); });
         return bits.take();
     }},
    {"distances",
     [](const Inputs& in, const Options& given) {
         const Options o = squared(given);
         Bits bits;
         bits.add(distances(in.points.view, in.queries.view, o).values64);
         distances_by_rows(in.points.view, in.queries.view, o, [&](std::int64_t, std::int64_t count, const void* rows) {
             bits.add(rows, static_cast<std::size_t>(count * n) * sizeof(double));
         });
         return bits.take();
     }},
    {"radius",
     [](const Inputs& in, const Options& given) {
         const Options o = squared(given);
         Radius each(0);
         each.each = view(in.radii.data(), q, 1);
         Bits bits;
         bits.add(radius(in.points.view, in.queries.view, each, o));
         bits.add(radius_counts(in.points.view, in.queries.view, 0x1p-296, o).counts);
         bits.add(radius_graph(in.points.view, 0x1p-296, o));
         bits.add(radius_graph_counts(in.points.view, 0x1p-296, o).counts);
         radius_graph_blocks(in.points.view, 0x1p-296, o, [&](const RadiusRows& rows) { bits.add(rows); });
         return bits.take();
     }},
    {"batches",
     [](const Inputs& in, const Options& o) {
         const std::vector<Batch> batches{{0, n / 2, 0, q / 2}, {n / 3, n / 2, q / 2, q - q / 2}};
         return Bits().add(search_batches(in.points.view, in.queries.view, batches, k, o)).take();
     }},
    {"match",
     [](const Inputs& in, const Options& o) {
         MatchOptions asked{0.9, true, o};
         asked.search.metric = metric_named("euclidean");
         const Matches found = match(in.samples.view, in.others.view, asked);
         return Bits().add(found.first).add(found.second).add(found.distances).take();
     }},
    {"shards",
     [](const Inputs& in, const Options& given) {
         const Options o = squared(given);
         const auto rows = [&](std::int64_t first, std::int64_t count) {
             return view(static_cast<const float*>(in.points.view.data) + first * d, count, d);
         };
         PartialNeighbors both = search_shard(rows(0, n / 2), 0, in.queries.view, k, o);
         merge(both, search_shard(rows(n / 2, n - n / 2), n / 2, in.queries.view, k, o));
         Bits bits;
         bits.add(both).add(finish(both, o)).add(graph_shard(rows(0, n / 2), 0, rows(3, q), 3, k, o));
         std::vector<std::int64_t> offsets, ids;
         std::vector<double> keys;
         radius_shard(rows(0, n), 0, in.queries.view, 0x1p-296, o, [&](const RadiusRows& all) {
             offsets.assign(all.offsets, all.offsets + all.count + 1);
             ids.assign(all.ids, all.ids + offsets.back());
             keys.assign(all.distances64, all.distances64 + offsets.back());
         });
         const std::vector<RadiusRows> one{{0, q, offsets.data(), ids.data(), nullptr, keys.data()}};
         return bits.add(merge_radius(one, d, o)).take();
     }},
    {"estimators",
     [](const Inputs& in, const Options& o) {
         const MatrixView x = in.samples.view, y = in.others.view, z = in.ragged.view;
         Bits bits;
         bits.add(entropy(x, k, o)).add(kl_divergence(x, y, k, DivergenceForm::nearest, o));
         bits.add(mutual_information(x, y, k, KraskovForm::first, o));
         bits.add(mutual_information(x, y, k, KraskovForm::second, o));
         bits.add(conditional_mutual_information(x, y, z, k, o)).add(transfer_entropy(x, y, k, 1, 2, o));
         return bits.add(inverse_covariance(x, o)).add(variances(x, o)).take();
     }},
    {"retrieval",
     [](const Inputs& in, const Options& o) {
         std::vector<std::vector<FeatureSet>> sets;
         for (std::uint64_t seed = 0; seed < 3; ++seed) sets.push_back(image_features(in.image.view, 1, seed));
         RetrievalOptions options;
         options.search = o;
         const Retrieved found = retrieve(views(sets), k, options);
         return Bits().add(found.divergences).add(found.order).add(precision_at(found, {0, 1, 0}, 2)).take();
     }},
    {"recommend",
     [](const Inputs& in, const Options& o) {
         RecommendOptions options;
         options.search = o;
         options.hold_out = true;
         const Recommendations found = recommend(in.of_users(), 3, 2, options);
         options.users_at_once = 7;
         const Recommendations blocks = recommend(in.of_users(), 3, 2, options);
         return Bits().add(found.items).add(found.predictions).add(found.hit_rate).add(blocks.predictions).take();
     }},
    {"plans",
     [](const Inputs&, const Options&) {
         const Shape shape{1'000'003, 7919, 97, 13, ElementType::f32, false};
         Bits bits;
         for (const char* machine : {"h100", "zen5"}) {
             const Plan made = plan_on(machine, shape, {});
             bits.add(explain(made)).add(prepared_bytes(shape, made));
             bits.add(measured_time(machine, shape, {}, made).seconds);
         }
         const std::vector<MeasuredRate> rates = {
             {.device = "cpu", .path = Path::exact, .metric = "canberra", .d = 3, .k = 7, .pairs_per_second = 1e9 / 3}};
         // Above the rates it says what memory is free now.
         const std::string text = calibration_text(rates, "2026-11-29");
         bits.add(text.substr(text.find("\"rates\"")));
         bits.add(calibration().file).add(devices_to_measure().front());
         bits.add(explain(plan_select(100, 10'000, 7, ElementType::f32, one_thread())));
         bits.add(
             graph_schedules({1'000'003, 1'000'003, 97, 13, ElementType::f32, true}, {}, "h100").front().device_bytes);
         const RowSizes sizes{.memory = std::int64_t{3} << 30, .cols = 97, .k = 13, .most_queries = 1'000'003};
         const RowCut cut = cut_by_memory(sizes, "a test");
         bits.add(held_bytes(sizes, 1003, 77, 1001)).add(&cut.queries, sizeof cut.queries);
         return bits.add(bytes_text(1234567)).take();
     }},
    {"kith_search and others",
     [](const Inputs& in, const Options& o) {
         const kith_options options = c_options(o);
         kith_options by_default = options;
         by_default.metric = KITH_METRIC_default;
         const kith_matrix points = c_matrix(in.points.view), queries = c_matrix(in.queries.view),
                           table = c_matrix(in.table.view), samples = c_matrix(in.samples.view),
                           others = c_matrix(in.others.view);
         std::vector<std::int64_t> ids(n * k);
         std::vector<double> values(n * n);
         const kith_neighbors out{ids.data(), values.data(), KITH_HOST};
         Bits bits;
         const auto took = [&](int code) {
             EXPECT_EQ(KITH_OK, code) << kith_last_error();
             bits.add(ids).add(values);
         };
         took(kith_search(&points, &queries, k, &options, &out, nullptr));
         took(kith_graph(&points, k, &options, &out, nullptr));
         took(kith_select(&table, k, &options, &out, nullptr));
         took(kith_distances(&points, &queries, &options, values.data(), n, KITH_HOST, nullptr));
         took(kith_radius_counts(&points, &queries, 0x1p-296, nullptr, 0, &options, ids.data(), nullptr));
         const auto take = [](const kith_radius_rows* rows, void* to) {
             static_cast<Bits*>(to)->add(rows->ids, static_cast<std::size_t>(rows->offsets[rows->count]) * 8);
             return 1;
         };
         took(kith_radius(&points, &queries, 0x1p-296, nullptr, 0, &options, take, &bits, nullptr));
         const kith_batch batch{0, n, 0, q};
         took(kith_search_batches(&points, &queries, &batch, 1, k, &options, &out, nullptr));
         std::vector<std::int64_t> second(n);
         std::int64_t count = 0;
         took(kith_match(&samples, &others, 0.9, 1, &by_default, ids.data(), second.data(), values.data(), &count,
                         nullptr));
         took(kith_inverse_covariance(&samples, values.data()));
         took(kith_variances(&samples, values.data()));
         kith_index* index = nullptr;
         took(kith_index_create(&points, &options, &index));
         took(kith_index_search(index, &queries, k, &options, &out, nullptr));
         took(kith_index_graph(index, k, &options, &out, nullptr));
         kith_index_free(index);
         kith_estimate estimate{};
         took(kith_entropy(&samples, k, &by_default, &estimate));
         bits.add(estimate.value);
         took(kith_kl_divergence(&samples, &others, k, 0, &by_default, &estimate));
         bits.add(estimate.value);
         took(kith_mutual_information(&samples, &others, k, 0, &by_default, &estimate));
         return bits.add(estimate.value).take();
     }},
};

class FloatEntries : public testing::TestWithParam<int> {};

TEST_P(FloatEntries, HaveTheBitsOfThePlainState) {
    const Inputs in;
    const Entry& entry = entries[GetParam()];
    Options options;
    options.device = "cpu";
    options.f64 = true;
    options.threads = 1;
    float_states::set_default();
    const std::string want = entry.call(in, options);
    EXPECT_FALSE(want.empty());
    for (const float_states::State& state : float_states::all)
        for (const int threads : {1, 2}) {
            options.threads = threads;
            EXPECT_TRUE(want == float_states::called_in(state, [&] { return entry.call(in, options); }))
                << entry.name << ", threads " << threads << ", " << state.name;
        }
}

INSTANTIATE_TEST_SUITE_P(Entry, FloatEntries, testing::Range(0, static_cast<int>(std::size(entries))));

// ---------------------------------------------------------------- functions of the caller's

int rounding() {
    return std::fegetround();
}

// They see the caller's state, what they change in it stays, and the rest of the search does not see that.
TEST(FloatCallbacks, AreCalledInTheCallersState) {
    const Inputs in;
    const int interval = ProgressMeter::milliseconds_between.exchange(0);
    float_states::set_default();
    const Neighbors want = search(in.points.view, in.queries.view, k, one_thread());
    const RadiusNeighbors near = radius(in.points.view, in.queries.view, 0x1p-296, one_thread());

    std::vector<int> seen;
    Options options = one_thread();
    options.progress = [&](const Progress&) {
        seen.push_back(rounding());
        std::fesetround(FE_DOWNWARD);
        return true;
    };
    std::fesetround(FE_UPWARD);
    const Neighbors got = search(in.points.view, in.queries.view, k, options);
    const int after = rounding();
    float_states::set_default();
    ASSERT_GT(seen.size(), 1u);
    EXPECT_EQ(FE_UPWARD, seen.front());
    EXPECT_EQ(FE_DOWNWARD, seen.back());
    EXPECT_EQ(FE_DOWNWARD, after);
    EXPECT_TRUE(want.ids == got.ids && want.distances64 == got.distances64);

    seen.clear();
    Bits bits;
    std::fesetround(FE_TOWARDZERO);
    radius_blocks(in.points.view, in.queries.view, 0x1p-296, one_thread(), [&](const RadiusRows& rows) {
        seen.push_back(rounding());
        std::fesetround(FE_UPWARD);
        // A call within: its own caller's state is this one.
        const Neighbors within = search(in.points.view, in.queries.view, k, one_thread());
        seen.push_back(rounding());
        bits.add(within.distances64).add(rows);
    });
    seen.push_back(rounding());
    float_states::set_default();
    ProgressMeter::milliseconds_between = interval;
    EXPECT_EQ((std::vector<int>{FE_TOWARDZERO, FE_UPWARD, FE_UPWARD}), seen);
    EXPECT_EQ(Bits().add(want.distances64).add(near.distances64).add(near.ids).take(), bits.take());
}

// Progress that the library counts itself, of parts, batches and devices, is handed on likewise.
TEST(FloatCallbacks, OfPartsAreCalledInTheCallersState) {
    const Inputs in;
    const int interval = ProgressMeter::milliseconds_between.exchange(0);
    std::vector<int> seen;
    Options options = one_thread();
    options.progress = [&](const Progress&) {
        seen.push_back(rounding());
        return true;
    };
    RetrievalOptions retrieval;
    retrieval.search = options;
    retrieval.search.metric = {};
    const std::vector<std::vector<MatrixView>> images{{in.samples.view}, {in.others.view}};
    const std::vector<std::function<void()>> calls{
        [&] { retrieve(images, k, retrieval); },
        [&] {
            search_batches(in.points.view, in.queries.view, {{0, n, 0, 3}, {0, n, 3, 3}}, k, options);
        },
        [&] { on_two_devices(in, options); },
    };
    for (const auto& call : calls) {
        seen.clear();
        const bool called = float_states::called_in(float_states::all[8], [&] {
            call();
            return true;
        });
        EXPECT_TRUE(called);
        EXPECT_FALSE(seen.empty());
        EXPECT_EQ(std::vector<int>(seen.size(), FE_UPWARD), seen);
    }
    ProgressMeter::milliseconds_between = interval;
}

// What a callback throws leaves the caller in the state that the callback left.
TEST(FloatCallbacks, ThatThrowLeaveTheirState) {
    const Inputs in;
    float_states::set_default();
    EXPECT_THROW(radius_blocks(in.points.view, in.queries.view, 0x1p-296, one_thread(),
                               [](const RadiusRows&) {
                                   std::fesetround(FE_DOWNWARD);
                                   throw std::string("no more");
                               }),
                 std::string);
    const int after = rounding();
    float_states::set_default();
    EXPECT_EQ(FE_DOWNWARD, after);
}

// A distance of the caller's own is computed as others are, on whatever thread.
TEST(FloatCallbacks, AreNotTheMetricsOfTheCaller) {
    const Inputs in;
    std::atomic<int> wrong{0};
    const auto step = [&](double a, double x, double y) {
        volatile double smallest = 0x1p-1074;
        wrong += rounding() != FE_TONEAREST || smallest + smallest == 0;
        return a + (x - y) * (x - y);
    };
    const FunctorMetric functor = functor_metric(step);
    Options options = one_thread();
    options.metric.id = MetricId::functor;
    options.metric.functor = &functor;
    for (const float_states::State& state : float_states::all)
        for (const int threads : {1, 2}) {
            options.threads = threads;
            float_states::called_in(state, [&] { return search(in.points.view, in.queries.view, k, options); });
        }
    EXPECT_EQ(0, wrong);
}

}  // namespace
