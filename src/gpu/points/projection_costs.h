// What a search takes with so many directions and stages behind them, in picoseconds a pair, by
// what passes of a sample.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gpu/filter/projection.h"
#include "gpu/points/projection.h"
#include "gpu/points/projection_trial.h"

namespace kith::gpu {

// Numbers of a row in 8 bits: what phi has, and twice the leading directions, in whole K-tiles.
inline std::int64_t byte_numbers(std::int64_t columns) {
    return (columns + 1 + 2 * LeadingDirections::most + 127) / 128 * 128;
}

// Columns of a pass, 0 for all coordinates, which are in 8 bits then, and stages behind it.
struct ChosenColumns {
    int columns = 0, stages = 0;
};

struct ProjectionCosts {
    std::int64_t width = 0;              // of the filter's own vectors
    bool in_bytes = false;               // directions are in 8 bits
    std::vector<int> passes{}, tried{};  // columns of passes; with those of stages, ascending
    PassingShares shares{};              // of `tried`

    // Of the points, what so many columns leave.
    double share(int columns) const;
    // Whether a search would be cheap enough if one stage left nothing.
    bool stages_may_pay() const;
    // That with which a search is cheapest; none where none saves enough and it is not wanted
    // always. `bytes`: all coordinates may be in 8 bits.
    std::optional<ChosenColumns> cheapest(const ProjectionChoices& choices, bool bytes) const;
    // What looking at a candidate of a choice takes, by the stages that there are.
    double candidate_cost(ChosenColumns choice, int stages) const;

private:
    double pass_cost(int columns) const;
    double all_cost() const;
    int behind(int columns, int stages) const;
    double stage_cost(int columns, int stage) const;
};

}  // namespace kith::gpu
