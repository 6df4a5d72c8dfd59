// Thresholds of queries whose radius is given: beyond one no point is within, up to the other all
// are.
#pragma once

#include "gpu/metric/kernels.h"

namespace kith::gpu {

// Per query, on the device: keys up to `inner` are within the radius, keys beyond `outer` are not;
// NaN: none is.
struct BallBounds {
    const double* inner = nullptr;
    const double* outer = nullptr;
};

// What becomes of a query: a filter answers it, or has given it up; nothing is within; or the
// filter's bound does not cover it.
enum BallState : std::uint8_t { ball_answered = 0, ball_left = 1, ball_empty = 2, ball_unfit = 3 };

struct BallThresholds {
    float* excluded =
        nullptr;  // values above it are of points outside; NaN where the query is not filtered
    float* included = nullptr;  // upper values up to it are of points within; or null
    std::uint8_t* state = nullptr;
};

// Of queries whose vectors were made for the form: their query errors and fitness as
// MetricKernels::filter_queries left them.
void ball_thresholds(const MetricKernels* kernels, const PreparedRows& queries,
                     const FilterForm& form, const float* query_error, const std::uint8_t* unfit,
                     const BallBounds& bounds, const metric::Params& params,
                     const BallThresholds& out, cudaStream_t stream);

// sure[i]: values up to it are of points within, whichever covered one of the n points it is of.
// `most`: room for a word. Point errors: F, +inf of those that are not covered.
void sure_limits(const float* included, std::int64_t q, const float* point_error, std::int64_t n,
                 unsigned* most, float* sure, cudaStream_t stream);

}  // namespace kith::gpu
