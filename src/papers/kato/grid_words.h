// The points of a graph in grids as words of the direct filter (docs/proofs/direct.md, lemma 3),
// for phase 1 in f32.
#pragma once

#include <optional>

#include "gpu/points/points.h"

namespace kith::gpu {

// Points in grids of `side` a side.
struct Grids {
    std::int64_t n = 0, side = 0;
    std::int64_t count() const { return (n + side - 1) / side; }
    std::int64_t first(std::int64_t i) const { return i * side; }
    std::int64_t points(std::int64_t i) const { return std::min(side, n - first(i)); }
};

// The form of a metric whose f32 values have a proven bound; none for others. Metrics of mapped
// coordinates (hellinger's roots) take the squares of rounded ones, as if they were of f64.
std::optional<exact::DirectForm> grid_form(const DeviceMetric& metric, ElementType points);

// Each grid's words begin with a panel. A value of DistanceJob with these norms is the same from
// either side; where the column is the candidate, its `norm` is added.
class GridWords {
public:
    // Enqueues, after a wait for a sample.
    GridWords(const Points& points, const exact::DirectForm& form, const Grids& grids,
              cudaStream_t stream);

    const FilterForm& form() const { return form_.form; }
    const float* words(std::int64_t grid) const;
    const float* job_norm(std::int64_t grid) const;  // DistanceJob::half_norm
    const float* sizes(std::int64_t grid) const;     // DistanceJob::query_size
    // Per point.
    const float* norm() const { return norm_.get(); }
    const float* point_error() const { return point_error_.get(); }
    const float* query_error() const { return query_error_.get(); }
    const std::uint8_t* unfit() const { return unfit_.get(); }

private:
    bool counts_bits() const { return exact::counts_bits(form_.form.direct.step); }
    void fill(const Points& points, std::int64_t grid, cudaStream_t stream);

    Grids grids_;
    std::int64_t padded_;  // rows of a grid, in whole tiles
    FilterVectors form_;   // without vectors
    Buffer<char> words_;
    Buffer<float> job_norm_, sizes_, norm_, point_error_, query_error_;
    Buffer<std::uint8_t> unfit_;
};

}  // namespace kith::gpu
