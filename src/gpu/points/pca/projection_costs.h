// Cost model of a search by PCA projection with residual stages, in picoseconds per pair, from the
// candidates of a sample.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gpu/filter/pca/projection.h"
#include "gpu/points/pca/projection.h"
#include "gpu/points/pca/projection_trial.h"

namespace kith::gpu {

// int8 values of a row: phi and twice the leading directions, in whole K-tiles.
inline std::int64_t byte_numbers(std::int64_t columns) {
    return (columns + 1 + 2 * LeadingDirections::most + 127) / 128 * 128;
}

// The columns of a pass (0: all coordinates, in int8) and the residual stages after it.
struct ChosenColumns {
    int columns = 0, stages = 0;
};

struct ProjectionCosts {
    std::int64_t width = 0;              // of the filter's own vectors
    bool in_bytes = false;               // the projection is in int8
    std::vector<int> passes{}, tried{};  // columns of passes; including those of stages, ascending
    PassingShares shares{};              // one per entry of `tried`

    // The fraction of the points that are candidates after that many columns.
    double share(int columns) const;
    // True if a search would be cheap enough if one stage excluded every candidate.
    bool stages_may_pay() const;
    // The choice with the least cost. Returns nullopt if no choice saves enough, unless
    // choices.always. `bytes`: all coordinates may be in int8.
    std::optional<ChosenColumns> cheapest(const ProjectionChoices& choices, bool bytes) const;
    // Time to rescore a candidate of a choice with the given number of stages.
    double candidate_cost(ChosenColumns choice, int stages) const;

private:
    double pass_cost(int columns) const;
    double all_cost() const;
    int behind(int columns, int stages) const;
    double stage_cost(int columns, int stage) const;
};

}  // namespace kith::gpu
