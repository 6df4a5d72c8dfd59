// Trial of a projection: the candidates that columns leave of a sample if some of its rows are
// queries.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

namespace kith::gpu {

// fp16 rows other than those that the columns were fitted to. All arrays are on the device.
struct ProjectionTrial {
    static constexpr int most_choices = 18;
    const __half* rows;
    std::int64_t count, depth;
    std::int64_t queries;  // number of rows that are queries, evenly spaced
    const double* along;   // coordinates of the rows along the columns, `stride` apart
    std::int64_t stride;
    int choices;
    int columns[most_choices];  // numbers of first columns to try, ascending
    // How far int8 values may lie below the full-dimensional ones, and below those of projections.
    double slack, direction_slack;
    bool square;  // a value is half of |x|^2 less the product, for squared distances; else
                  // half_norm or 0 less the product
    const float* half_norm;  // of the rows, for values without `square`; or null
};

// Estimated fractions of candidates among n points that resemble the sample: for each choice, and
// for all coordinates in int8.
struct PassingShares {
    std::vector<double> columns;
    double bytes = 0;
};
// Synchronises.
PassingShares passing_shares(const ProjectionTrial& trial, std::int64_t n, cudaStream_t stream);

}  // namespace kith::gpu
