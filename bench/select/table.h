// A table or figure of a paper as data: which selectors over which grid, next to which figures of the paper.
//
// A Table is interpreted by engine.h; the tables themselves are in the files named after their papers, one vector each.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "select/values.h"

namespace kith::bench {

inline constexpr double no_figure = std::numeric_limits<double>::quiet_NaN();

// The variable of a panel.
enum class Axis : std::uint8_t {
    k,
    n,
    share,       // k in percent of n
    partitions,  // stands for {} in a selector's name
    position,    // of a queue: operations by slot
    order,       // index of an Order
};

// The subject of the table: what is printed first, and drawn.
enum class Shows : std::uint8_t { seconds, ratio, throughput, crossing, operations };

// distances: the matrix, by Garcia's kernel.
enum class Work : std::uint8_t { selection, copy_to_host, distances };

inline constexpr int on_gpu = -1;

struct Series {
    std::string label = {};
    std::string selector = {};  // several, parted by spaces: the fastest counts; "": the planner's choice
    std::string against = {};   // label in the same panel: ratio = its time / this one's; "": no ratio
    // The paper's figures at each x of the whole grid: ratios, or seconds where the table says so; empty where its text
    // gives none.
    std::vector<double> paper = {};
    std::string said = {};  // what the paper's text says instead, or besides
    Work work = Work::selection;
    int threads = on_gpu;        // else on the CPU with that many, 0: all
    bool sorted = true;          // the result
    bool told = false;           // the planner knows the order of the values
    bool and_distances = false;  // the time of the matrix counts, too
    std::int64_t k = 0;          // instead of the panel's
    int slot = 0;                // operations: which count
    std::string formula = {};    // operations: the paper's order of their number, for a person to read
    double (*growth)(double n, double k) = nullptr;  // the same, for the ratio
};

struct Panel {
    std::string title = {};
    Axis axis = Axis::k;
    std::vector<std::int64_t> at = {};
    std::int64_t n = 0, q = 0, k = 0;
    Order order = Order::uniform;
    std::vector<Series> series = {};
    std::vector<double> goals = {};  // shares of the read rate, or ratios along an axis of orders; at each x
    // --quick: these x and this q instead; leave the panel out.
    std::vector<std::int64_t> quick_at = {};
    std::int64_t quick_q = 0;
    bool quick = true;
};

struct Table {
    std::string name;   // on the command line
    std::string title;  // what a reader of the figure wants to know
    std::string paper;  // where it is from
    Shows shows = Shows::ratio;
    std::vector<Panel> panels = {};
    bool paper_seconds = false;  // Series::paper are seconds
    bool times = false;          // ratio = this one's time / that of `against`
    bool read_rate = false;      // shares of the measured read rate are printed
    bool log_x = true, log_y = false;
    // crossing: the paper's line through the crossings, k0(n) = slope n + intercept.
    double slope = no_figure, intercept = no_figure;
};

std::vector<Table> tang_tables();
std::vector<Table> hanak_tables();
std::vector<Table> sismanis_tables();
std::vector<Table> garcia_tables();
// The project's own: what selection should reach. `selectors` empty: the default ones.
Table goals_table(const std::vector<std::string>& selectors);

// Every paper's. Throws invalid_argument, with the list of names, where there is none of that name.
Table table_named(const std::string& name);

}  // namespace kith::bench
