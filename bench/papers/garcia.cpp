// Garcia, Debreuve, Barlaud 2008, "Fast k Nearest Neighbor Search using GPU": Tables 1 to 5, Figs. 3 to 5.
//
// As many queries as points, both uniform; k 20 but for Table 4. A Pentium 4 of 3.4 GHz and a GeForce 8800 GTX.
#include <array>
#include <string>

#include "papers/table.h"

namespace kith::bench::papers {

namespace {

const std::vector<std::int64_t> all_n = {1200, 2400, 4800, 9600, 19200, 38400};
const std::vector<std::int64_t> all_d = {8, 16, 32, 64, 80, 96};
constexpr std::int64_t neighbours = 20;

// Table 1, seconds: a row for each d, a column for each n.
using Figures = double[6][6];
constexpr Figures of_matlab = {
    {0.51, 1.69, 7.84, 35.08, 148.01, 629.90},     {0.74, 2.98, 12.60, 51.64, 210.90, 893.61},
    {1.03, 5.00, 21.00, 84.33, 323.47, 1400.61},   {2.24, 9.37, 38.16, 149.76, 606.71, 2353.40},
    {2.35, 11.53, 47.11, 188.10, 729.52, 2852.68}, {3.30, 13.89, 55.77, 231.69, 901.38, 3390.45}};
constexpr Figures of_c = {{0.13, 0.49, 1.90, 7.53, 29.21, 127.16},      {0.22, 0.87, 3.45, 13.82, 56.29, 233.88},
                          {0.45, 1.79, 7.51, 30.23, 116.35, 568.53},    {1.71, 7.28, 26.11, 111.91, 455.49, 1680.37},
                          {2.13, 8.43, 33.40, 145.07, 530.44, 2127.08}, {2.54, 10.56, 39.26, 168.58, 674.88, 2649.24}};
constexpr Figures of_ann = {{0.13, 0.33, 0.81, 2.43, 6.82, 18.38},       {0.26, 1.06, 5.04, 23.97, 91.33, 319.01},
                            {0.39, 1.78, 9.21, 39.37, 166.98, 688.55},   {0.78, 3.56, 14.66, 59.28, 242.98, 1008.84},
                            {0.98, 4.29, 17.22, 73.22, 302.44, 1176.39}, {1.20, 4.96, 19.68, 82.45, 339.81, 1334.35}};
constexpr Figures of_cuda = {{0.01, 0.02, 0.04, 0.13, 0.43, 1.89}, {0.01, 0.02, 0.06, 0.17, 0.60, 2.51},
                             {0.01, 0.03, 0.08, 0.24, 0.94, 3.89}, {0.02, 0.04, 0.11, 0.40, 1.57, 6.65},
                             {0.02, 0.04, 0.13, 0.48, 1.98, 8.17}, {0.02, 0.05, 0.15, 0.57, 2.29, 9.61}};

struct Column {
    const char* method;
    const Figures* paper;  // or none
    double slope_4800, slope_38400;
};
constexpr std::array<Column, 9> columns = {{{"octave", &of_matlab, 0.54, 31},
                                            {"octave-sort", nullptr, no_time, no_time},
                                            {"bf-c", &of_c, 0.45, 29},
                                            {"ann", &of_ann, 0.20, 15},
                                            {"kith-1", nullptr, no_time, no_time},
                                            {"kith", nullptr, no_time, no_time},
                                            {"kith-gpu", nullptr, no_time, no_time},
                                            {"copies:garcia+insertion-sort", &of_cuda, 0.001, 0.087},
                                            {"copies:garcia+comb-sort", nullptr, no_time, no_time}}};

Panel by_n(std::size_t of_d) {
    const std::int64_t d = all_d[of_d];
    Panel panel{.title = "d " + std::to_string(d), .axis = Axis::n, .at = all_n, .shape = {.d = d, .k = neighbours}};
    for (const Column& column : columns) {
        panel.lines.push_back({.method = column.method});
        if (!column.paper) continue;
        for (std::size_t i = 0; i < all_n.size(); ++i)
            panel.lines.back().paper_seconds.push_back((*column.paper)[of_d][i]);
    }
    return panel;
}

Panel by_d(std::size_t of_n) {
    const std::int64_t n = all_n[of_n];
    Panel panel{.title = "n " + std::to_string(n), .axis = Axis::d, .at = all_d, .shape = {.n = n, .k = neighbours}};
    for (const Column& column : columns) {
        panel.lines.push_back({.method = column.method});
        panel.lines.back().paper_slope = n == 4800 ? column.slope_4800 : n == 38400 ? column.slope_38400 : no_time;
        if (!column.paper) continue;
        for (std::size_t i = 0; i < all_d.size(); ++i)
            panel.lines.back().paper_seconds.push_back((*column.paper)[i][of_n]);
    }
    return panel;
}

Line without_figures(const char* method) {
    return {.method = method};
}

// Tables 2 to 4: the paper's are of BF-CUDA.
Panel shares(const char* title, Axis axis, std::vector<std::int64_t> at, const Shape& shape, const Line& on_gpu) {
    return {title,
            axis,
            std::move(at),
            shape,
            {without_figures("bf-c"), without_figures("steps-1"), without_figures("steps-gpu"), on_gpu}};
}

PaperTable tables_2_to_5() {
    PaperTable table{"garcia-tables-2-5", "Shares of distances, sort and copies", "Garcia et al. 2008, Tables 2 to 5",
                     Shows::shares};
    table.panels = {shares("Table 2: d 16, k 20", Axis::n, {2400, 4800, 9600}, {.d = 16, .k = 20},
                           {"garcia:insertion-sort", {0.023, 0.055, 0.169}, {28, 51, 59}, {70, 47, 40}, {2, 2, 1}}),
                    shares("Table 3: n 4800, k 20", Axis::d, {8, 16, 32}, {.n = 4800, .k = 20},
                           {"garcia:insertion-sort", {0.040, 0.055, 0.076}, {37, 51, 66}, {62, 47, 32}, {1, 2, 2}}),
                    shares("Table 4: n 4800, d 16", Axis::k, {5, 10, 20}, {.n = 4800, .d = 16},
                           {"garcia:insertion-sort", {0.033, 0.037, 0.055}, {82, 71, 51}, {15, 26, 47}, {3, 3, 2}}),
                    shares("Table 5: n 4800, k 20", Axis::d, {32}, {.n = 4800, .k = 20},
                           {"garcia:insertion-sort", {0.076}, {66}, {32}, {2}})};
    Line& on_core = table.panels.back().lines.front();
    on_core.paper_seconds = {7.51};
    on_core.paper_distance = {91};
    on_core.paper_sort = {4};
    table.quick_n = 4800;
    return table;
}

// On a CPU: the insertion sort and the comb sort of BF-C, on the distances of some of the queries.
PaperTable figure_3() {
    constexpr std::int64_t queries = 240;
    PaperTable table{"garcia-fig-3", "The k at which comb sort catches up with insertion sort",
                     "Garcia et al. 2008, Fig. 3", Shows::crossing};
    for (const std::int64_t n : all_n) {
        Panel panel{.title = "n " + std::to_string(n), .axis = Axis::k, .shape = {.n = n, .q = queries, .d = 64}};
        for (const std::int64_t k :
             {5, 20, 50, 100, 150, 200, 250, 300, 350, 400, 500, 600, 800, 1000, 1200, 1600, 2400, 3200, 4800})
            if (k <= n) panel.at.push_back(k);
        panel.lines = {without_figures("bf-c"), without_figures("bf-c-comb")};
        table.panels.push_back(panel);
    }
    table.quick_n = 4800;
    table.slope = 0.0247;
    table.intercept = 1.3404;
    table.on_gpu = "garcia-fig3";
    return table;
}

}  // namespace

std::vector<PaperTable> garcia_tables() {
    PaperTable one{"garcia-table-1", "Seconds by points, dimensions and method", "Garcia et al. 2008, Table 1"};
    for (std::size_t i = 0; i < all_d.size(); ++i) one.panels.push_back(by_n(i));
    PaperTable four{"garcia-fig-4", "Seconds by dimensions", "Garcia et al. 2008, Fig. 4 and section 3.3"};
    four.panels = {by_d(2), by_d(3), by_d(5)};
    PaperTable five{"garcia-fig-5", "Seconds by points", "Garcia et al. 2008, Fig. 5"};
    five.panels = {by_n(2)};
    one.log_x = one.log_y = five.log_x = five.log_y = four.log_y = true;
    four.quick_n = 4800;
    one.quick_n = five.quick_n = 2400;
    return {one, tables_2_to_5(), figure_3(), four, five};
}

}  // namespace kith::bench::papers
