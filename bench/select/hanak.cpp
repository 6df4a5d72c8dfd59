// Hanak 2023, "Meeting the challenges of k-nearest neighbour search on GPUs": eq. 4.2 and 4.3, Fig. 5.2 to 5.7, 5.10,
// 5.11.
//
// Measured there on a Tesla V100, without tables: figures are those that the text names. Fig. 5.2 to 5.4 do not say
// their n and q; they stand here at n 2^18, q 2^10. Values are distances of uniform points, as there.
#include <fmt/format.h>

#include "gpu/select/selectors.h"
#include "select/buffered_inserts.h"
#include "select/table.h"

namespace kith::bench {

namespace {

constexpr std::int64_t values = std::int64_t{1} << 30, quick_values = std::int64_t{1} << 26;
const std::vector<std::int64_t> some_k{32, 64, 128, 256, 512, 1024, 2048}, fewer_k{32, 256, 2048};
const std::vector<std::int64_t> shares{1, 5, 10, 20, 30, 40, 50, 70, 90}, fewer_shares{1, 10, 30, 50};

Panel optimisations(std::vector<Series> series, Order order = Order::distances) {
    return {.title = std::string("n 2^18, ") + order_names[static_cast<int>(order)] + " values",
            .at = some_k,
            .n = 1 << 18,
            .q = 1 << 10,
            .order = order,
            .series = std::move(series),
            .quick_at = fewer_k,
            .quick_q = 1 << 8};
}

Table bitonic_sorts() {
    return {.name = "hanak-5.2",
            .title = "Speed-up of the partial bitonic sort over its version in shared memory",
            .paper = "Hanak 2023, Fig. 5.2",
            .panels = {optimisations({{.label = "bitonic-shared", .selector = "bitonic-shared"},
                                      {.label = "bitonic-shuffle",
                                       .selector = "bitonic-shuffle",
                                       .against = "bitonic-shared",
                                       .said = "helps for small k, less and less with growing k"},
                                      {.label = "bitonic-registers",
                                       .selector = "bitonic-registers",
                                       .against = "bitonic-shared",
                                       .said = "about 2 for every k"}})}};
}

Table buffering() {
    const auto series = [](const char* said) {
        return std::vector<Series>{{.label = "bitonic-registers", .selector = "bitonic-registers"},
                                   {.label = "bits", .selector = "bits", .against = "bitonic-registers", .said = said}};
    };
    return {.name = "hanak-5.3",
            .title = "Speed-up of buffering over the partial bitonic sort",
            .paper = "Hanak 2023, Fig. 5.3",
            .panels = {optimisations(series("improves significantly")),
                       optimisations(series("degenerates to the partial sort"), Order::descending)}};
}

Table reads() {
    const std::string one = "bits-reads1";
    std::vector<Series> series{{.label = one, .selector = one}};
    const auto add = [&](int count, const char* suffix, const char* said) {
        const std::string name = fmt::format("bits-reads{}{}", count, suffix);
        series.push_back({.label = name, .selector = name, .against = one, .said = said});
    };
    for (const int count : {2, 4, 8, 16}) add(count, "", "above 2 at best");
    for (const int count : {1, 2, 4, 8, 16}) add(count, "-prefetch", count > 1 ? "slightly more than without" : "");
    for (const int count : {4, 8, 16}) add(count, "-ahead", "(not in the paper)");
    return {.name = "hanak-5.4",
            .title = "Speed-up of several reads per thread, and of prefetching, over one read",
            .paper = "Hanak 2023, Fig. 5.4",
            .panels = {optimisations(series)}};
}

// No table of theirs: 5.3.1 names the block sizes that it found, 128 up to k 512 and 256 beyond.
Table block_sizes() {
    std::vector<Series> series{
        {.label = "256", .selector = "bits-block256", .said = "the faster beyond k 512"},
        {.label = "128", .selector = "bits-block128", .against = "256", .said = "the faster up to k 512"},
        {.label = "512", .selector = "bits-block512", .against = "256"}};
    return {.name = "hanak-blocks",
            .title = "bits by the threads of its blocks, beside 256",
            .paper = "Hanak 2023, 5.3.1",
            .panels = {optimisations(series)}};
}

// No table of theirs: 3.7.2 says what rescaling is for.
Table rescaling() {
    Table t{"hanak-rescaling", "Radix select on digits of the span of the keys, beside digits of the keys",
            "Hanak 2023, 3.7.2"};
    t.log_x = false;
    for (const Order order : {Order::distances, Order::uniform}) {
        for (const int log_n : {15, 20}) {
            Panel panel{.title = fmt::format("n 2^{}, {} values", log_n, order_names[static_cast<int>(order)]),
                        .axis = Axis::share,
                        .at = {1, 10, 30, 50},
                        .n = std::int64_t{1} << log_n,
                        .q = quick_values >> log_n,
                        .order = order};
            for (const bool sorted : {true, false}) {
                const char* const suffix = sorted ? "" : ", unsorted";
                const std::string base = std::string("radix-select") + suffix;
                panel.series.push_back({.label = base, .selector = "radix-select", .sorted = sorted});
                panel.series.push_back({.label = std::string("rescaled") + suffix,
                                        .selector = "radix-select-rescaled",
                                        .against = base,
                                        .said = order == Order::distances ? "fewer passes over all of the row" : "",
                                        .sorted = sorted});
            }
            t.panels.push_back(panel);
        }
    }
    return t;
}

Table thread_queues() {
    std::vector<Series> series;
    std::string all;
    for (const int length : {2, 3, 4, 6, 8, 10}) {
        const std::string name = fmt::format("warp-select-t{}", length);
        series.push_back({.label = name, .selector = name});
        all += (all.empty() ? "" : " ") + name;
    }
    series.push_back({.label = "warp-select", .selector = "warp-select"});
    series.push_back({.label = "the best length",
                      .selector = all,
                      .against = "warp-select",
                      .said = "significantly better at 64 <= k <= 128"});
    return {.name = "hanak-5.5",
            .title = "WarpSelect by the length of its thread queues",
            .paper = "Hanak 2023, Fig. 5.5",
            .shows = Shows::throughput,
            .panels = {{.title = "n 2^20",
                        .at = some_k,
                        .n = 1 << 20,
                        .q = 1 << 11,
                        .order = Order::distances,
                        .series = series,
                        .quick_at = fewer_k,
                        .quick_q = 1 << 8}},
            .read_rate = true};
}

Table single_pass() {
    Table t{"hanak-5.6", "Throughput of selections that read the values once", "Hanak 2023, Fig. 5.6"};
    t.shows = Shows::throughput;
    t.read_rate = true;
    for (const int log_n : {15, 16, 17, 18, 19, 20, 24}) {
        Panel panel{.title = fmt::format("n 2^{}", log_n), .at = {16, 32, 64, 128, 256, 512, 1024, 2048}};
        panel.n = std::int64_t{1} << log_n;
        panel.q = values >> log_n;
        panel.order = Order::distances;
        panel.quick_q = quick_values >> log_n;
        panel.quick_at = fewer_k;
        panel.quick = log_n == 15 || log_n == 20 || log_n == 24;
        for (const char* const name :
             {"bits", "warp-select", "block-select", "block-merge-queue", "merge-queue-aligned+buffer+hp", "sampled"})
            if (log_n <= 20 || std::string_view(name) !=
                                   "merge-queue-aligned+buffer+hp")  // 64 threads with a row each take many seconds
                panel.series.push_back({.label = name, .selector = name});
        panel.series[0].said = "approaches 80 % of the peak; the fastest everywhere";
        t.panels.push_back(panel);
    }
    return t;
}

Table one_query() {
    Table t{"hanak-5.7", "One row of 2^27 values in partitions", "Hanak 2023, Fig. 5.7"};
    t.shows = Shows::throughput;
    t.read_rate = true;
    Panel panel{.title = "n 2^27", .axis = Axis::partitions};
    for (std::int64_t count = 1; count <= 512; count *= 2) panel.at.push_back(count);
    panel.n = 1 << 27;
    panel.q = 1;
    panel.order = Order::distances;
    panel.quick_at = {8, 64, 128, 256, 512};
    for (const int k : {16, 128, 512, 1024, 2048}) {
        const char* const said = k <= 512 ? "peak at 256" : k > 1024 ? "peak at 128" : "";
        panel.series.push_back(
            {.label = fmt::format("k {}", k), .selector = "bits-partitions-{}", .said = said, .k = k});
    }
    t.panels = {panel};
    return t;
}

Panel by_share(int log_n, std::vector<Series> series) {
    return {.title = fmt::format("n 2^{}", log_n),
            .axis = Axis::share,
            .at = shares,
            .n = std::int64_t{1} << log_n,
            .q = values >> log_n,
            .order = Order::distances,
            .series = std::move(series),
            .quick_at = fewer_shares,
            .quick_q = quick_values >> log_n};
}

// Each of the selectors sorted and unsorted, then both sorts of everything.
std::vector<Series> against_sorts(const std::vector<std::string>& selectors, const std::string& said) {
    std::vector<Series> all;
    for (const std::string& name : selectors) {
        all.push_back({.label = name, .selector = name, .against = "radix-sort-streams", .said = said});
        all.push_back({.label = name + ", unsorted",
                       .selector = name,
                       .against = "radix-sort-streams",
                       .said = "above the sort",
                       .sorted = false});
    }
    all.push_back({.label = "radix-sort-segmented", .selector = "radix-sort-segmented"});
    all.push_back({.label = "radix-sort-streams", .selector = "radix-sort-streams"});
    return all;
}

Table stages() {
    return {.name = "hanak-5.10",
            .title = "Sample select in one and in two stages against a full sort",
            .paper = "Hanak 2023, Fig. 5.10",
            .shows = Shows::throughput,
            .panels = {by_share(20, against_sorts({"sample-select-1", "sample-select-2", "sample-select-2+buffer"},
                                                  "above the sort up to 30 %, below it beyond 50 %"))},
            .log_x = false};
}

Table multi_pass() {
    Table t{"hanak-5.11", "Throughput of selections that read values several times", "Hanak 2023, Fig. 5.11"};
    t.shows = Shows::throughput;
    t.log_x = false;
    for (const int log_n : {15, 17, 19, 20}) {
        t.panels.push_back(
            by_share(log_n, against_sorts({"sample-select-1", "radix-select"},
                                          log_n >= 19 ? "above the sort up to 30 %" : "above the sort up to 50 %")));
        t.panels.back().quick = log_n == 15 || log_n == 20;
    }
    return t;
}

template <double BufferedCounts::*count, BufferedCounts (*of)(const BufferedSelection&, std::int64_t)>
double bits_count(double n, double k) {
    return of(bits_selection(static_cast<std::int64_t>(k)), static_cast<std::int64_t>(n)).*count;
}

// No table of theirs: the formulas of 4.1.6 next to what the kernel counts and what a model of it does.
Table inserts() {
    Table t{"hanak-inserts", "Values that enter the buffer of bits, and its merges, per row",
            "Hanak 2023, eq. 4.2 and 4.3"};
    t.shows = Shows::operations;
    t.log_y = true;
    using Counts = BufferedCounts;
    std::vector<Series> series;
    const auto add = [&](const char* label, int slot, const char* formula, double (*growth)(double, double)) {
        series.push_back({.label = label, .selector = "bits", .slot = slot, .formula = formula, .growth = growth});
    };
    add("added to the buffer", gpu::insertion_slot, "m (1 + H(n) - H(m)), m = k + buffer",
        bits_count<&Counts::added, expected_of>);
    add("added, beside the model", gpu::insertion_slot, "simulated", bits_count<&Counts::added, simulated>);
    add("merges", gpu::merge_slot, "1 + expected / buffer", bits_count<&Counts::merges, expected_of>);
    add("merges, beside the model", gpu::merge_slot, "simulated", bits_count<&Counts::merges, simulated>);
    Panel by_k = optimisations(series);
    by_k.q = by_k.quick_q;
    Panel by_n{.title = "k 2^8", .axis = Axis::n, .q = by_k.q, .k = 256, .order = Order::distances, .series = series};
    by_n.at = {1 << 13, 1 << 15, 1 << 17, 1 << 19};
    t.panels = {by_k, by_n};
    return t;
}

}  // namespace

std::vector<Table> hanak_tables() {
    return {inserts(),   bitonic_sorts(), buffering(),  reads(),       thread_queues(), single_pass(),
            one_query(), stages(),        multi_pass(), block_sizes(), rescaling()};
}

}  // namespace kith::bench
