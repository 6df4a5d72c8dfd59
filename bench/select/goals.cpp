// The goals of selection: 2^30 values, as shares of the rate at which the same run reads them.
//
// Best known: the authors' own H100 figures of Hanak's `bits` (github.com/jiriklepl/bits-knn-jpdc2024), in G/s.
#include <fmt/format.h>

#include <algorithm>

#include "select/table.h"

namespace kith::bench {

namespace {

constexpr std::int64_t values = std::int64_t{1} << 30, quick_values = std::int64_t{1} << 26;

std::vector<Series> series_of(const std::vector<std::string>& selectors) {
    std::vector<Series> all{{.label = "planner's choice", .selector = ""}};
    for (const std::string& name : selectors) all.push_back({.label = name, .selector = name});
    return all;
}

// k 32, 128, 512, 2048.
std::string best_known(int log_n) {
    switch (log_n) {
        case 18:
            return "authors 477 / 466 / 428 / 206 G/s";
        case 20:
            return "authors 480 / 472 / 458 / 360 G/s";
        case 24:
            return "authors 356 / 352 / 323 / 306 G/s";
        default:
            return "";
    }
}

}  // namespace

Table goals_table(const std::vector<std::string>& selectors) {
    const std::vector<std::string> small =
        selectors.empty() ? std::vector<std::string>{"bits", "threshold"} : selectors;
    std::vector<std::string> large = selectors;
    if (selectors.empty())
        large = {"sample-select-1", "radix-select", "radix-sort-segmented", "radix-sort-streams", "sampled-buckets"};
    Table t{"goals", "Selection near the memory limit", "2^30 f32 values"};
    t.shows = Shows::throughput;
    t.read_rate = true;
    for (const int log_n : {15, 17, 18, 20, 22, 24, 27}) {
        const bool few_rows = log_n >= 24;
        Panel panel{.title = fmt::format("n 2^{}", log_n), .at = {32, 128, 512, 2048}};
        panel.n = std::int64_t{1} << log_n;
        panel.q = log_n == 27 ? 1 : values >> log_n;
        panel.quick_q = std::max<std::int64_t>(1, quick_values >> log_n);
        panel.quick = log_n != 17 && log_n != 18 && log_n != 22;
        panel.goals = {few_rows ? 0.85 : 0.9, few_rows ? 0.85 : 0.9, 0.85, few_rows ? no_figure : 0.75};
        panel.series = series_of(small);
        for (Series& s : panel.series)
            if (s.label == "bits") s.said = best_known(log_n);
        t.panels.push_back(panel);
    }
    Panel shares{.title = "n 2^20, sorted; goal: ratio 2", .axis = Axis::share};
    shares.at = {1, 10, 30};
    shares.n = 1 << 20;
    shares.q = values >> 20;
    shares.quick_q = quick_values >> 20;
    shares.series = series_of(large);
    std::string baselines;
    for (const char* const name : {"sample-select-1", "radix-select", "radix-sort-segmented", "radix-sort-streams"})
        baselines += (baselines.empty() ? "" : " ") + std::string(name);
    shares.series.push_back({.label = "best of select and sort", .selector = baselines});
    shares.series[0].against = "best of select and sort";
    t.panels.push_back(shares);
    for (const int k : {32, 512}) {
        Panel by_order{.title = fmt::format("n 2^20, k {}", k), .axis = Axis::order};
        for (int order = 0; order <= static_cast<int>(Order::infinite); ++order) by_order.at.push_back(order);
        by_order.n = 1 << 20;
        by_order.q = values >> 20;
        by_order.quick_q = quick_values >> 20;
        by_order.k = k;
        by_order.goals = {no_figure, 0.6, 0.6, 0.6, 0.6, 0.6};
        by_order.series = series_of(small);
        by_order.series.push_back({.label = "planner's choice, told the order", .told = true});
        t.panels.push_back(by_order);
    }
    return t;
}

}  // namespace kith::bench
