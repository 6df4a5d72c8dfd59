// Thresholds of range queries (balls): above `excluded` no point is within the radius, up to
// `included` all points are.
#pragma once

#include "gpu/metric/kernels.h"

namespace kith::gpu {

// Per query, on the device: keys up to `inner` are within the radius, keys beyond `outer` are not.
// NaN: no key is.
struct BallBounds {
    const double* inner = nullptr;
    const double* outer = nullptr;
};

// The status of a range query: answered by the filter, given up by it, empty (no point is within),
// or not covered by the filter's bound.
enum BallState : std::uint8_t { ball_answered = 0, ball_left = 1, ball_empty = 2, ball_unfit = 3 };

struct BallThresholds {
    float* excluded = nullptr;  // larger values are of points outside; NaN: not filtered
    float* included = nullptr;  // upper values up to it are of points within; may be null
    std::uint8_t* state = nullptr;
};

// For queries with vectors of that form; query errors and fitness as MetricKernels::filter_queries
// writes them.
void ball_thresholds(const MetricKernels* kernels, const PreparedRows& queries,
                     const FilterForm& form, const float* query_error, const std::uint8_t* unfit,
                     const BallBounds& bounds, const metric::Params& params,
                     const BallThresholds& out, cudaStream_t stream);

// sure[i]: values up to it are of points within the radius, for each covered one of the n points.
// `most`: workspace of one word. point_error: F, +inf for points that are not covered.
void sure_limits(const float* included, std::int64_t q, const float* point_error, std::int64_t n,
                 unsigned* most, float* sure, cudaStream_t stream);

}  // namespace kith::gpu
