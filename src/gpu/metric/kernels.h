// The table of one metric's kernels on the GPU. Generated instances fill it, the search calls it.
// Functions only launch: each enqueues on the stream and checks the launch.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "gpu/metric/filter_form.h"
#include "gpu/primitives/rows.h"
#include "kith/types.h"
#include "metric/metric.h"

namespace kith::gpu {

// Rows with the values computed once per row: auxiliary values (count x metric::max_aux) and NaN
// flags.
struct PreparedRows {
    Rows rows;
    const double* aux = nullptr;
    const std::uint8_t* nan = nullptr;
};

// Outputs of measure(), for rows that have not been measured.
struct RowMeasures {
    double* aux = nullptr;
    std::uint8_t* nan = nullptr;
};

// How a query can be filtered. to_scan: the bound does not hold for it. no_neighbours: it has a
// NaN. all_alike: it is equally far from every point (a zero vector under cosine).
enum Fitness : std::uint8_t { fit = 0, to_scan = 1, no_neighbours = 2, all_alike = 3 };

// A tile of distance keys to compute: queries x points, row-major, as ordered keys (exact/order.h).
struct ScanTile {
    const double* queries = nullptr;  // prepared coordinates in scan_order() order, d per row
    const double* points = nullptr;
    const double* query_aux = nullptr;
    const double* point_aux = nullptr;
    const std::uint8_t* query_nan = nullptr;
    const std::uint8_t* point_nan = nullptr;
    std::int64_t q = 0, n = 0;
    std::int64_t first_point = 0;        // id of point 0
    const std::int64_t* self = nullptr;  // per query: the id to leave out, or null
    std::uint64_t* keys = nullptr;
    std::int64_t ld = 0;
};

// Candidates to refine to canonical keys. Query i has counts[i] ids, relative to the points; the
// lists of queries are `capacity` apart.
struct RefineTask {
    PreparedRows queries, points;
    const std::uint32_t* ids = nullptr;
    const std::int32_t* counts = nullptr;
    std::int64_t capacity = 0;
    std::int64_t expected = 0;  // candidates of a typical query
    std::uint64_t* keys = nullptr;
    // Above 0: the candidates of each query are the points 0 to all - 1, and there are no ids and
    // counts. Point 0 has this id, and each query leaves out the id of `self`, if not null.
    std::int64_t all = 0, first_point = 0;
    const std::int64_t* self = nullptr;
};

struct MetricKernels {
    metric::Traits traits;
    int aux = 0;
    void (*measure)(const Rows& rows, const RowMeasures& out, const metric::Params& params,
                    cudaStream_t stream);
    // Prepared coordinates in scan order (scan_pairs.cuh), d doubles per row.
    void (*convert)(const PreparedRows& rows, double* out, const metric::Params& params,
                    cudaStream_t stream);
    void (*scan)(const ScanTile& tile, const metric::Params& params, cudaStream_t stream);
    void (*refine)(const RefineTask& task, const metric::Params& params, cudaStream_t stream);
    // Null where no form serves (metric::product_form, traits.direct). Points, by position: vectors
    // (vector_bytes), half norms, and the points' shares of the error bound; the last two have room
    // for a multiple of 256. Queries: vectors, their shares of the bound followed by their own
    // terms of the value (Step::logarithms), and their Fitness.
    void (*filter_points)(const PreparedRows& rows, const FilterForm& form, void* vectors,
                          float* half_norm, float* point_error, const metric::Params& params,
                          cudaStream_t stream);
    void (*filter_queries)(const PreparedRows& rows, const FilterForm& form, void* vectors,
                           float* query_error, std::uint8_t* unfit, const metric::Params& params,
                           cudaStream_t stream);
    // measure() and filter_queries() of the same rows, in one kernel where the form permits.
    void (*filter_unmeasured)(const Rows& rows, const RowMeasures& out, const FilterForm& form,
                              void* vectors, float* query_error, std::uint8_t* unfit,
                              const metric::Params& params, cudaStream_t stream);
    // map(x) of evenly spaced rows, samples x d. With a factor: after multiplication by it. Cross
    // entropy: the logarithms.
    void (*sample)(const PreparedRows& rows, std::int64_t samples, const FilterForm& form,
                   double* out, const metric::Params& params, cudaStream_t stream);
    // Distance keys to reported distances of type T; key `nan` is a missing neighbour.
    void (*report_f32)(const std::uint64_t* keys, float* out, std::int64_t count,
                       const metric::Params& params, cudaStream_t stream);
    void (*report_f64)(const std::uint64_t* keys, double* out, std::int64_t count,
                       const metric::Params& params, cudaStream_t stream);
};

// Built-in metrics only.
const MetricKernels& metric_kernels(MetricId id);

}  // namespace kith::gpu
