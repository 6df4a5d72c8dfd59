// Points prepared for a filter with a PCA projection: the choice of principal components
// (directions), and whether they pay.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>

#include "gpu/filter/int8/bytes.h"
#include "gpu/filter/partition/cells.h"
#include "gpu/filter/pca/projection.h"
#include "gpu/points/points.h"

namespace kith::gpu {

// int8 bias columns (bytes.h), if they fit.
struct ByteTermRows {
    ByteTerms form;
    Buffer<char> rows;  // empty: they do not fit
    explicit operator bool() const { return rows.size() > 0; }
};

// The half-space partition of the points (filter/cells.h), which selects the cells of a query.
struct Cells {
    LeadingColumns columns;
    std::unique_ptr<DigitMatrix> matrix;  // owns the matrix of `columns`
    CellView view;
    Buffer<float> coordinates, centres;  // owned; `view` points to them
    Buffer<CellBound> bounds;
    explicit operator bool() const { return view.count > 0; }
};

// Projections of a filter's own vectors, by position.
struct ProjectedVectors {
    Directions directions;
    std::unique_ptr<DigitMatrix> matrix;  // owns the matrix of `directions`
    Buffer<double> shift, leading;        // owned; `directions` points to them
    Buffer<char> vectors;  // rows of directions.form.width halves, or of twice as many int8 values
    Buffer<float> half_norm;                        // ints for int8 vectors
    ByteTermRows byte_terms;                        // of one plane
    std::array<Buffer<char>, most_stages> further;  // rows of the residual stages (further.h)
    Cells cells;  // the points lie in the order of the cells, if there are any
    double share =
        0;  // estimated fraction of the points that are candidates, for some dozens of neighbours
    double candidate_cost = 0;  // estimated time to rescore one candidate, in picoseconds
};

// int8 bias columns with 1, 2 or wide_planes planes, for n points. Empty if no kernel takes rows of
// that width, or if the half norms exceed the reach of the columns, except for a few of the
// highest.
ByteTermRows make_byte_terms(const ProjectedVectors& points, std::int64_t n, int planes,
                             cudaStream_t stream);

// The forms that find_projection() may choose for a filter's vectors.
struct ProjectionChoices {
    bool directions = false, byte_directions = false;  // PCA in fp16, or in int8
    bool bytes = false;                                // all coordinates in int8, without PCA
    bool always = false;                               // even if the estimated saving is too small
    int columns = 0;  // principal components of a pass; 0: the number with the least estimated cost
    int least_stages = 0,
        most_stages =
            gpu::most_stages;  // residual stages after the PCA, if there are enough columns
    bool byte_terms = true;    // int8 bias columns, if they fit
    // If not empty, points may be put in the order of cells. The call fills the filter's vectors
    // anew, with row order[position] at each position.
    std::function<void(Buffer<std::uint32_t> order)> reorder = {};
};

// The vectors of consecutive rows, their half norms (with room for whole tiles), and their
// positions.
struct VectorRun {
    const __half* vectors = nullptr;
    const float* half_norm = nullptr;
    const std::int64_t* positions = nullptr;
};
// Makes the vectors of rows [first, first + count), which are valid until the next call.
using VectorSource = std::function<VectorRun(std::int64_t first, std::int64_t count)>;

// Fits a PCA on a sample of the points. Chooses the number of components and of residual stages
// with the least estimated cost of a search, from the candidates of the sample. Chooses all
// coordinates in int8 if that is cheaper. Returns nullopt if the saving is too small, or if there
// are too few points or coordinates. Synchronises.
//
// If `source` is not null, `filter` has the vectors of a first sample only (listed_sample
// positions), and `source` makes the vectors of all rows.
std::optional<ProjectedVectors> find_projection(const FilterVectors& filter, std::int64_t n,
                                                ProjectionChoices choices, cudaStream_t stream,
                                                const VectorSource* source = nullptr);

}  // namespace kith::gpu
