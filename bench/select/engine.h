// Runs the grid of a Table.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "select/runner.h"
#include "select/table.h"

namespace kith::bench {

// A series as measured; everything at each x of its panel.
struct Line {
    Series series;
    std::vector<double> seconds;      // NaN: no time
    std::vector<double> deviation;    // of seconds, standard; NaN where they are medians or of one run
    std::vector<double> ratio;        // ours; empty where the series has no `against`
    std::vector<double> paper_ratio;  // the paper's; empty where it gives none
    std::vector<double> rate;         // values a second
    std::vector<double> operations;   // per row
    std::vector<std::string> chosen;  // the selector that the planner took, or the fastest of several
};

struct MeasuredPanel {
    Panel panel;  // with the x and the q that ran
    std::vector<Line> lines;
    double crossing = no_figure;  // x at which the second line falls below the first
};

struct MeasuredTable {
    Table table;
    std::vector<MeasuredPanel> panels;
    double slope = no_figure, intercept = no_figure;  // of the line through the crossings
};

// "", or why the table cannot be measured: it needs a GPU, or a build that counts.
std::string missing(const Table& table, const Runner& runner);

// `done` gets every panel as soon as it is measured.
MeasuredTable measure(const Table& table, Runner& runner, bool quick,
                      const std::function<void(const MeasuredPanel&)>& done);

}  // namespace kith::bench
