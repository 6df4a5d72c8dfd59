// What columns would leave of a sample of the points, if some of its rows were queries.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

namespace kith::gpu {

// Rows of halves that the columns were not made of. All arrays on the device.
struct ProjectionTrial {
    static constexpr int most_choices = 18;
    const __half* rows;
    std::int64_t count, depth;
    std::int64_t queries;  // so many of the rows, evenly spaced
    const double* along;   // coordinates of the rows along the columns, `stride` apart
    std::int64_t stride;
    int choices;
    int columns[most_choices];  // numbers of first columns that are tried, ascending
    // By how much values of numbers of 8 bits may lie below those of all coordinates, and below
    // those of directions.
    double slack, direction_slack;
    bool square;  // a value is half of |x|^2 less the product, as of squared distances; else less
                  // the product
    const float* half_norm;  // of the rows, from which the product is taken instead; or null
};

// Shares of n points that pass, if they are as the sample is: for each choice, and by all
// coordinates in 8 bits.
struct PassingShares {
    std::vector<double> columns;
    double bytes = 0;
};
// Synchronises.
PassingShares passing_shares(const ProjectionTrial& trial, std::int64_t n, cudaStream_t stream);

}  // namespace kith::gpu
