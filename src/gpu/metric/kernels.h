// The table of one metric's kernels on the GPU: generated instances fill it, the search drives it.
// Launches only; every function enqueues on the stream and checks the launch.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "gpu/metric/filter_form.h"
#include "gpu/primitives/rows.h"
#include "kith/types.h"
#include "metric/metric.h"

namespace kith::gpu {

// Rows with what was computed of each once: auxiliary values (count x metric::max_aux) and NaN
// flags.
struct PreparedRows {
    Rows rows;
    const double* aux = nullptr;
    const std::uint8_t* nan = nullptr;
};

// Where those go of rows that have not been measured.
struct RowMeasures {
    double* aux = nullptr;
    std::uint8_t* nan = nullptr;
};

// Whether a query can be filtered: to_scan is one that the bound does not hold for, no_neighbours
// one with a NaN, all_alike one that is as far from every point (a zero vector of a cosine).
enum Fitness : std::uint8_t { fit = 0, to_scan = 1, no_neighbours = 2, all_alike = 3 };

// A tile of distance keys to compute: queries x points, as ordered keys (exact/order.h) in
// row-major order.
struct ScanTile {
    const double* queries = nullptr;  // prepared coordinates as scan_order() has them, d per row
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

// Candidates to refine: per query `counts[i]` ids (relative to the points), `capacity` apart, to
// canonical keys.
struct RefineTask {
    PreparedRows queries, points;
    const std::uint32_t* ids = nullptr;
    const std::int32_t* counts = nullptr;
    std::int64_t capacity = 0;
    std::int64_t expected = 0;  // candidates of a typical query
    std::uint64_t* keys = nullptr;
};

struct MetricKernels {
    metric::Traits traits;
    int aux = 0;
    void (*measure)(const Rows& rows, const RowMeasures& out, const metric::Params& params,
                    cudaStream_t stream);
    // Prepared coordinates in the order of the scan (scan_pairs.cuh), d doubles per row.
    void (*convert)(const PreparedRows& rows, double* out, const metric::Params& params,
                    cudaStream_t stream);
    void (*scan)(const ScanTile& tile, const metric::Params& params, cudaStream_t stream);
    void (*refine)(const RefineTask& task, const metric::Params& params, cudaStream_t stream);
    // Null where no form serves (metric::product_form, traits.direct). Points, by position: vectors
    // (vector_bytes), half norms and the points' share of the error bound, both with room for a
    // multiple of 256. Queries: vectors, their share, behind all of those their own terms of the
    // value (Step::logarithms), and their Fitness.
    void (*filter_points)(const PreparedRows& rows, const FilterForm& form, void* vectors,
                          float* half_norm, float* point_error, const metric::Params& params,
                          cudaStream_t stream);
    void (*filter_queries)(const PreparedRows& rows, const FilterForm& form, void* vectors,
                           float* query_error, std::uint8_t* unfit, const metric::Params& params,
                           cudaStream_t stream);
    // measure() and filter_queries() of the same rows, by one kernel where the form permits.
    void (*filter_unmeasured)(const Rows& rows, const RowMeasures& out, const FilterForm& form,
                              void* vectors, float* query_error, std::uint8_t* unfit,
                              const metric::Params& params, cudaStream_t stream);
    // map(x) of evenly spaced rows, samples x d; after the factor where the form has one, the
    // logarithms of a cross entropy.
    void (*sample)(const PreparedRows& rows, std::int64_t samples, const FilterForm& form,
                   double* out, const metric::Params& params, cudaStream_t stream);
    // Keys of ranks to reported distances of type T; key `nan` is a missing neighbour.
    void (*report_f32)(const std::uint64_t* keys, float* out, std::int64_t count,
                       const metric::Params& params, cudaStream_t stream);
    void (*report_f64)(const std::uint64_t* keys, double* out, std::int64_t count,
                       const metric::Params& params, cudaStream_t stream);
};

// Built-in metrics only.
const MetricKernels& metric_kernels(MetricId id);

}  // namespace kith::gpu
