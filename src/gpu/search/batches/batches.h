// Many small searches in one launch (kith/batches.h): what the kernel serves, what it takes, and
// its call. No CUDA type.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "exact/metric_spec.h"
#include "exact/report/progress.h"
#include "kith/batches.h"

namespace kith::gpu {

struct BatchesRequest {
    const MatrixView& points;
    const MatrixView& queries;
    const std::vector<Batch>& batches;
    std::int64_t k = 0;
    const MetricSpec& metric;
    int device = 0;
    bool f64 = false;         // distances are f64, else f32
    void* stream = nullptr;   // cudaStream_t of the caller
    ProgressMeter& progress;  // for this search alone
    const NeighborsView& out;
};

// Writes the k nearest points of each query within its batch to the caller's result. Finished on
// return. Polls before and after a launch, and splits a launch that would take long.
void search_batches(const BatchesRequest& request);

namespace tuning {

// The most coordinates and neighbours that the kernel has room for.
inline constexpr std::int64_t batches_max_dimensions = 128, batches_max_k = 128;
// Up to this many a thread has its query in registers, beyond it in shared memory.
inline constexpr std::int64_t batches_register_dimensions = 32;
// A thread walks all points of its query's batch. Beyond this many a search of its own is faster.
inline constexpr std::int64_t batches_max_points = 1 << 15;
// Queries per block, which are of one batch, and the most blocks of a launch.
inline constexpr std::int64_t batches_queries = 128, batches_max_blocks = 0x7fffffff;
// Blocks of a launch, if the largest batch has this many points. Reasoned: 2^37 pairs take up to a
// second in 32 dimensions.
inline std::int64_t batches_step(std::int64_t most_points) {
    return (std::int64_t{1} << 37) / (batches_queries * std::max<std::int64_t>(most_points, 32));
}
// Batches of more pairs in all, and of more pairs each, are a search each, which uses matrix units.
inline constexpr double batches_most_pairs = 0x1p36, batches_small_pairs = 0x1p24;
// In more dimensions than registers hold, matrix units pay from fewer pairs on. Reasoned: a search
// of its own takes 0.1 ms, in which the kernel compares 2^22 pairs of 64 coordinates.
inline constexpr double batches_wide_pairs = 0x1p22;
// Bytes of a batch in the table of batches.
inline constexpr std::int64_t batch_bytes = 40;

// The metrics that the kernel is compiled for: sums of one term per coordinate, whose f32 values
// have a relative error.
inline constexpr MetricId batches_metrics[] = {MetricId::sqeuclidean, MetricId::euclidean,
                                               MetricId::cityblock};

// True if the kernel serves the metric, and f32 holds the elements.
inline bool serves_batches(MetricId metric, ElementType points, ElementType queries) {
    bool known = false;
    for (const MetricId each : batches_metrics) known |= each == metric;
    return known && points != ElementType::f64 && queries != ElementType::f64;
}

}  // namespace tuning

}  // namespace kith::gpu
