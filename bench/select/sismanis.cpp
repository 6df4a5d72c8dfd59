// Sismanis, Pitsianis, Sun 2012, "Parallel Search of k-Nearest Neighbors with Synchronous Operations": Table 1, Figs. 1
// and 2.
//
// Table 1 gives orders of growth; here they are held against counted operations: where the order is right, counted over
// formula is the same along a row. Fig. 1 (one query, n 2^10 to 2^20) has no table: the text names its ranges. Its sort
// is thrust::sort, a radix sort that the whole device shares; so is the one here.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "select/table.h"

namespace kith::bench {

namespace {

constexpr int comparisons = 0;  // slot of the truncated sorts; digits taken, for the radix sort

double n_times_k(double n, double k) {
    return n * k;
}
double n_log_k(double n, double k) {
    return n * std::log2(k);
}
double n_log_squared_k(double n, double k) {
    return n * std::log2(k) * std::log2(k);
}
// Digits of 8 bits of a 32-bit key.
double n_digits(double n, double) {
    return 4 * n;
}

struct Row {
    const char* selector;
    const char* formula;
    double (*growth)(double, double);
};
constexpr Row table_one[] = {
    {"truncated-bubble", "n k", n_times_k},
    {"truncated-merge", "n log k", n_log_k},
    {"truncated-insertion", "n k", n_times_k},
    {"truncated-heap", "n log k", n_log_k},
    {"truncated-quick", "n k", n_times_k},
    {"truncated-radix", "n log_r c", n_digits},
    {"truncated-radix-digits", "n log_r c", n_digits},
    {"truncated-bitonic", "n log^2 k", n_log_squared_k},
    {"truncated-bitonic-steps", "n log^2 k", n_log_squared_k},
};

Table operations() {
    Table t{"sismanis-1", "Comparisons of the truncated sorts (radix: digits taken), per row",
            "Sismanis et al. 2012, Table 1"};
    t.shows = Shows::operations;
    t.log_y = true;
    std::vector<Series> series;
    for (const Row& row : table_one)
        series.push_back({.label = row.selector,
                          .selector = row.selector,
                          .slot = comparisons,
                          .formula = row.formula,
                          .growth = row.growth});
    Panel by_k{.title = "by k, n 2^16",
               .at = {8, 16, 32, 64, 128, 256},
               .n = 1 << 16,
               .q = 1,
               .order = Order::distances,
               .series = series};
    by_k.quick_at = {8, 64};
    Panel by_n{.title = "by n, k 2^5", .axis = Axis::n, .q = 1, .k = 32, .order = Order::distances, .series = series};
    by_n.at = {1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20};
    by_n.quick_at = {1 << 12, 1 << 16};
    t.panels = {by_k, by_n};
    return t;
}

// The truncated sorts by time, each against the bitonic one: the paper's thesis is that this is the fastest.
std::vector<Series> all_sorts() {
    std::vector<Series> series;
    for (const Row& row : table_one) {
        series.push_back({.label = row.selector, .selector = row.selector});
        if (series.back().label != "truncated-bitonic") series.back().against = "truncated-bitonic";
    }
    // The baseline of the others comes first.
    std::ranges::stable_partition(series, [](const Series& s) { return s.against.empty(); });
    return series;
}

Table sorts() {
    Table t{"sismanis-sorts", "The truncated sorts against each other, as times of the bitonic one",
            "Sismanis et al. 2012, sections 2 and 3 (no figure: the bitonic sort is said to be the fastest)"};
    t.shows = Shows::seconds;
    t.times = t.log_y = true;
    for (const std::int64_t q : {1, 128}) {
        Panel by_n{.title = "q " + std::to_string(q) + ", k 32",
                   .axis = Axis::n,
                   .at = {1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20},
                   .q = q,
                   .k = 32,
                   .order = Order::distances,
                   .series = all_sorts(),
                   .quick_at = {1 << 10, 1 << 14}};
        Panel by_k{.title = "q " + std::to_string(q) + ", n 2^16",
                   .at = {8, 16, 32, 64, 128, 256},
                   .n = 1 << 16,
                   .q = q,
                   .order = Order::distances,
                   .series = all_sorts(),
                   .quick_at = {8, 64}};
        t.panels.push_back(by_n);
        t.panels.push_back(by_k);
    }
    return t;
}

constexpr const char* full_sort = "device-wide radix sort (CUB)";

Panel one_query(bool distances) {
    Panel panel{.title = distances ? "with the distances, d 128" : "without the distances", .axis = Axis::n, .q = 1};
    panel.order = Order::distances;
    for (int log_n = 10; log_n <= 20; ++log_n) panel.at.push_back(std::int64_t{1} << log_n);
    panel.quick_at = {1 << 10, 1 << 15, 1 << 20};
    panel.series.push_back({.label = full_sort, .selector = "radix-sort-streams", .and_distances = distances, .k = 8});
    for (const int k : {8, 16, 32, 64, 128, 256})
        panel.series.push_back({.label = "truncated bitonic, k " + std::to_string(k),
                                .selector = "truncated-bitonic",
                                .against = full_sort,
                                .said = distances ? "1.3 to 4" : "2 to 16",
                                .and_distances = distances,
                                .k = k});
    return panel;
}

// Fig. 2: what locates the k-th value and reads the row again, next to what sorts on the way.
Panel locating() {
    Panel panel{.title = "one query", .axis = Axis::n, .q = 1, .order = Order::distances};
    for (int log_n = 10; log_n <= 20; ++log_n) panel.at.push_back(std::int64_t{1} << log_n);
    panel.quick_at = {1 << 10, 1 << 15, 1 << 20};
    panel.series.push_back({.label = full_sort, .selector = "radix-sort-streams", .k = 8});
    for (const int k : {8, 32, 128, 256})
        for (const char* const name : {"truncated-bitonic", "radix-select"})
            panel.series.push_back({.label = std::string(name) + ", k " + std::to_string(k),
                                    .selector = name,
                                    .against = full_sort,
                                    .said = name[0] == 't' ? "up to 16, to n 2^17" : "at best 3",
                                    .k = k});
    return panel;
}

}  // namespace

std::vector<Table> sismanis_tables() {
    return {operations(),
            sorts(),
            {.name = "sismanis-fig1",
             .title = "Truncation during the sort against truncation after it, one query",
             .paper = "Sismanis et al. 2012, Fig. 1",
             .panels = {one_query(false), one_query(true)}},
            {.name = "sismanis-fig2",
             .title = "Truncated bitonic sort and radix select against a full sort, one query",
             .paper = "Sismanis et al. 2012, Fig. 2",
             .panels = {locating()}}};
}

}  // namespace kith::bench
