// Points prepared for a filter along few directions: which directions, and whether they pay.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>

#include "gpu/filter/bytes.h"
#include "gpu/filter/cells.h"
#include "gpu/filter/projection.h"
#include "gpu/points/points.h"

namespace kith::gpu {

// Terms of numbers of 8 bits (bytes.h), where they fit.
struct ByteTermRows {
    ByteTerms form;
    Buffer<char> rows;  // empty: they do not
    explicit operator bool() const { return rows.size() > 0; }
};

// What tells which cells (filter/cells.h) a query is compared with.
struct Cells {
    LeadingColumns columns;
    std::unique_ptr<DigitMatrix> matrix;  // what `columns` points to
    CellView view;
    Buffer<float> coordinates, centres;  // what `view` points into
    Buffer<CellBound> bounds;
    explicit operator bool() const { return view.count > 0; }
};

// Vectors of a filter's own vectors, by position.
struct ProjectedVectors {
    Directions directions;
    std::unique_ptr<DigitMatrix> matrix;  // what `directions` points to
    Buffer<double> shift, leading;        // the same
    Buffer<char>
        vectors;  // rows of directions.form.width halves, or of twice as many numbers of 8 bits
    Buffer<float> half_norm;                        // of numbers of 8 bits, ints
    ByteTermRows byte_terms;                        // of one plane
    std::array<Buffer<char>, most_stages> further;  // rows of the stages (further.h)
    Cells cells;       // the points lie in the order of these, if there are any
    double share = 0;  // of the points that pass, as a sample says, for some dozens of neighbours
    double candidate_cost = 0;  // what looking at one of these takes, in picoseconds
};

// Terms of so many planes (1, 2 or wide_planes) of n such points: none where no kernel takes rows
// of that width, or where half norms reach further than they do, but for a few of the highest.
ByteTermRows make_byte_terms(const ProjectedVectors& points, std::int64_t n, int planes,
                             cudaStream_t stream);

// What may be made of a filter's vectors.
struct ProjectionChoices {
    bool directions = false, byte_directions = false;  // in fp16, or in 8 bits
    bool bytes = false;                                // all coordinates in 8 bits
    bool always = false;                               // even where it saves too little
    int columns = 0;  // of a pass; 0: as many as make a search cheapest
    int least_stages = 0,
        most_stages = gpu::most_stages;  // behind directions, where there are as many columns
    bool byte_terms = true;              // of bytes, where they fit
    // Where not empty, points may be put in the order of cells: fills the filter's vectors anew,
    // the row at each position being order[position].
    std::function<void(Buffer<std::uint32_t> order)> reorder = {};
};

// Vectors of rows one after the other, their half norms, with room for whole tiles, and their
// positions.
struct VectorRun {
    const __half* vectors = nullptr;
    const float* half_norm = nullptr;
    const std::int64_t* positions = nullptr;
};
// Makes those of rows [first, first + count), which are there until the next call.
using VectorSource = std::function<VectorRun(std::int64_t first, std::int64_t count)>;

// The directions in which a sample of the points is longest, as many, and as many stages behind
// them, as make a search cheapest by what passes of the sample, or all coordinates as numbers of 8
// bits where these are cheaper; none where they save too little, or where there are too few points
// or coordinates. Synchronises. `source`: where not null, the filter's own vectors are those of a
// first sample, listed_sample positions, and these are all.
std::optional<ProjectedVectors> find_projection(const FilterVectors& filter, std::int64_t n,
                                                ProjectionChoices choices, cudaStream_t stream,
                                                const VectorSource* source = nullptr);

}  // namespace kith::gpu
