// Tang, Huang, Eyers, Mills, Guo 2015, "Efficient Selection Algorithm for Fast k-NN Search on GPUs": Table I, Fig. 5
// to 9.
//
// Their grid: q 2^13, n 2^13 to 2^16 at k 2^8, k 2^5 to 2^10 at n 2^15, distances in [0, 1]^128, on a Tesla C2075.
// Figures come from their Table I and, where a figure has no table, from the peaks that their text names.
#include <cmath>

#include "gpu/select/selectors.h"
#include "select/partition_inserts.h"
#include "select/table.h"

namespace kith::bench {

namespace {

constexpr std::int64_t queries = 1 << 13, few_queries = 1 << 10;
constexpr double x = no_figure;
const std::vector<std::int64_t> some_k{32, 64, 128, 256, 512, 1024}, fewer_k{32, 256, 1024};
const std::vector<std::int64_t> some_n{1 << 13, 1 << 14, 1 << 15, 1 << 16}, fewer_n{1 << 13, 1 << 15};

Panel over_k(std::vector<Series> series) {
    return {.title = "n 2^15",
            .axis = Axis::k,
            .at = some_k,
            .n = 1 << 15,
            .q = queries,
            .order = Order::distances,
            .series = std::move(series),
            .quick_at = fewer_k,
            .quick_q = few_queries};
}

Panel over_n(std::vector<Series> series) {
    return {.title = "k 2^8",
            .axis = Axis::n,
            .at = some_n,
            .q = queries,
            .k = 256,
            .order = Order::distances,
            .series = std::move(series),
            .quick_at = fewer_n,
            .quick_q = few_queries};
}

// A row of Table I: seconds at log k 5 to 10, then at log n 13 to 16.
struct Row {
    const char* label;
    const char* selector;
    double by_k[6], by_n[4];
    Work work = Work::selection;
    int threads = on_gpu;
};

constexpr Row table_one[] = {
    {"Distance Calculation", "", {.14, .14, .14, .14, .14, .14}, {.03, .07, .14, .28}, Work::distances},
    {"Data_Copy", "", {.46, .46, .46, .46, .46, .46}, {.13, .25, .49, .99}, Work::copy_to_host},
    {"CPU_1", "heap", {.34, .46, .68, 1.1, 1.9, 3.45}, {.72, .87, 1.08, 1.43}, Work::selection, 1},
    {"CPU_16 (here: all)", "heap", {.03, .05, .07, .2, .19, .42}, {.06, .07, .08, .11}, Work::selection, 0},
    {"Insertion_Queue", "insertion-queue", {.12, .37, 1.16, 3.56, 10.44, 29.03}, {1.83, 2.62, 3.53, 4.56}},
    {"Heap_Queue", "heap-queue", {.05, .09, .19, .41, .85, 1.71}, {.27, .33, .4, .48}},
    {"Merge_Queue", "merge-queue", {.13, .33, .89, 2.24, 5.29, 11.57}, {1.49, 1.85, 2.22, 2.62}},
    {"Merge_Queue_aligned", "merge-queue-aligned", {.07, .1, .16, .29, .57, 1.1}, {.18, .23, .29, .38}},
    {"Insertion_Queue_buf+hp", "insertion-queue+buffer+hp", {.04, .05, .1, .24, .71, 2.58}, {.2, .21, .24, .27}},
    {"Heap_Queue_buf+hp", "heap-queue+buffer+hp", {.04, .05, .08, .15, .31, .74}, {.11, .12, .15, .17}},
    {"Merge_Queue_buf+hp", "merge-queue+buffer+hp", {.04, .07, .13, .39, .82, 2.77}, {.35, .29, .4, .35}},
    {"Merge_Queue_aligned+buf+hp",
     "merge-queue-aligned+buffer+hp",
     {.04, .05, .08, .14, .27, .58},
     {.1, .11, .14, .17}},
    {"Truncated Bitonic Sort", "truncated-bitonic", {.30, .36, .44, .53, .64, x}, {.13, .26, .53, 1.04}},
    {"Quick Multi-Select", "quick-multiselect", {x, .21, .22, .22, .23, x}, {.15, .18, .22, .30}},
};
constexpr const char* best = "Merge_Queue_aligned+buf+hp";

Table first_table() {
    Table t{"tang-1", "Times of the k-selection algorithms, over that of the paper's best",
            "Tang et al. 2015, Table I"};
    t.shows = Shows::seconds;
    t.paper_seconds = t.times = t.log_y = true;
    std::vector<Series> by_k, by_n;
    for (const Row& row : table_one) {
        Series s{
            .label = row.label, .selector = row.selector, .against = best, .work = row.work, .threads = row.threads};
        s.paper.assign(std::begin(row.by_k), std::end(row.by_k));
        by_k.push_back(s);
        s.paper.assign(std::begin(row.by_n), std::end(row.by_n));
        by_n.push_back(s);
    }
    t.panels = {over_k(by_k), over_n(by_n)};
    return t;
}

// The queues of the figures, and the peaks over their variants that the text names for Fig. 6, 7 and 8: none for the
// aligned one.
struct Queue {
    const char* name;
    const char* peak[3];
};
constexpr Queue queues[] = {{"insertion-queue", {"up to 5.39", "up to 7.4", "up to 8.94"}},
                            {"heap-queue", {"up to 1.28", "up to 3.4", "up to 3.0"}},
                            {"merge-queue", {"up to 1.85", "up to 5.69", "up to 6.23"}},
                            {"merge-queue-aligned", {"", "", ""}}};

// A queue plain, and with each of the suffixes against it.
std::vector<Series> improved(const Queue& queue, const std::vector<std::string>& suffixes, int figure) {
    std::vector<Series> all{{.label = queue.name, .selector = queue.name}};
    for (const std::string& suffix : suffixes)
        all.push_back({.label = queue.name + suffix,
                       .selector = queue.name + suffix,
                       .against = queue.name,
                       .said = queue.peak[figure - 6]});
    return all;
}

// A panel for each queue: `--json` is written after each.
std::vector<Panel> for_every_queue(Panel (*over)(std::vector<Series>), const std::vector<std::string>& suffixes,
                                   int figure) {
    std::vector<Panel> panels;
    for (const Queue& queue : queues) {
        panels.push_back(over(improved(queue, suffixes, figure)));
        panels.back().title += std::string(", ") + queue.name;
    }
    return panels;
}

Table figure_six() {
    return {.name = "tang-fig6",
            .title = "Improvement by buffered search over the plain queue",
            .paper = "Tang et al. 2015, Fig. 6",
            .panels = for_every_queue(over_k, {"+buffer", "+buffer+full", "+buffer+full+sort"}, 6)};
}

Table figure_seven() {
    return {.name = "tang-fig7",
            .title = "Improvement by hierarchical partition over the plain queue, by k",
            .paper = "Tang et al. 2015, Fig. 7",
            .panels = for_every_queue(over_k, {"+hp2", "+hp4", "+hp8"}, 7)};
}

Table figure_eight() {
    return {.name = "tang-fig8",
            .title = "Improvement by hierarchical partition over the plain queue, by n",
            .paper = "Tang et al. 2015, Fig. 8",
            .panels = for_every_queue(over_n, {"+hp2", "+hp4", "+hp8"}, 8)};
}

Table figure_nine() {
    Table t{"tang-fig9", "Improvement by buffered search and hierarchical partition together",
            "Tang et al. 2015, Fig. 9 (its ratios from Table I)"};
    t.paper_seconds = true;
    std::vector<Series> by_k, by_n;
    for (const Row& row : table_one) {
        const std::string name = row.selector;
        if (row.threads != on_gpu || name.find("queue") == std::string::npos) continue;
        const std::size_t suffix = name.find('+');
        Series s{.label = name, .selector = name};
        if (suffix != std::string::npos) s.against = name.substr(0, suffix);
        s.paper.assign(std::begin(row.by_k), std::end(row.by_k));
        by_k.push_back(s);
        s.paper.assign(std::begin(row.by_n), std::end(row.by_n));
        by_n.push_back(s);
    }
    t.panels = {over_k(by_k), over_n(by_n)};
    return t;
}

Table figure_five() {
    Table t{"tang-fig5", "Updates of the queues, per row", "Tang et al. 2015, Fig. 5"};
    t.shows = Shows::operations;
    t.log_y = true;
    std::vector<Series> series;
    for (const char* const name : {"insertion-queue", "heap-queue", "merge-queue"})
        series.push_back({.label = name, .selector = name});
    Panel by_position = over_k(series);
    by_position.title = "by position, n 2^15, k 2^6";
    by_position.axis = Axis::position;
    by_position.k = 64;
    by_position.at.clear();
    by_position.quick_at.clear();
    for (std::int64_t i = 0; i < by_position.k; ++i) by_position.at.push_back(i);
    t.panels = {by_position, over_k(series)};
    t.panels[1].title = "all positions, n 2^15";
    return t;
}

// No table of theirs: m = 8 is said to be the best (IV), a buffer to be "quite small" (III.D), a hierarchy to take n /
// 3 values (IV.C).
Table parameters() {
    const auto beside = [](const std::string& base, const std::vector<std::string>& others, const char* said) {
        std::vector<Series> all{{.label = base, .selector = base, .said = said}};
        for (const std::string& name : others) all.push_back({.label = name, .selector = name, .against = base});
        return all;
    };
    Table t{"tang-parameters", "First levels of 4 to 32, buffers of 8 to 32, minima of 4 bytes",
            "Tang et al. 2015, III.C to III.E; not in the paper"};
    const auto add = [&](const char* title, std::vector<Series> series) {
        t.panels.push_back(over_k(std::move(series)));
        t.panels.back().title += std::string(", ") + title;
    };
    constexpr const char* fastest = "m = 8 is the fastest";
    add("merge queue, m", beside("merge-queue", {"merge-queue-m4", "merge-queue-m16"}, fastest));
    add("aligned merge queue, m",
        beside("merge-queue-aligned", {"merge-queue-aligned-m4", "merge-queue-aligned-m16", "merge-queue-aligned-m32"},
               fastest));
    for (const std::string queue : {"insertion-queue", "heap-queue", "merge-queue-aligned"})
        add("buffer",
            beside(queue + "+buffer+full+sort", {queue + "+buffer8+full+sort", queue + "+buffer32+full+sort"}, ""));
    add("minima", beside("heap-queue+hp4", {"heap-queue+hp4-keys"}, "n / 3 values more"));
    add("minima", beside("merge-queue-aligned+hp4", {"merge-queue-aligned+hp4-keys"}, "n / 3 values more"));
    add("minima", beside("merge-queue-aligned+buffer+hp", {"merge-queue-aligned+buffer+hp-keys"}, "n / 3 values more"));
    return t;
}

double expected_inserts(double n, double k) {
    return k * (1 + std::log(n / k));
}

template <int group>
double simulated_inserts(double n, double k) {
    return mean_inserted(static_cast<std::int64_t>(n), static_cast<std::int64_t>(k), group, Partition::kept);
}

// No table of theirs: what the top-down search is for, and whether the kernel's inserts are the algorithm's.
Table inserts() {
    Table t{"tang-inserts", "Entries that enter the queue, per row", "Tang et al. 2015, III.E; not in the paper"};
    t.shows = Shows::operations;
    t.log_y = true;
    struct Search {
        const char *name, *formula;
        double (*growth)(double, double);
    };
    std::vector<Series> series;
    for (const Search& each : {Search{"insertion-queue", "k (1 + ln(n / k))", expected_inserts},
                               {"insertion-queue+hp2", "simulated, G 2", simulated_inserts<2>},
                               {"insertion-queue+hp4", "simulated, G 4", simulated_inserts<4>},
                               {"insertion-queue+hp8", "simulated, G 8", simulated_inserts<8>},
                               {"heap-queue+hp4", "simulated, G 4", simulated_inserts<4>},
                               {"merge-queue-aligned+hp4", "simulated, G 4", simulated_inserts<4>}})
        series.push_back({.label = each.name,
                          .selector = each.name,
                          .slot = gpu::insertion_slot,
                          .formula = each.formula,
                          .growth = each.growth});
    t.panels = {over_k(series), over_n(series)};
    for (Panel& panel : t.panels) panel.q = few_queries;
    return t;
}

}  // namespace

std::vector<Table> tang_tables() {
    return {first_table(),  figure_five(), figure_six(), figure_seven(),
            figure_eight(), figure_nine(), inserts(),    parameters()};
}

}  // namespace kith::bench
