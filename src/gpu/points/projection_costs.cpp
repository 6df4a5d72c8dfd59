// Passes, what appends their candidates, and the rows of stages and of all coordinates that these
// are looked at by.
#include "gpu/points/projection_costs.h"

#include <algorithm>
#include <limits>

#include "gpu/filter/bytes.h"
#include "gpu/points/tuning.h"

namespace kith::gpu {

double ProjectionCosts::share(int columns) const {
    return shares
        .columns[static_cast<std::size_t>(std::ranges::find(tried, columns) - tried.begin())];
}

double ProjectionCosts::pass_cost(int columns) const {
    return in_bytes ? tuning::byte_pair_cost(byte_numbers(columns))
                    : tuning::pair_cost(columns + 1);
}

double ProjectionCosts::all_cost() const {
    return tuning::filter_pair_cost(width);
}

// Columns of a pass with those of stages behind it.
int ProjectionCosts::behind(int columns, int stages) const {
    return tuning::columns_with_stages(columns, stages, width);
}

// What looking at a candidate's row of a stage takes.
double ProjectionCosts::stage_cost(int columns, int stage) const {
    return tuning::further_cost(behind(columns, stage + 1) - behind(columns, stage));
}

bool ProjectionCosts::stages_may_pay() const {
    return std::ranges::any_of(passes, [&](int columns) {
        return pass_cost(columns) + share(columns) * stage_cost(columns, 0) <
               tuning::largest_projected_share * all_cost();
    });
}

std::optional<ChosenColumns> ProjectionCosts::cheapest(const ProjectionChoices& choices,
                                                       bool bytes) const {
    std::optional<ChosenColumns> best;
    double least = std::numeric_limits<double>::infinity();
    const double row = tuning::reread_cost(width);
    const auto compare = [&](ChosenColumns choice, double cost, double most) {
        if ((!choices.always && cost >= most * all_cost()) || !(cost < least)) return;
        least = cost;
        best = choice;
    };
    for (const int columns : passes) {
        if (choices.columns > 0 && columns != choices.columns) continue;
        double stages = share(columns) * tuning::append_cost;
        for (int stage = 0; stage <= choices.most_stages; ++stage) {
            const int all = behind(columns, stage);
            if (std::ranges::find(tried, all) == tried.end()) break;
            if (stage >= choices.least_stages)
                compare({columns, stage}, pass_cost(columns) + stages + share(all) * row,
                        tuning::largest_projected_share);
            if (stage < choices.most_stages) stages += share(all) * stage_cost(columns, stage);
        }
    }
    if (bytes)
        compare({}, tuning::byte_pair_cost(byte_width(width)) + shares.bytes * row,
                tuning::largest_byte_share);
    return best;
}

double ProjectionCosts::candidate_cost(ChosenColumns choice, int stages) const {
    const double row = tuning::reread_cost(width);
    if (stages == 0) return row;
    const auto left = [&](int stage) {
        return share(behind(choice.columns, stage)) / std::max(share(choice.columns), 1e-12);
    };
    double cost = left(stages) * row;
    for (int stage = 0; stage < stages; ++stage)
        cost += left(stage) * stage_cost(choice.columns, stage);
    return cost;
}

}  // namespace kith::gpu
