// Half-space partition: cells of points, and the cells that a query may skip
// (docs/proofs/partition.md, lemma 3). A cell is a range of positions with points near each other.
// Queries come in groups. A group and a cell define a direction w from one to the other. For a
// query u and the points v of the cell
//
//     |u - v| >= (<u, w> - max <v, w>) / |w|.
//
// This bound separates them where balls around cells are too large. In many dimensions points lie
// in all directions from each other, but towards a query a cell reaches no further than its points
// do. All computations use a few leading principal components, along which points differ most:
// lengths there are no longer than with all components.
//
// Queries with a cell within their pruning bound are gathered, cell by cell, as rows of a pass.
// That pass reads only the cells of its rows.
#pragma once

#include <cuda_fp16.h>

#include "exact/bounds/projection_error.h"
#include "gpu/filter/pass.h"
#include "gpu/primitives/products/product_digits.h"
#include "metric/portable.h"

namespace kith::gpu {

// Queries per group, and the number of nearest cells that are searched before all others.
inline constexpr std::int64_t cell_group = 128;
inline constexpr int near_cells = 2;

// The projection to the leading components.
struct LeadingColumns {
    const DigitMatrix* matrix = nullptr;  // cell_directions columns, nearly orthonormal
    exact::ProjectionError error;
};

// Projections of `count` vectors of matrix->depth() halves, on the device.
struct LeadingRows {
    float* coordinates = nullptr;  // count x cell_directions
    float* error = nullptr;  // count: upper bound of the error of coordinates, and of rounding when
                             // they are compared
    // For points (which need half norms): the share of their values under the root of a query's
    // pruning bound (reach.cuh). For queries: |u|^2.
    double* room = nullptr;
};
void leading_rows(const LeadingColumns& columns, const __half* vectors, std::int64_t count,
                  const LeadingRows& out, cudaStream_t stream);
void leading_point_rows(const LeadingColumns& columns, const __half* vectors,
                        const float* half_norm, std::int64_t count, double gamma,
                        const LeadingRows& out, cudaStream_t stream);

struct CellBound {
    double room = 0;  // the largest of its points
    float error = 0;  // likewise
};

// All arrays are on the device. Cells follow each other; each takes whole tiles, except the last.
struct CellView {
    const float* coordinates = nullptr;  // (n - first) x cell_directions, by position
    const float* centres = nullptr;      // count x cell_directions: approximate means of the cells
    const CellBound* bounds = nullptr;   // count
    std::int64_t first = 0, n = 0;       // positions of cells: [first, n)
    std::int64_t size = 0, count = 0;    // points per cell, and cells
    double gamma = 0;                    // FilterForm::gamma
};

// out[i] = in[i].
void widen(const float* in, std::int64_t count, double* out, cudaStream_t stream);
// coordinates[i] = those of row members[i], for the view.n - view.first positions of cells; and the
// centres and bounds of these cells. The outputs are arrays of a later view.
void order_leading_rows(const LeadingRows& rows, const std::uint32_t* members, const CellView& view,
                        float* coordinates, float* centres, CellBound* bounds, cudaStream_t stream);

// The cell nearest to each query, by coordinates: out, q.
void nearest_cells(const CellView& view, const float* coordinates, std::int64_t q,
                   std::uint32_t* out, cudaStream_t stream);

// Queries in the order of their cells.
struct CellQueries {
    const std::uint32_t* order = nullptr;  // q: query numbers
    LeadingRows rows;                      // of the queries, by number
    std::int64_t q = 0, group = cell_group;
    float* apart = nullptr;  // count x q, by order: lower bound of the distance from a query to a
                             // cell's points; may be -inf
    float* near =
        nullptr;  // q, by order: cells below this bound are near, at most near_cells of them
    std::int64_t groups() const { return (q + group - 1) / group; }
    KITH_HD std::int64_t words() const { return (q + 31) / 32; }
};
// Fills queries.apart and queries.near. Workspace per group: `centres`, cell_directions numbers,
// and `supports`, view.count.
void measure_cells(const CellView& view, const CellQueries& queries, float* centres, int* supports,
                   cudaStream_t stream);

// The cells that a query is compared with: the near cells, or of the others those with number %
// parts == part. A cell must be within the query's pruning bound. Queries marked as overflowed have
// no cells.
struct CellChoice {
    bool near = false;
    std::int64_t part = 0, parts = 1;
    const float* threshold = nullptr;  // by query number, as is overflowed
    const std::uint8_t* overflowed = nullptr;
};

// The number of queries compared with each cell (view.count + 1 numbers), and a bit for each of
// them (view.count x queries.words() words).
struct ChosenQueries {
    std::uint32_t *counts = nullptr, *masks = nullptr;
};
void choose_cells(const CellView& view, const CellQueries& queries, const CellChoice& choice,
                  const ChosenQueries& out, cudaStream_t stream);
// Replaces the counts by row offsets: the rows of cell c start at begin[c], view.count + 1 of them,
// in whole groups of listed_queries. Writes them to host_begin as well, which is host memory or
// null.
void begin_cell_rows(const CellView& view, std::uint32_t* counts, std::uint32_t* host_begin,
                     cudaStream_t stream);
// An upper bound of the rows of near cells.
inline std::int64_t most_near_rows(const CellView& view, std::int64_t q) {
    return (near_cells * q + view.count * (listed_queries - 1)) / listed_queries * listed_queries;
}

inline constexpr std::uint32_t no_query = 0xffffffffu;
// A pass over the rows of cells [first, last). Rows are counted from the first row of cell `first`.
// The last of the `rows` rows, after those of the cells, have no query and no tiles.
struct CellRows {
    std::int64_t first = 0, last = 0, rows = 0;
    std::uint32_t* query = nullptr;  // per row; no_query: none
    std::uint32_t* tiles = nullptr;  // per group of rows, view.size / filter_tile_points apart
    std::uint32_t* tile_counts = nullptr;  // per group of rows
};
// `begin`: from begin_cell_rows().
void fill_cell_rows(const CellView& view, const CellQueries& queries, const std::uint32_t* masks,
                    const std::uint32_t* begin, const CellRows& out, cudaStream_t stream);

// out[i] = row query[i], of `bytes` bytes (a multiple of 16); zeros for no_query.
void gather_query_rows(const void* rows, const std::uint32_t* query, std::int64_t count,
                       std::int64_t bytes, void* out, cudaStream_t stream);
// Likewise for rows of 4 bytes; `other` for no_query.
void gather_query_words(const void* rows, const std::uint32_t* query, std::int64_t count,
                        std::uint32_t other, void* out, cudaStream_t stream);

}  // namespace kith::gpu
