// kith::select on a device: rows in tiles, streamed once, sorted, delivered.
#include <algorithm>

#include "gpu/backend.h"
#include "gpu/points.h"
#include "gpu/results.h"
#include "gpu/select/selection.h"

namespace kith::gpu {

std::vector<std::string> selector_names() {
    return {"threshold"};
}

void select(const MatrixView& m, std::int64_t k, bool largest, bool, const Plan& plan, void* caller_stream,
            ProgressMeter& progress, const NeighborsView& out, Report&) {
    const DeviceScope scope(plan.device);
    auto* const stream = static_cast<cudaStream_t>(caller_stream);
    if (m.cols >= (std::int64_t{1} << 32))
        throw Error(ErrorCode::invalid_argument,
                    "distances: " + std::to_string(m.cols) + " columns; expected less than 2^32");
    const std::int64_t tile = std::min(plan.query_tile, m.rows);
    const bool f64 = m.type == ElementType::f64;
    for (std::int64_t first = 0; first < m.rows; first += tile) {
        const std::int64_t rows = std::min(tile, m.rows - first), cells = rows * k;
        const DeviceRows loaded = upload(m, first, rows, false, stream);
        Rows in = loaded.rows;
        Buffer<char> dense;
        if (in.col_stride != 1) {
            dense = Buffer<char>(rows * m.cols * static_cast<std::int64_t>(size_of(m.type)), stream);
            Buffer<std::int64_t> index(rows, stream);
            count_up(index.get(), rows, 0, stream);
            gather_rows(in, index.get(), rows, m.cols, dense.get(), stream);
            in = {dense.get(), rows, m.cols, 1, m.type};
        }
        SelectState state(rows, k, m.cols, false, f64 ? 8 : 4, stream);
        if (f64) scan_f64(state, static_cast<const double*>(in.data), in.row_stride, m.cols, largest, stream);
        else scan_f32(state, static_cast<const float*>(in.data), in.row_stride, m.cols, largest, stream);
        finish(state, stream);
        const std::int64_t entries = rows * state.stride();
        Buffer<std::uint64_t> wide(f64 ? 0 : entries, stream);
        if (!f64) widen(reinterpret_cast<const std::uint32_t*>(state.keys.get()), wide.get(), entries, stream);
        Buffer<std::uint64_t> keys(cells, stream);
        Buffer<std::uint32_t> ids(cells, stream);
        sort_rows(f64 ? reinterpret_cast<const std::uint64_t*>(state.keys.get()) : wide.get(), state.ids.get(),
                  state.counts.get(), state.slices, rows, state.stride(), k, k, keys.get(), ids.get(), stream);
        Buffer<std::int64_t> wide_ids(cells, stream);
        const std::int64_t element = static_cast<std::int64_t>(size_of(m.type));
        Buffer<char> values(out.distances ? cells * element : 0, stream);
        take_values(in, ids.get(), rows, k, wide_ids.get(), values.get(), stream);
        check(cudaMemcpyAsync(out.ids + first * k, wide_ids.get(),
                              static_cast<std::size_t>(cells) * sizeof(std::int64_t), cudaMemcpyDefault, stream),
              "copy of the ids");
        if (out.distances)
            check(cudaMemcpyAsync(static_cast<char*>(out.distances) + first * k * element, values.get(),
                                  static_cast<std::size_t>(cells * element), cudaMemcpyDefault, stream),
                  "copy of the values");
        check(cudaStreamSynchronize(stream), "select");
        progress.add(static_cast<double>(rows) * static_cast<double>(m.cols));
        progress.poll("select");
        progress.throw_if_cancelled();
    }
}

}  // namespace kith::gpu
