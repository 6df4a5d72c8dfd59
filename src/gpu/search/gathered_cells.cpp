// See gathered_cells.h.
#include "gpu/search/gathered_cells.h"

#include <bit>

#include "gpu/runtime/pinned_block.h"
#include "gpu/tree/order.h"

namespace kith::gpu {

static_assert((most_cells + 1) * sizeof(std::uint32_t) <= PinnedBlock::bytes);

GatheredCells::GatheredCells(const Cells& cells, const __half* queries, std::int64_t q,
                             cudaStream_t stream)
    : view_(cells.view),
      stream_(stream),
      coordinates_(q * cell_directions, stream),
      error_(q, stream),
      apart_(view_.count * q, stream),
      near_(q, stream),
      room_(q, stream),
      begin_(view_.count + 1, stream),
      masks_(view_.count * ((q + 31) / 32), stream) {
    const LeadingRows rows{coordinates_.get(), error_.get(), room_.get()};
    leading_rows(cells.columns, queries, q, rows, stream);
    const Buffer<std::uint32_t> nearest(q, stream);
    nearest_cells(view_, coordinates_.get(), q, nearest.get(), stream);
    order_ =
        sorted_numbers(nearest, std::bit_width(static_cast<std::uint64_t>(view_.count)), stream);
    queries_ = {
        .order = order_.get(), .rows = rows, .q = q, .apart = apart_.get(), .near = near_.get()};
    const Buffer<float> centres(queries_.groups() * cell_directions, stream);
    const Buffer<int> supports(queries_.groups() * view_.count, stream);
    measure_cells(view_, queries_, centres.get(), supports.get(), stream);
}

CellRows GatheredCells::made(std::int64_t first, std::int64_t last, std::int64_t rows) {
    if (rows_.size() < rows) {
        rows_ = {};
        tiles_ = {};
        tile_counts_ = {};
        rows_ = Buffer<std::uint32_t>(rows, stream_);
        tiles_ = Buffer<std::uint32_t>(rows / listed_queries * tiles(), stream_);
        tile_counts_ = Buffer<std::uint32_t>(rows / listed_queries, stream_);
    }
    const CellRows out{first, last, rows, rows_.get(), tiles_.get(), tile_counts_.get()};
    fill_cell_rows(view_, queries_, masks_.get(), begin_.get(), out, stream_);
    return out;
}

void GatheredCells::gather(const CellChoice& choice, std::int64_t most_rows,
                           const std::function<void(const CellRows& rows)>& use) {
    const std::int64_t cells = view_.count, near_rows = most_near_rows(view_, queries_.q);
    choose_cells(view_, queries_, choice, {begin_.get(), masks_.get()}, stream_);
    if (choice.near && near_rows <= most_rows) {
        begin_cell_rows(view_, begin_.get(), nullptr, stream_);
        use(made(0, cells, near_rows));
        return;
    }
    PinnedBlock block(stream_);
    begin_cell_rows(view_, begin_.get(), static_cast<std::uint32_t*>(block.data()), stream_);
    const auto* const begin = static_cast<const std::uint32_t*>(block.wait("cells"));
    for (std::int64_t first = 0, last = 0; first < cells; first = last) {
        for (last = first + 1; last < cells && begin[last + 1] - begin[first] <= most_rows;) ++last;
        if (begin[last] > begin[first]) use(made(first, last, begin[last] - begin[first]));
    }
}

}  // namespace kith::gpu
