// A table or figure of a paper as data: which methods over which grid, next to the paper's own figures.
//
// study.cpp runs it, report.cpp prints it and writes it down; the tables are in the files named after their papers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "papers/methods.h"

namespace kith::bench::papers {

// The variable of a panel; with n, as many queries as points.
enum class Axis : std::uint8_t { n, d, k };

// The printed and drawn value: seconds, the steps' shares of them, or where the steps "sort" of two methods cross.
enum class Shows : std::uint8_t { seconds, shares, crossing };

// A method in a panel, with the paper's figures at each x of the whole grid; empty where the paper has none.
struct Line {
    std::string method;
    std::vector<double> paper_seconds = {};
    // In percent of the total.
    std::vector<double> paper_distance = {}, paper_sort = {}, paper_copy = {};
    double paper_slope = no_time;  // along d: seconds per dimension
};

struct Panel {
    std::string title;
    Axis axis = Axis::n;
    std::vector<std::int64_t> at = {};
    Shape shape = {};  // what does not vary; q 0: as many as points
    std::vector<Line> lines = {};
};

struct PaperTable {
    std::string name;   // on the command line
    std::string title;  // what a reader of the figure wants to know
    std::string paper;  // where it is from
    Shows shows = Shows::seconds;
    std::vector<Panel> panels = {};
    std::int64_t quick_n = 0;  // --quick: no more points than that
    bool log_x = false, log_y = false;
    // crossing: the paper's line through the crossings, k0(n) = slope n + intercept.
    double slope = no_time, intercept = no_time;
    std::string on_gpu = {};  // with --device cuda this table of `kith-bench select` in its place
};

std::vector<PaperTable> garcia_tables();
std::vector<PaperTable> hanak_searches();
std::vector<PaperTable> sismanis_searches();

// Shape of a panel at x.
Shape shape_at(const Panel& panel, std::int64_t x);

}  // namespace kith::bench::papers
