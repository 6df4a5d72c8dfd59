// Garcia, Debreuve, Barlaud 2008, "Fast k Nearest Neighbor Search using GPU": Fig. 2 and 3.
//
// As many queries as points. Their Fig. 3 is a line through the k at which the comb sort catches up with the insertion
// sort: k0(n) = 0.0247 n + 1.3404, eq. (3), on a GeForce 8800 GTX.
#include "select/table.h"

namespace kith::bench {

namespace {

constexpr double paper_slope = 0.0247, paper_intercept = 1.3404;

Panel crossing_at(std::int64_t n, const std::vector<std::int64_t>& at) {
    Panel panel{.title = "n " + std::to_string(n), .n = n, .q = n, .order = Order::distances};
    for (const std::int64_t k : at)
        if (k <= n) panel.at.push_back(k);
    panel.series = {{.label = "insertion-sort", .selector = "insertion-sort", .said = "linear in k"},
                    {.label = "comb-sort", .selector = "comb-sort", .said = "the same for every k"}};
    return panel;
}

}  // namespace

std::vector<Table> garcia_tables() {
    Table two{"garcia-fig2", "Insertion sort and comb sort by k", "Garcia et al. 2008, Fig. 2", Shows::crossing};
    two.panels = {crossing_at(4800, {1, 20, 40, 60, 80, 100, 120, 140, 160, 180, 200, 400, 800, 1600})};
    two.panels[0].quick_at = {1, 40, 120, 200, 800};
    two.log_x = false;
    two.slope = paper_slope;
    two.intercept = paper_intercept;
    Table three{"garcia-fig3", "The k at which comb sort catches up with insertion sort", "Garcia et al. 2008, Fig. 3",
                Shows::crossing};
    for (const std::int64_t n : {1200, 2400, 4800, 9600, 19200, 38400}) {
        std::vector<std::int64_t> at{5, 20, 50};
        for (std::int64_t k = 75; k <= 350; k += 25) at.push_back(k);
        for (const std::int64_t k : {400, 500, 600, 800, 1000, 1200, 1600})
            if (n <= 4800 || k <= 800) at.push_back(k);  // longer lists of more rows take seconds
        three.panels.push_back(crossing_at(n, at));
        three.panels.back().quick_at = {5, 50, 200, 800};
        three.panels.back().quick = n <= 9600;
    }
    three.log_x = false;
    three.slope = paper_slope;
    three.intercept = paper_intercept;
    return {two, three};
}

}  // namespace kith::bench
