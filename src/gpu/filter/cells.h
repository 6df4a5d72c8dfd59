// Cells of points, and which of them a query need not be compared with (docs/exactness.md, section
// 13). A cell is a run of positions whose points lie near each other. Queries come in groups, of
// which each and each cell have a direction w from one to the other: of a query u and the points v
// of the cell
//
//     |u - v| >= (<u, w> - max <v, w>) / |w|,
//
// which is what tells them apart where balls around cells are too large: points of many dimensions
// lie in all directions from each other, and a cell reaches towards a query no further than its
// points do. All of it in a few leading directions, in which points differ most: lengths there are
// no longer than in all.
//
// Queries that have a cell within their reach are gathered, cell by cell, as rows of a pass that
// looks at the cells of its rows alone.
#pragma once

#include <cuda_fp16.h>

#include "exact/projection_error.h"
#include "gpu/filter/pass.h"
#include "gpu/primitives/product_digits.h"
#include "metric/portable.h"

namespace kith::gpu {

// Queries of a group; cells that are looked at before all others, those that are nearest.
inline constexpr std::int64_t cell_group = 128;
inline constexpr int near_cells = 2;

// What vectors have along the leading directions.
struct LeadingColumns {
    const DigitMatrix* matrix = nullptr;  // cell_directions columns, nearly orthonormal
    exact::ProjectionError error;
};

// Of `count` vectors of matrix->depth() halves, on the device.
struct LeadingRows {
    float* coordinates = nullptr;  // count x cell_directions
    float* error = nullptr;  // count: how far they are from exact ones, and what comparing them
                             // rounds, at least
    // Of points, with their half norms: what their values add under the root of a query's reach
    // (reach.cuh). Of queries, |u|^2.
    double* room = nullptr;
};
void leading_rows(const LeadingColumns& columns, const __half* vectors, std::int64_t count,
                  const LeadingRows& out, cudaStream_t stream);
void leading_point_rows(const LeadingColumns& columns, const __half* vectors,
                        const float* half_norm, std::int64_t count, double gamma,
                        const LeadingRows& out, cudaStream_t stream);

struct CellBound {
    double room = 0;  // the most of its points
    float error = 0;  // likewise
};

// All on the device. Cells follow each other, whole tiles each but the last.
struct CellView {
    const float* coordinates = nullptr;  // (n - first) x cell_directions, by position
    const float* centres = nullptr;      // count x cell_directions: about the means of the cells
    const CellBound* bounds = nullptr;   // count
    std::int64_t first = 0, n = 0;       // positions of cells: [first, n)
    std::int64_t size = 0, count = 0;    // points of a cell, and cells
    double gamma = 0;                    // FilterForm::gamma
};

// out[i] = in[i].
void widen(const float* in, std::int64_t count, double* out, cudaStream_t stream);
// coordinates[i] = those of row members[i], for the view.n - view.first positions of cells, and the
// centres and bounds of these cells: what a view points to, to be.
void order_leading_rows(const LeadingRows& rows, const std::uint32_t* members, const CellView& view,
                        float* coordinates, float* centres, CellBound* bounds, cudaStream_t stream);

// The cells nearest to queries, by coordinates.
void nearest_cells(const CellView& view, const float* coordinates, std::int64_t q,
                   std::uint32_t* out, cudaStream_t stream);

// Queries in the order of their cells.
struct CellQueries {
    const std::uint32_t* order = nullptr;  // q: which query
    LeadingRows rows;                      // of the queries, by number
    std::int64_t q = 0, group = cell_group;
    float* apart = nullptr;  // count x q, by order: how far a query is from a cell's points, at
                             // least; may be -inf
    float* near =
        nullptr;  // q, by order: those below are of cells that are near, near_cells at most
    std::int64_t groups() const { return (q + group - 1) / group; }
    KITH_HD std::int64_t words() const { return (q + 31) / 32; }
};
// Room for `centres` of cell_directions numbers and `supports` of view.count, of each group.
void measure_cells(const CellView& view, const CellQueries& queries, float* centres, int* supports,
                   cudaStream_t stream);

// Which cells a query is compared with: those near to it, or of the others those whose number
// leaves `part` of `parts`; of these those that its threshold reaches. None of a query that is
// marked as overflowed.
struct CellChoice {
    bool near = false;
    std::int64_t part = 0, parts = 1;
    const float* threshold = nullptr;  // by number, as
    const std::uint8_t* overflowed = nullptr;
};

// How many queries are compared with each cell, and a bit for each of them: view.count + 1 numbers,
// and view.count x queries.words() words.
struct ChosenQueries {
    std::uint32_t *counts = nullptr, *masks = nullptr;
};
void choose_cells(const CellView& view, const CellQueries& queries, const CellChoice& choice,
                  const ChosenQueries& out, cudaStream_t stream);
// The rows of cells that follow from the counts, whole groups of listed_queries each: those of cell
// c from begin[c] on, view.count + 1 of them, in place of the counts and, where that is not null,
// in host memory.
void begin_cell_rows(const CellView& view, std::uint32_t* counts, std::uint32_t* host_begin,
                     cudaStream_t stream);
// As many rows as those of near cells may be.
inline std::int64_t most_near_rows(const CellView& view, std::int64_t q) {
    return (near_cells * q + view.count * (listed_queries - 1)) / listed_queries * listed_queries;
}

inline constexpr std::uint32_t no_query = 0xffffffffu;
// What a pass over the rows of cells [first, last) is told, whose rows are counted from the first
// of these on: `rows` of them, of which the last ones, behind those of the cells, are of no query
// and look at no tile.
struct CellRows {
    std::int64_t first = 0, last = 0, rows = 0;
    std::uint32_t* query = nullptr;  // per row; no_query: none
    std::uint32_t* tiles = nullptr;  // per group of rows, view.size / filter_tile_points apart
    std::uint32_t* tile_counts = nullptr;  // per group of rows
};
// `begin`: as begin_cell_rows has it.
void fill_cell_rows(const CellView& view, const CellQueries& queries, const std::uint32_t* masks,
                    const std::uint32_t* begin, const CellRows& out, cudaStream_t stream);

// out[i] = row query[i] of rows of `bytes` bytes, a multiple of 16; zeros of none.
void gather_query_rows(const void* rows, const std::uint32_t* query, std::int64_t count,
                       std::int64_t bytes, void* out, cudaStream_t stream);
// The same of 4 bytes, with `other` of none.
void gather_query_words(const void* rows, const std::uint32_t* query, std::int64_t count,
                        std::uint32_t other, void* out, cudaStream_t stream);

}  // namespace kith::gpu
