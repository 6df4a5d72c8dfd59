// Recommendations on one GPU and shared by several: those of the CPU, bit for bit, with items held out, of all users at
// once and in blocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "gpu/backend.h"
#include "kith/kith.h"
#include "kith/recommend.h"
#include "papers/plan.h"

namespace {

using namespace kith;

struct Ratings {
    std::int64_t users = 0, items = 0;
    std::vector<std::int64_t> offsets{0}, ids;
    std::vector<double> cells;

    SparseView view() const { return {users, items, offsets.data(), ids.data(), cells.data()}; }
};

// One to five stars for some of the items, those of a taste above all. Every 16th user is the one before it again, so
// that distances tie; one has rated nothing, one a single item.
Ratings ratings(std::int64_t users, std::int64_t items, unsigned seed) {
    std::mt19937 random(seed);
    constexpr unsigned tastes = 5;
    Ratings out;
    out.users = users;
    out.items = items;
    std::vector<double> row(static_cast<std::size_t>(items));
    for (std::int64_t u = 0; u < users; ++u) {
        if (u % 16 != 15) {
            std::fill(row.begin(), row.end(), 0.0);
            const auto first = static_cast<std::size_t>(random() % tastes);
            for (std::size_t i = 0; i < row.size(); ++i)
                if (random() % (i % tastes == first ? 4 : 20) == 0) row[i] = 1 + random() % 5;
            if (u == 3 || u == 4) std::fill(row.begin(), row.end(), 0.0);
            if (u == 4) row[7] = 2;
        }
        for (std::int64_t i = 0; i < items; ++i) {
            const double value = row[static_cast<std::size_t>(i)];
            if (value == 0) continue;
            out.ids.push_back(i);
            out.cells.push_back(value);
        }
        out.offsets.push_back(static_cast<std::int64_t>(out.ids.size()));
    }
    return out;
}

std::vector<std::string> devices() {
    std::vector<std::string> out{"cuda:0"};
    if (gpu::device_count() > 1) out.emplace_back("cuda:all");
    return out;
}

std::string difference(const Recommendations& want, const Recommendations& got) {
    if (want.items != got.items) return "other items";
    if (want.predictions != got.predictions) return "other predictions";
    if (want.held_out != got.held_out || want.judged != got.judged) return "others held out";
    return want.hit_rate == got.hit_rate && want.popular_hit_rate == got.popular_hit_rate ? "" : "other hit rates";
}

RecommendOptions held_out(MetricId metric, PreferenceForm form) {
    RecommendOptions options;
    options.search.metric = metric;
    options.form = form;
    options.hold_out = true;
    options.seed = 3;
    return options;
}

Recommendations on(const std::string& device, const Ratings& of, std::int64_t k, RecommendOptions options) {
    options.search.device = device;
    Recommendations out = recommend(of.view(), k, 10, options);
    const std::string& by = out.report.device;
    EXPECT_EQ(device == "cpu", by.find("cpu") != std::string::npos) << device << " was asked for, not " << by;
    // Where rows are dealt beforehand; blocks go to whichever device is free.
    if (device == "cuda:all" && options.search.path == "kato") {
        EXPECT_NE(std::string::npos, by.find("cuda:1")) << by;
    }
    return out;
}

struct Form {
    MetricId metric;
    PreferenceForm form;
};
const Form forms[] = {
    {MetricId::hellinger, PreferenceForm::shares},     {MetricId::cosine, PreferenceForm::as_given},
    {MetricId::correlation, PreferenceForm::as_given}, {MetricId::braycurtis, PreferenceForm::shares},
    {MetricId::sqeuclidean, PreferenceForm::as_given},
};

TEST(GpuRecommend, IsThatOfTheCpu) {
    const Ratings all = ratings(3000, 200, 1);
    for (const Form& form : forms) {
        const RecommendOptions options = held_out(form.metric, form.form);
        const Recommendations want = on("cpu", all, 40, options);
        EXPECT_LT(2900, want.judged);
        EXPECT_LT(0, want.hit_rate);
        for (const std::string& device : devices()) {
            for (const char* path : {"", "exact", "kato"}) {
                if (kith::papers::is_path(path) && !kith::papers::built()) continue;
                RecommendOptions by_path = options;
                by_path.search.path = path;
                EXPECT_EQ("", difference(want, on(device, all, 40, by_path)))
                    << name(form.metric) << ", " << device << ", path '" << path << "'";
            }
        }
    }
}

// A budget, of the devices as well, that holds the vectors of some of the users; and blocks that are asked for.
TEST(GpuRecommend, InBlocksOfUsers) {
    const Ratings all = ratings(8000, 256, 2);
    for (const Form& form : forms) {
        RecommendOptions options = held_out(form.metric, form.form);
        const Recommendations want = on("cpu", all, 20, options);
        EXPECT_EQ(8000, want.report.queries);
        for (const std::string& device : devices()) {
            RecommendOptions in_blocks = options;
            in_blocks.search.memory = std::int64_t{8} << 20;
            const Recommendations little = on(device, all, 20, in_blocks);
            EXPECT_GT(little.report.queries, 8000) << "once of each block of points";
            EXPECT_EQ("", difference(want, little)) << name(form.metric) << ", " << device << ", little memory";
            in_blocks.search.memory = 0;
            in_blocks.users_at_once = 3500;
            EXPECT_EQ("", difference(want, on(device, all, 20, in_blocks)))
                << name(form.metric) << ", " << device << ", 3,500 users at once";
        }
    }
}

// So many that devices take several blocks of queries each.
TEST(GpuRecommend, OfManyUsers) {
    const Ratings all = ratings(40000, 64, 4);
    const RecommendOptions options = held_out(MetricId::hellinger, PreferenceForm::shares);
    const Recommendations want = on("cpu", all, 100, options);
    for (const std::string& device : devices())
        EXPECT_EQ("", difference(want, on(device, all, 100, options))) << device;
}

}  // namespace
