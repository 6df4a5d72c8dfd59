// Queries gathered as rows of the cells that they are compared with (filter/cells.h).
#pragma once

#include <functional>

#include "gpu/points/projection.h"

namespace kith::gpu {

class GatheredCells {
public:
    // Of q queries, vectors of the filter; enqueues.
    GatheredCells(const Cells& cells, const __half* queries, std::int64_t q, cudaStream_t stream);

    // Tiles of a cell.
    std::int64_t tiles() const { return view_.size / filter_tile_points; }
    // Calls use(rows) for the rows of cell after cell, of so many at a time as have no more than
    // most_rows rows, at least one. Unless they are those of near cells it synchronises for their
    // number; the thresholds are those that the stream has come to.
    void gather(const CellChoice& choice, std::int64_t most_rows,
                const std::function<void(const CellRows& rows)>& use);

private:
    CellRows made(std::int64_t first, std::int64_t last, std::int64_t rows);

    const CellView& view_;
    cudaStream_t stream_;
    Buffer<float> coordinates_, error_, apart_, near_;
    Buffer<double> room_;
    Buffer<std::uint32_t> order_, begin_, masks_;
    CellQueries queries_;
    Buffer<std::uint32_t> rows_, tiles_, tile_counts_;
};

}  // namespace kith::gpu
