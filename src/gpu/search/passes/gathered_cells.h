// Queries gathered as rows of the cells that they are compared with (filter/cells.h).
#pragma once

#include <functional>

#include "gpu/points/pca/projection.h"

namespace kith::gpu {

class GatheredCells {
public:
    // `queries`: q vectors of the filter. Enqueues.
    GatheredCells(const Cells& cells, const __half* queries, std::int64_t q, cudaStream_t stream);

    // Tiles per cell.
    std::int64_t tiles() const { return view_.size / filter_tile_points; }
    // Calls use(rows) for the rows of consecutive cells: at most most_rows at a time, but at least
    // one cell. Takes the thresholds at this point of the stream. Synchronises to learn the number
    // of rows, unless the near cells fit at once.
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
